/*
 * hot.c - the loops that trials change, and their stores, for x86-64.
 *
 * READER code. Hides the machine code. The site and what follows it:
 *
 *	call	e8 0b 40 02 01		call target	on
 *		0f 1f 44 00 00		nop		off
 *		48 ff 07		incq (%rdi)	calls
 *	target	48 ff 47 08 c3		incq 8(%rdi); ret
 *
 *	operand	48 b8 imm64		movabs $imm64,%rax
 *		... %rax must be %r8 (off) or %r9 (on), else incq 16(%rdi)
 *
 * The call's displacement is chosen so that mixed bytes do not pass: behind a
 * call's first 1 to 4 bytes the NOP's rest is a call into int3s; behind the
 * NOP's first byte 0b makes ud2, behind two of them `01 48 ff` is a store below
 * address 0. A NOP's first 3 or 4 bytes are a NOP with any rest: this mix is
 * harmless, and not seen.
 */
#include <string.h>
#include <sys/mman.h>

#include "trial/hot.h"

enum {
	LINE_AT = 1024,			/* of the mapping */
	LAST_LINE_AT = 4096 - FL_ARCH_LINE,	/* of the mapping's first page */
	TRAPS = 0x6000,			/* bytes of int3 at the beginning */
	REL = 0x0102400b,		/* the call's displacement, see above */
	REL_CUT = 0x0002400b,		/* without its last byte: more int3 there */
	MAP_BYTES = 0x1030000,
	HALF_PAUSE = 500		/* ticks between two halves */
};

static const struct subject {
	uint8_t len, first, n;		/* bytes first .. first + n - 1 change */
	uint8_t bytes[2][16];
} subjects[FL_N_SUBJECTS] = {
	[FL_SUBJECT_CALL] = { 5, 0, 5, {
		{ 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		{ 0xe8, 0x0b, 0x40, 0x02, 0x01 },
	} },
	[FL_SUBJECT_OPERAND] = { 10, 2, 8, {
		{ 0x48, 0xb8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18 },
		{ 0x48, 0xb8, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88 },
	} },
};

size_t fl_hot_changed(enum fl_subject s, size_t *first)
{
	*first = subjects[s].first;
	return subjects[s].n;
}

const char *fl_trial_none(void)
{
	return NULL;
}

bool fl_hot_can(enum fl_way way)
{
	return way != FL_WAY_AVX32 || __builtin_cpu_supports("avx");
}

/* ---- laying ------------------------------------------------------------------- */

struct out {
	unsigned char *at;
};

static void emit(struct out *o, const void *bytes, size_t n)
{
	memcpy(o->at, bytes, n);
	o->at += n;
}
#define EMIT(o, bytes) emit(o, bytes, sizeof(bytes) - 1)

static void emit_rel32(struct out *o, const unsigned char *to)
{
	int32_t d = (int32_t)(to - (o->at + 4));

	emit(o, &d, sizeof d);
}

/* Check that the value is one of the two. */
static void emit_check(struct out *o)
{
	EMIT(o, "\x4c\x39\xc0\x74\x0d");	/* cmp %r8,%rax; je done */
	EMIT(o, "\x48\xff\x47\x08");		/* incq 8(%rdi) */
	EMIT(o, "\x4c\x39\xc8\x74\x04");	/* cmp %r9,%rax; je done */
	EMIT(o, "\x48\xff\x47\x10");		/* incq 16(%rdi); done: */
}

static void lay_target(unsigned char *after_call)
{
	struct out o = { after_call + REL };

	memset(after_call + REL_CUT - 32, FL_ARCH_TRAP, 64);
	EMIT(&o, "\x48\xff\x47\x08\xc3");	/* incq 8(%rdi); ret */
}

/* xor %eax,%eax; jmp site */
static void lay_entry(const struct fl_hot *h)
{
	struct out o = { h->base };

	EMIT(&o, "\x31\xc0\xe9");
	emit_rel32(&o, h->site);
}

static void lay_code(struct fl_hot *h, const struct fl_trial *t)
{
	struct out o = { h->site };

	memset(h->base, FL_ARCH_TRAP, TRAPS);
	lay_entry(h);
	emit(&o, h->bytes[0], h->len);
	if (t->subject == FL_SUBJECT_CALL)
		lay_target(h->site + h->len);
	else
		emit_check(&o);
	EMIT(&o, "\x48\xff\x07");		/* incq (%rdi) */
	if (t->cold) {
		EMIT(&o, "\x0f\xae\x3a");	/* clflush (%rdx) */
		EMIT(&o, "\x0f\xae\x7a\x40");	/* clflush 64(%rdx) */
	}
	EMIT(&o, "\x80\x3e\x00");		/* cmpb $0,(%rsi): go on? */
	EMIT(&o, "\x0f\x84");			/* je site */
	emit_rel32(&o, h->site);
	EMIT(&o, "\xc3");			/* ret */
}

static size_t store_bytes(enum fl_way way)
{
	return way == FL_WAY_SSE16 ? 16 : way == FL_WAY_AVX32 ? 32 : 8;
}

/* Choose the aligned bytes that hold the change, else bytes with the change in the
 * middle. */
static void choose_window(struct fl_hot *h, const struct fl_trial *t)
{
	const struct subject *s = &subjects[t->subject];
	size_t n = store_bytes(t->way), aligned = t->offset / n * n;
	bool fits = t->offset + s->n <= aligned + n;
	unsigned char *changed = h->site + s->first;

	h->window_bytes = (uint8_t)n;
	h->window = fits ? h->line + aligned : changed - (n - 8) / 2;
	for (int state = 0; state < 2; state++) {
		memcpy(h->image[state], h->window, n);
		memcpy(h->image[state] + (changed - h->window),
		       h->bytes[state] + s->first, s->n);
	}
}

int fl_hot_lay(struct fl_hot *h, const struct fl_trial *t)
{
	const struct subject *s = &subjects[t->subject];

	h->base = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (h->base == MAP_FAILED)
		return -errno;
	/* A call that a line's boundary splits, for a wait, is split by a page's as well:
	 * of all pairs of lines those of two pages are fetched farthest apart. */
	h->line = h->base + (t->way <= FL_WAY_WAIT_UNFENCED ? LAST_LINE_AT : LINE_AT);
	h->site = h->line + t->offset - s->first;
	h->len = s->len;
	memcpy(h->bytes, s->bytes, sizeof h->bytes);
	lay_code(h, t);
	choose_window(h, t);
	return 0;
}

void fl_hot_execute(const struct fl_hot *h, uint64_t counts[FL_HOT_COUNTS],
		    const uint8_t *stop)
{
	typedef void loop(uint64_t *, const uint8_t *, unsigned char *, long,
			  uint64_t off, uint64_t on);
	const uint8_t *off = subjects[FL_SUBJECT_OPERAND].bytes[0] + 2;
	const uint8_t *on = subjects[FL_SUBJECT_OPERAND].bytes[1] + 2;
	uint64_t value[2];

	memcpy(&value[0], off, 8);
	memcpy(&value[1], on, 8);
	((loop *)(uintptr_t)h->base)(counts, stop, h->line, 0, value[0], value[1]);
}

/* ---- stores --------------------------------------------------------------------- */

static void wait_ticks(uint64_t ticks)
{
	uint64_t start = fl_arch_ticks();

	while (fl_arch_ticks() - start < ticks)
		;
}

/* The store has left the store buffer before a fenced wait begins; without lfence
 * the clock might be read earlier. */
static void settle(const struct fl_trial *t)
{
	if (fl_trial_is_fenced(t))
		__asm__ volatile("mfence; lfence" ::: "memory");
	wait_ticks(t->wait);
}

static void put_byte(unsigned char *at, uint8_t byte)
{
	store_relaxed(at, byte);
}

/* Two bytes of one aligned word. */
static void put_two(unsigned char *at, const uint8_t bytes[2])
{
	uint16_t both;

	memcpy(&both, bytes, sizeof both);
	__asm__ volatile("movw %0,(%1)" :: "r"(both), "r"(at) : "memory");
}

/* Store the head that stands while the tail changes: int3, exchanged as paper 1 does
 * it, which is a fence in itself; or `eb 03`, a jump over the tail, in one store. */
static size_t park(const struct fl_hot *h, const struct fl_trial *t)
{
	uint8_t trap = FL_ARCH_TRAP;

	if (t->way == FL_WAY_WAIT_JUMP) {
		put_two(h->site, (const uint8_t[]){ 0xeb, (uint8_t)(h->len - 2) });
		return 2;
	}
	__asm__ volatile("xchg %0,%1" : "+q"(trap), "+m"(*h->site) :: "memory");
	return 1;
}

/* The phases of patch/commit.c, with a wait in place of a sync. */
static void store_by_waiting(const struct fl_hot *h, const struct fl_trial *t, int state)
{
	size_t head_bytes = park(h, t);

	settle(t);
	for (size_t i = head_bytes; i < h->len; i++)
		put_byte(h->site + i, h->bytes[state][i]);
	settle(t);
	if (head_bytes == 2)
		put_two(h->site, h->bytes[state]);
	else
		put_byte(h->site, h->bytes[state][0]);
	if (fl_trial_is_fenced(t))
		__asm__ volatile("mfence" ::: "memory");
}

static void store_in_halves(const struct fl_hot *h, int state)
{
	for (size_t i = 0; i < h->len; i++) {
		if (i == h->len / 2u)
			wait_ticks(HALF_PAUSE);
		put_byte(h->site + i, h->bytes[state][i]);
	}
}

static void store_locked(const struct fl_hot *h, int state)
{
	uint64_t old, new;

	memcpy(&old, h->image[!state], sizeof old);
	memcpy(&new, h->image[state], sizeof new);
	__asm__ volatile("lock cmpxchg %2,%1"
			 : "+a"(old), "+m"(*(uint64_t *)(void *)h->window)
			 : "r"(new) : "memory", "cc");
}

static void store_once(const struct fl_hot *h, const struct fl_trial *t, int state)
{
	const void *from = h->image[state];
	uint64_t word;

	if (t->way == FL_WAY_SSE16) {
		__asm__ volatile("movups (%0),%%xmm0; movups %%xmm0,(%1)"
				 :: "r"(from), "r"(h->window) : "memory", "xmm0");
	} else if (t->way == FL_WAY_AVX32) {
		__asm__ volatile("vmovups (%0),%%ymm0; vmovups %%ymm0,(%1); vzeroupper"
				 :: "r"(from), "r"(h->window) : "memory", "xmm0");
	} else {
		memcpy(&word, from, sizeof word);
		__asm__ volatile("movq %0,(%1)" :: "r"(word), "r"(h->window)
				 : "memory");
	}
}

void fl_hot_store(const struct fl_hot *h, const struct fl_trial *t, int state)
{
	switch (t->way) {
	case FL_WAY_WAIT:
	case FL_WAY_WAIT_JUMP:
	case FL_WAY_WAIT_UNFENCED:
		store_by_waiting(h, t, state);
		break;
	case FL_WAY_HALVES:
		store_in_halves(h, state);
		break;
	case FL_WAY_LOCK8:
		store_locked(h, state);
		break;
	default:
		store_once(h, t, state);
	}
}
