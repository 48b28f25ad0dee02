/*
 * borrow.c - a stopped thread of another process makes a system call, and finds back alone.
 *
 * Hides registers as ptrace(2) has them and the frame of a signal. A thread that is
 * borrowed runs no code of ours. It executes a `syscall; ret` of its own C library; its
 * stack then leads on to that library's rt_sigreturn, over a frame like those that the kernel
 * makes for signals. So nobody has to put the thread right: whenever its tracer dies, the
 * thread ends its call, returns, and is where it was, with all of its registers.
 *
 *	sp ->	address of the sigreturn	what `ret` takes
 *		struct ucontext			as it was, with the signals that are blocked
 *		vector registers		64-byte aligned
 *		...
 *		red zone
 *		the thread's own stack
 */
#include "arch/arch.h"

#define UC_FP_XSTATE         1
#define UC_SIGCONTEXT_SS     2
#define UC_STRICT_RESTORE_SS 4
#define ALTSTACK_AS_IT_IS    7	/* the kernel refuses these flags: it changes nothing */
#define FP_MAGIC1 0x46505853u
#define FP_MAGIC2 0x46505845u
#define RED_ZONE  128
/* A clone begins with the flags of who calls it. C wants neither of direction and alignment
 * check, and nobody traps the steps of what begins there. */
#define STRAY_FLAGS (0x100u /* TF */ | 0x400u /* DF */ | 0x40000u /* AC */)

enum {
	R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI, RDI,
	ORIG_RAX, RIP, CS, EFLAGS, RSP, SS, FS_BASE
};
enum { ERESTARTSYS = 512, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK = 516 };

struct way_back {
	uint64_t sigreturn;
	uint64_t flags, link, stack_at, stack_flags, stack_bytes;
	uint64_t r8_to_15[8], di, si, bp, bx, dx, ax, cx, sp, ip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, vectors, reserved[8];
	uint64_t mask;
};

/* What the kernel wants in the bytes of the area that are software's. */
struct vectors_note {
	uint32_t magic1, bytes;
	uint64_t features;
	uint32_t saved_bytes, unused[7];
};
enum { NOTE_AT = 464 };

uintptr_t fl_arch_user_pc(const uint64_t *user)
{
	return user[RIP];
}

uintptr_t fl_arch_user_sp(const uint64_t *user)
{
	return user[RSP];
}

uintptr_t fl_arch_user_tls(const uint64_t *user)
{
	return user[FS_BASE];
}

long fl_arch_user_result(const uint64_t *user)
{
	return (long)user[RAX];
}

void fl_arch_user_set_pc(uint64_t *user, uintptr_t pc)
{
	user[RIP] = pc;
}

bool fl_arch_user_in_call(const uint64_t *user)
{
	return (int64_t)user[ORIG_RAX] >= 0;
}

/* -ERESTARTNOINTR is not among them: a clone returns that, too, and does not wait. */
bool fl_arch_user_sleeps(const uint64_t *user)
{
	long result = -(long)user[RAX];

	return fl_arch_user_in_call(user) &&
	       (result == EINTR || result == ERESTARTSYS || result == ERESTARTNOHAND ||
		result == ERESTART_RESTARTBLOCK);
}

/* The thread makes a call anew that the stop has interrupted. */
static void begin_call_again(uint64_t *user)
{
	long result = -(long)user[RAX];

	if ((int64_t)user[ORIG_RAX] < 0)
		return;
	if ((result >= ERESTARTSYS && result <= ERESTARTNOHAND) ||
	    result == ERESTART_RESTARTBLOCK) {
		user[RAX] = user[ORIG_RAX];
		user[RIP] -= 2;
	}
}

size_t fl_arch_borrow_bytes(size_t vectors)
{
	return RED_ZONE + sizeof(struct way_back) + 64 + vectors + sizeof(uint32_t) + 64;
}

static void put_vectors(unsigned char *to, const unsigned char *vectors, size_t n)
{
	struct vectors_note note = { 0 };
	uint32_t end = FP_MAGIC2;

	__builtin_memcpy(to, vectors, n);
	__builtin_memcpy(&note.features, vectors + NOTE_AT, sizeof(note.features));
	note.magic1 = FP_MAGIC1;
	note.saved_bytes = (uint32_t)n;
	note.bytes = (uint32_t)(n + sizeof(end));
	__builtin_memcpy(to + NOTE_AT, &note, sizeof(note));
	__builtin_memcpy(to + n, &end, sizeof(end));
}

size_t fl_arch_put_way_back(unsigned char *out, struct fl_borrow *b)
{
	uint64_t was[FL_ARCH_USER_WORDS];
	uintptr_t top = b->user[RSP] - RED_ZONE, vectors;
	struct way_back f = {
		.sigreturn = b->sigreturn,
		.mask = b->mask,
		.flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS,
		.stack_flags = ALTSTACK_AS_IT_IS,
	};

	vectors = (top - b->n_vectors - sizeof(uint32_t)) & ~63ull;
	b->sp = ((vectors - sizeof(f)) & ~15ull) - 8;
	__builtin_memcpy(was, b->user, sizeof(was));
	begin_call_again(was);
	for (int i = 0; i < 8; i++)
		f.r8_to_15[i] = was[i < 4 ? R8 - i : R12 - (i - 4)];
	f.di = was[RDI];
	f.si = was[RSI];
	f.bp = was[RBP];
	f.bx = was[RBX];
	f.dx = was[RDX];
	f.ax = was[RAX];
	f.cx = was[RCX];
	f.sp = was[RSP];
	f.ip = was[RIP];
	f.eflags = was[EFLAGS];
	f.cs = (uint16_t)was[CS];
	f.ss = (uint16_t)was[SS];
	f.vectors = vectors;
	__builtin_memcpy(out, &f, sizeof(f));
	put_vectors(out + (vectors - b->sp), b->vectors, b->n_vectors);
	return vectors - b->sp + b->n_vectors + sizeof(uint32_t);
}

void fl_arch_borrow_call(const struct fl_borrow *b, uint64_t *user, long number,
			 const uint64_t args[6])
{
	static const int registers[6] = { RDI, RSI, RDX, R10, R8, R9 };

	__builtin_memcpy(user, b->user, sizeof(b->user));
	for (int i = 0; i < 6; i++)
		user[registers[i]] = args[i];
	user[RAX] = (uint64_t)number;
	user[ORIG_RAX] = (uint64_t)-1;
	user[RIP] = b->call;
	user[RSP] = b->sp;
	user[EFLAGS] &= ~(uint64_t)STRAY_FLAGS;
}

static uintptr_t find_bytes(const unsigned char *text, size_t n, const char *bytes,
			    size_t len)
{
	for (size_t i = 0; i + len <= n; i++)
		if (text[i] == (unsigned char)bytes[0] &&
		    !__builtin_memcmp(text + i, bytes, len))
			return i + 1;
	return 0;
}

/* syscall; ret */
size_t fl_arch_find_call(const unsigned char *text, size_t n)
{
	return find_bytes(text, n, "\x0f\x05\xc3", 3);
}

/* mov $15, %rax; syscall */
size_t fl_arch_find_sigreturn(const unsigned char *text, size_t n)
{
	return find_bytes(text, n, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
}

/* glibc's tcbhead_t: its own address, the table of libraries, its own address again, and
 * whether there are several threads. The guards of stacks and pointers are the program's. */
enum { TCB = 0, DTV = 8, SELF = 16, SEVERAL = 24, STACK_GUARD = 0x28, POINTER_GUARD = 0x30 };

/* A table is pairs of words: how many pairs, how new the table is, and for each library where
 * the thread's part of it is. Here no part has been asked for yet. So when a part is asked
 * for, the loader looks, and finds those that have a fixed place. */
void fl_arch_lay_thread(unsigned char *to, uintptr_t at, const unsigned char *like,
			unsigned char *table, uintptr_t table_at)
{
	uint64_t *t = (void *)table;
	uint64_t dtv = table_at + 16;
	uint32_t several = 1;

	for (size_t i = 0; i < FL_ARCH_TLS_TABLE / 8; i += 2) {
		t[i] = UINT64_MAX;
		t[i + 1] = 0;
	}
	t[0] = FL_ARCH_TLS_TABLE / 16 - 2;
	t[2] = INT64_MAX;
	__builtin_memcpy(to + TCB, &at, sizeof(at));
	__builtin_memcpy(to + DTV, &dtv, sizeof(dtv));
	__builtin_memcpy(to + SELF, &at, sizeof(at));
	__builtin_memcpy(to + SEVERAL, &several, sizeof(several));
	__builtin_memcpy(to + STACK_GUARD, like + STACK_GUARD, 8);
	__builtin_memcpy(to + POINTER_GUARD, like + POINTER_GUARD, 8);
}
