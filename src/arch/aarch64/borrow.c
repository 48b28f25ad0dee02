/*
 * borrow.c - flick does not attach to running programs here yet.
 */
#include "arch/arch.h"

const unsigned char fl_arch_inject[1], fl_arch_inject_end[1];

uintptr_t fl_arch_user_pc(const uint64_t *user)
{
	return user[32];
}

uintptr_t fl_arch_user_sp(const uint64_t *user)
{
	return user[31];
}

uintptr_t fl_arch_user_tls(const uint64_t *user)
{
	(void)user;
	return 0;
}

long fl_arch_user_result(const uint64_t *user)
{
	return (long)user[0];
}

void fl_arch_user_set_pc(uint64_t *user, uintptr_t pc)
{
	user[32] = pc;
}

bool fl_arch_user_in_call(const uint64_t *user)
{
	(void)user;
	return false;
}

bool fl_arch_user_sleeps(const uint64_t *user)
{
	(void)user;
	return false;
}

size_t fl_arch_borrow_bytes(size_t vectors)
{
	(void)vectors;
	return SIZE_MAX;
}

size_t fl_arch_put_way_back(unsigned char *out, struct fl_borrow *b)
{
	(void)out;
	(void)b;
	return 0;
}

void fl_arch_borrow_call(const struct fl_borrow *b, uint64_t *user, long number,
			 const uint64_t args[6])
{
	(void)b;
	(void)user;
	(void)number;
	(void)args;
}

size_t fl_arch_find_call(const unsigned char *text, size_t n)
{
	(void)text;
	(void)n;
	return 0;
}

size_t fl_arch_find_sigreturn(const unsigned char *text, size_t n)
{
	(void)text;
	(void)n;
	return 0;
}

void fl_arch_lay_thread(unsigned char *to, uintptr_t at, const unsigned char *like,
			unsigned char *table, uintptr_t table_at)
{
	(void)to;
	(void)at;
	(void)like;
	(void)table;
	(void)table_at;
}
