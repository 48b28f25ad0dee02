/*
 * places.c - small functions around an instruction that is switched, x86-64.
 *
 * READER code. Hides the machine code. A place's function returns %eax or %rax:
 *
 *	31 c0		xor %eax,%eax
 *	at:		the instruction
 *	c3		ret
 *
 *	BYTE	b8 imm32	mov $imm32,%eax		one byte differs
 *	LOAD	b8 imm32	mov $imm32,%eax		four differ
 *	LONG	48 b8 imm64	movabs $imm64,%rax	eight differ
 *	CALLS	e8 rel32	call first | call second
 *	JUMPS	e9 rel32	jmp first | jmp second
 *	STUBS	e9 rel32	jmp first | jmp beside
 *	NOP	0f 1f 44 00 00	nop | call first; then add $OFF,%eax
 *	CALL	e8 rel32	call first, or none; then the same
 *
 *	first	add $FIRST,%eax; ret		before all places
 *	beside	add $BESIDE,%eax; ret		16 bytes further on
 *	second	add $SECOND,%eax; ret		behind them
 *
 * A mixed constant is neither value. Mixed displacements lead into hlt, which
 * faults, or into zeros, which fault as well: `add %al,(%rax)` while %eax is 0.
 * An instruction that is left out leaves 0, one that runs twice a wrong sum.
 */
#include <string.h>
#include <sys/mman.h>

#include "trial/torture.h"

enum {
	SLOT = 256, LINE = FL_ARCH_LINE,
	MARGIN = 18 << 20,	/* on either side: a mixed rel32 stays in the map */
	FIRST_AT = 0x00123450, SECOND_AT = 0x0089abc8,	/* into the margins */
	ALL_BYTES = 2 * MARGIN + FL_RIG_PLACES * SLOT,
	BESIDE_BY = 16,
	OFF = 0x01020304, FIRST = 0x10305070, SECOND = 0x20416183, BESIDE = 0x30527294
};

static const uint64_t constants[FL_N_SHAPES][2] = {
	[FL_SHAPE_BYTE] = { 0x11121314, 0x11122314 },
	[FL_SHAPE_LOAD] = { 0x11121314, 0x21222324 },
	[FL_SHAPE_LONG] = { 0x1112131415161718, 0x2122232425262728 },
};

static void put(unsigned char **at, const void *bytes, size_t n)
{
	memcpy(*at, bytes, n);
	*at += n;
}
#define PUT(at, bytes) put(at, bytes, sizeof(bytes) - 1)

static void put32(unsigned char **at, uint32_t v)
{
	put(at, &v, sizeof v);
}

/* add $v,%eax */
static void put_add(unsigned char **at, uint32_t v)
{
	PUT(at, "\x05");
	put32(at, v);
}

static void lay_target(unsigned char *at, uint32_t v)
{
	memset(at - 16, 0xf4, 64);			/* hlt */
	put_add(&at, v);
	PUT(&at, "\xc3");				/* ret */
}

unsigned char *fl_places_map(size_t *bytes)
{
	unsigned char *p = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned char *beside;

	if (p == MAP_FAILED)
		return NULL;
	*bytes = ALL_BYTES;
	lay_target(p + FIRST_AT, FIRST);
	beside = p + FIRST_AT + BESIDE_BY;
	put_add(&beside, BESIDE);
	PUT(&beside, "\xc3");				/* ret */
	lay_target(p + *bytes - MARGIN + SECOND_AT, SECOND);
	return p;
}

static void branch(unsigned char out[5], uint8_t op, const unsigned char *at,
		   const unsigned char *to)
{
	int32_t d = (int32_t)(to - (at + 5));

	out[0] = op;
	memcpy(out + 1, &d, sizeof d);
}

static void make_load(struct fl_torture_place *p, const uint64_t v[2])
{
	p->len = p->shape == FL_SHAPE_LONG ? 10 : 5;
	for (int s = 0; s < 2; s++) {
		memcpy(p->bytes[s], p->len == 10 ? "\x48\xb8" : "\xb8", 2);
		memcpy(p->bytes[s] + (p->len == 10 ? 2 : 1), &v[s], p->len == 10 ? 8 : 4);
		p->values[s] = v[s];
	}
}

static void make_branches(struct fl_torture_place *p, uint8_t op,
			  const unsigned char *first, const unsigned char *second)
{
	p->len = 5;
	branch(p->bytes[0], op, p->at, first);
	branch(p->bytes[1], op, p->at, second);
	p->values[0] = FIRST;
	p->values[1] = SECOND;
}

/* CALL is laid as a call, NOP as a NOP; off has no call. */
static void make_call(struct fl_torture_place *p, const unsigned char *target)
{
	p->len = 5;
	p->target = target;
	memcpy(p->bytes[0], "\x0f\x1f\x44\x00", 5);	/* nop 0(%rax,%rax) */
	branch(p->bytes[1], 0xe8, p->at, target);
	p->values[0] = OFF;
	p->values[1] = OFF + FIRST;
}

static void make(struct fl_torture_place *p, unsigned char *room, unsigned char *second)
{
	switch (p->shape) {
	case FL_SHAPE_BYTE:
	case FL_SHAPE_LOAD:
	case FL_SHAPE_LONG:
		make_load(p, constants[p->shape]);
		break;
	case FL_SHAPE_CALLS:
		make_branches(p, 0xe8, room + FIRST_AT, second);
		break;
	case FL_SHAPE_JUMPS:
		make_branches(p, 0xe9, room + FIRST_AT, second);
		break;
	case FL_SHAPE_STUBS:
		make_branches(p, 0xe9, room + FIRST_AT, room + FIRST_AT + BESIDE_BY);
		p->values[1] = BESIDE;
		break;
	default:
		make_call(p, room + FIRST_AT);
	}
}

static void lay_slot(struct fl_torture_place *p, unsigned char *slot)
{
	unsigned char *at = p->at - 2;

	memset(slot, 0xf4, SLOT);			/* hlt */
	p->entry = (uint64_t (*)(void))(uintptr_t)at;
	PUT(&at, "\x31\xc0");				/* xor %eax,%eax */
	put(&at, p->bytes[p->shape == FL_SHAPE_CALL], p->len);
	if (p->target)
		put_add(&at, OFF);
	PUT(&at, "\xc3");				/* ret */
}

void fl_place_lay(struct fl_torture_place *p, unsigned char *room, size_t i,
		  enum fl_placing shape, unsigned offset)
{
	unsigned char *slot = room + MARGIN + i * SLOT;
	unsigned char *second = room + ALL_BYTES - MARGIN + SECOND_AT;

	*p = (struct fl_torture_place){
		.at = slot + LINE + offset, .shape = (uint8_t)shape,
		.offset = (uint8_t)offset,
	};
	make(p, room, second);
	lay_slot(p, slot);
}

/* A non-temporal store waits in a buffer until something flushes it, as every
 * interrupt and serialising instruction does. */
void fl_store_lazily(uint32_t *at, uint32_t v)
{
	__asm__ volatile("movnti %1, %0" : "=m"(*at) : "r"(v) : "memory");
}
