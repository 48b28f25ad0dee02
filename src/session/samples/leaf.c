/*
 * leaf.c - does a function call anything? Its code says it, from its begin to its end.
 *
 * A function that calls nothing has no time but its own. So where samples lack callers, they
 * lack nothing of such a function's time.
 */
#include <unistd.h>

#include "arch/arch.h"
#include "obj/obj.h"
#include "report/report.h"
#include "session/samples/leaf.h"

enum { MOST_BYTES = 1 << 14 };

static bool stays_within(const struct fl_insn *i, uint64_t lo, uint64_t hi)
{
	switch (i->cls) {
	case FL_INSN_CALL: case FL_INSN_CALL_POINTER: case FL_INSN_JUMP_POINTER:
		return false;
	case FL_INSN_JUMP: case FL_INSN_BRANCH:
		return i->target - lo < hi - lo;
	}
	return i->len;
}

static bool calls_nothing(const unsigned char *code, uint64_t lo, uint64_t hi)
{
	struct fl_insn i;

	for (uint64_t at = lo; at < hi; at += i.len) {
		fl_arch_decode(&i, code + (at - lo), hi - at, at);
		if (!stays_within(&i, lo, hi))
			return false;
	}
	return true;
}

bool fl_leaf_is(struct fl_symbols *symbols, const char *path, uint64_t at)
{
	unsigned char code[MOST_BYTES];
	struct fl_headers headers;
	uint64_t lo, hi, offset, left;
	bool is_leaf;
	int fd;

	if (!fl_symbols_range(symbols, path, at, &lo, &hi) || lo != at ||
	    hi - lo > sizeof(code))
		return false;
	fd = fl_headers_open(&headers, path);
	if (fd < 0)
		return false;
	is_leaf = fl_headers_offset(&headers, lo, &offset, &left) && hi - lo <= left &&
		  fl_headers_read(fd, code, offset, hi - lo) && calls_nothing(code, lo, hi);
	close(fd);
	return is_leaf;
}
