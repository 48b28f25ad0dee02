/*
 * build.c - a second body does what its function does.
 *
 * Functions of libraries are built and decoded again by Zydis, beside their originals: each
 * instruction is there, each branch leads to the instruction that stands for its target, each
 * displacement to what it led to.
 *
 *	build: 2 files, 9121 functions, 870312 instructions | wrong 0
 *
 * Counts right of the bar must be zero. FLICK_TORTURE=long takes more files.
 */
#include "site-rig.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mman.h>

#include <Zydis/Zydis.h>

#include "copy/build.h"
#include "copy/copy.h"
#include "copy/make.h"
#include "copy/plan.h"

enum { ROOM = 1 << 20, SHOWN = 10, GLUE_CALL = 5, WANTED = 400000 };

static struct fl_shape_step steps[ROOM];
static uintptr_t body_at[ROOM];		/* by step: where its first instruction is */
static ZydisDecoder zydis;

static const char *const files[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
};
static const char *const more_files[] = {
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
	"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
	"/usr/bin/python3.11",
	"/usr/bin/perl",
	"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
	"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
};

struct verdict {
	size_t n_files, functions, instructions, refused, wrong;
};

/* A body that is read from its beginning on, beside its function. */
struct reading {
	const struct fl_shape *s;
	const struct fl_copy *copy;
	uintptr_t at;			/* what is read next */
	uint32_t step;
	uint32_t n_places;
	const char *wrong;
};

struct insn {
	ZydisDecodedInstruction z;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	uintptr_t at, target;		/* of a direct branch, or a pc-relative operand */
	unsigned char bytes[16];
};

static bool decode(struct insn *i, const unsigned char *bytes, size_t n, uintptr_t at)
{
	memset(i, 0, sizeof *i);
	i->at = at;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis, bytes, n, &i->z, i->op)))
		return false;
	memcpy(i->bytes, bytes, i->z.length);
	for (unsigned int k = 0; k < i->z.operand_count_visible; k++) {
		const ZydisDecodedOperand *op = &i->op[k];

		if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op->imm.is_relative)
			i->target = at + i->z.length + op->imm.value.u;
		else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
			 op->mem.base == ZYDIS_REGISTER_RIP)
			i->target = at + i->z.length + (uint64_t)op->mem.disp.value;
	}
	return true;
}

static bool blame(struct reading *r, const char *what)
{
	r->wrong = r->wrong ? r->wrong : what;
	return false;
}

/* The next instruction of the body. */
static bool next(struct reading *r, struct insn *i)
{
	uintptr_t end = r->copy->code + r->copy->n_code;

	if (r->at >= end ||
	    !decode(i, (const void *)r->at, end - r->at < 15 ? end - r->at : 15, r->at))
		return blame(r, "no instruction");
	r->at += i->z.length;
	return true;
}

static bool expect(struct reading *r, ZydisMnemonic m, uintptr_t target)
{
	struct insn i;

	return next(r, &i) && ((i.z.mnemonic == m && i.target == target) ||
			       blame(r, ZydisMnemonicGetString(m)));
}

/* The next one does what the original's does. A branch inside has its target seen later. */
static bool expect_same(struct reading *r, const struct insn *o, bool is_inside)
{
	struct insn i;

	if (!next(r, &i))
		return false;
	if (i.z.mnemonic != o->z.mnemonic || i.z.operand_count != o->z.operand_count)
		return blame(r, "another instruction");
	if (is_inside)
		return true;
	if (i.target != o->target)
		return blame(r, "another target");
	if (!o->target && memcmp(i.bytes, o->bytes, sizeof i.bytes))
		return blame(r, "other bytes");
	return true;
}

static bool expect_place(struct reading *r, uintptr_t site, enum fl_form form)
{
	static const unsigned char nops[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	static const unsigned char ret[] = { 0xc3, 0x0f, 0x1f, 0x40, 0, 0xc3 };
	static const unsigned char nop[] = { 0x0f, 0x1f, 0 };
	const unsigned char *bytes = form == FL_FORM_BODY_RET ? ret :
				     form == FL_FORM_BODY_SWITCH ? nop : nops;
	size_t n = form == FL_FORM_BODY_RET ? sizeof ret :
		   form == FL_FORM_BODY_SWITCH ? sizeof nop : sizeof nops;
	uint32_t k = 0;

	while (k < r->copy->n_places && (r->copy->places[k].at != site ||
					 r->copy->places[k].offset + r->copy->code != r->at))
		k++;
	if (k == r->copy->n_places || r->copy->places[k].form != form)
		return blame(r, "no place");
	if (memcmp((const void *)r->at, bytes, n))
		return blame(r, "other bytes in a place");
	r->at += n;
	r->n_places++;
	return true;
}

static bool is_loop(const struct insn *o)
{
	return o->z.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && o->z.opcode >= 0xe0 &&
	       o->z.opcode <= 0xe3;
}

/* loop 1f; jmp 2f; 1: jmp: where that is, or of a short one it. 0: neither. */
static uintptr_t loop_at(struct reading *r, const struct insn *o)
{
	struct insn i, jmp;

	if (!next(r, &i) || i.z.mnemonic != o->z.mnemonic)
		return 0;
	if (i.target != r->at + 2 || *(const unsigned char *)r->at != 0xeb)
		return i.at;
	return next(r, &jmp) && jmp.target == r->at + 5 && next(r, &i) ? i.at : 0;
}

static bool expect_inside(struct reading *r, const struct insn *o)
{
	if (!is_loop(o))
		return expect_same(r, o, true);
	return loop_at(r, o) || blame(r, "no loop");
}

/* The opposite of a condition differs in its lowest bit. */
static bool expect_branch_out(struct reading *r, const struct insn *o)
{
	struct insn i;

	if (!next(r, &i))
		return false;
	if (!is_loop(o) && (i.z.opcode & 15) != ((o->z.opcode & 15) ^ 1))
		return blame(r, "no opposite");
	if (is_loop(o) && (i.target != r->at + 2 || !next(r, &i)))
		return blame(r, "no loop out");
	if (i.target != r->at + 10)
		return blame(r, "past something else");
	return expect_place(r, o->at, FL_FORM_BODY_TAIL) &&
	       expect(r, ZYDIS_MNEMONIC_JMP, o->target);
}

/* The place at `r->at`, if it is one. */
static const struct fl_copy_place *place_at(const struct reading *r)
{
	for (uint32_t k = 0; k < r->copy->n_places; k++)
		if (r->copy->places[k].offset + r->copy->code == r->at)
			return &r->copy->places[k];
	return NULL;
}

/* The jump into the original, and what the NOP leads to as a jump. */
static bool expect_switch(struct reading *r, const struct insn *o, uintptr_t *call)
{
	const struct fl_copy_place *p = place_at(r);
	uintptr_t lookup = r->at + 2 + 0x1f;

	if (!p || p->form != FL_FORM_BODY_SWITCH)
		return true;
	*call = r->at + p->call;
	if (!fl_plan_may_go_on(r->s) || !expect_place(r, o->at, FL_FORM_BODY_SWITCH) ||
	    !expect_same(r, o, false))
		return blame(r, "a jump that may not go on");
	while (r->at < lookup)
		if (*(const unsigned char *)r->at++ != 0xcc)
			return blame(r, "something before a look-up");
	return true;
}

/* Up to the place, or the call, behind it. Its tables are what run of it shows. */
static bool expect_lookup(struct reading *r, const struct insn *o)
{
	uintptr_t call = 0;
	struct insn i;

	if (!expect_switch(r, o, &call))
		return false;
	while (next(r, &i))
		if (i.z.mnemonic == ZYDIS_MNEMONIC_LEA && i.op[1].mem.disp.value == 128)
			break;
	if (r->wrong || (call && r->at != call))
		return blame(r, "no call of glue behind a look-up");
	if (call ? !next(r, &i) || i.z.mnemonic != ZYDIS_MNEMONIC_CALL || i.z.length != 5 :
		   !expect_place(r, o->at, FL_FORM_BODY_TAIL))
		return blame(r, "no place of a jump");
	return expect_same(r, o, false);
}

static bool expect_return(struct reading *r, const struct insn *o)
{
	if (o->z.opcode == 0xc3)
		return expect_place(r, o->at, FL_FORM_BODY_RET);
	return expect_place(r, o->at, FL_FORM_BODY_TAIL) && expect_same(r, o, false);
}

static bool read_step(struct reading *r, const struct fl_shape_step *s)
{
	struct insn o = { .at = s->at };

	body_at[r->step] = r->at;
	if (s->kind == FL_SHAPE_END)
		return expect(r, ZYDIS_MNEMONIC_JMP, s->target);
	if (s->kind == FL_SHAPE_RUNS_ON)
		return expect_place(r, s->at, FL_FORM_BODY_TAIL) &&
		       expect(r, ZYDIS_MNEMONIC_JMP, s->target);
	if (!decode(&o, fl_shape_bytes(r->s, s), s->len, s->at) || o.z.length != s->len)
		return blame(r, "not what the shape says");
	switch ((enum fl_shape_kind)s->kind) {
	case FL_SHAPE_JUMP: case FL_SHAPE_BRANCH:
		return expect_inside(r, &o);
	case FL_SHAPE_TAIL: case FL_SHAPE_TAIL_POINTER:
		return expect_place(r, o.at, FL_FORM_BODY_TAIL) && expect_same(r, &o, false);
	case FL_SHAPE_BRANCH_OUT:
		return expect_branch_out(r, &o);
	case FL_SHAPE_SWITCH:
		return expect_lookup(r, &o);
	case FL_SHAPE_RET:
		return expect_return(r, &o);
	default:
		return expect_same(r, &o, false);
	}
}

/* ---- branches of the body: where do they lead? ------------------------------------- */

static uintptr_t body_of(const struct reading *r, uintptr_t original)
{
	for (uint32_t p = 0, i = 0; p < r->s->n_parts; p++) {
		uint32_t n = 0;
		size_t k;

		while (i + n < r->s->n_steps && r->s->steps[i + n].part == p)
			n++;
		k = fl_rows_from(&r->s->steps[i], n, sizeof *r->s->steps, original);
		if (k && r->s->steps[i + k - 1].at == original)
			return body_at[i + k - 1];
		i += n;
	}
	return 0;
}

static bool leads_right(struct reading *r, uint32_t step)
{
	const struct fl_shape_step *s = &r->s->steps[step];
	struct insn o, i;

	decode(&o, fl_shape_bytes(r->s, s), s->len, s->at);
	r->at = body_at[step];
	if (is_loop(&o))
		r->at = loop_at(r, &o);
	return next(r, &i) && (i.target == body_of(r, o.target) ||
			       blame(r, "a branch leads elsewhere"));
}

/* ---- the ways in ------------------------------------------------------------------- */

static bool read_ways_in(struct reading *r)
{
	const struct fl_copy *c = r->copy;
	uintptr_t jump = r->s->entry + 5;
	bool has_copies = r->s->covered > 1 && fl_plan_switches_avoid(r->s, 1);

	if ((c->on - jump) >> 8 != (c->off - jump) >> 8)
		return blame(r, "the ways in are too far apart");
	if (c->on != c->code + c->call || *(const unsigned char *)c->on != 0xe8)
		return blame(r, "no call of glue");
	if ((c->off - r->s->entry) % 64)	/* a line */
		return blame(r, "the body does not lie in lines as the original");
	if (c->off != body_of(r, r->s->entry))
		return blame(r, "the way past the glue leads elsewhere");
	for (uint32_t k = 1; k < 5; k++) {
		uintptr_t to = body_of(r, r->s->entry + k);

		if (c->copies[k] ? c->off + c->copies[k] != to :
				   to && k < r->s->window && has_copies)
			return blame(r, "who stands in the window goes on elsewhere");
	}
	return true;
}

/* The same by the table alone, as a reader has it. */
static bool is_told_by_table(uintptr_t at, uintptr_t from, uintptr_t to)
{
	enum { MOST = 1 << 26 };
	struct fl_unwind_found found;
	uintptr_t origin = fl_unwind_find(at, &found) ?
			   fl_unwind_origin_by(found.table, MOST, at) : 0;

	return origin >= from && origin <= to;
}

/* Who asks where a call returns to hears of the original; and who asks where a signal came, of
 * that step or, where something was written before it, of the next one. */
static void tells_origin(struct reading *r, const struct fl_shape_step *s)
{
	bool is_first = !r->step || s[-1].part != s->part;
	uintptr_t last = s->at + s->len, at = body_at[r->step] + is_first;

	if (r->wrong || !r->s->parts[s->part].fde)
		return;
	for (; at < r->at; at++)
		if (fl_unwind_origin(at) < s->at || fl_unwind_origin(at) > last ||
		    !is_told_by_table(at, s->at, last))
			blame(r, "another place in the function");
	if (s->kind == FL_SHAPE_CALL && fl_unwind_origin(r->at) != last)
		blame(r, "a call returns elsewhere");
}

static void show(const struct reading *r)
{
	const struct fl_shape_step *s = &steps[r->step < r->s->n_steps ? r->step : 0];
	static int shown;

	if (shown++ < SHOWN)
		printf("%lx of %s: step %u at %lx (kind %u), body at %lx: %s\n",
		       r->s->function - r->s->m->bias, r->s->m->path, r->step,
		       s->at - r->s->m->bias, s->kind, r->at, r->wrong);
}

static bool is_right(const struct fl_shape *s, const struct fl_copy *copy)
{
	struct reading r = { .s = s, .copy = copy };

	r.at = copy->on + GLUE_CALL;
	for (; r.step < s->n_steps && !r.wrong; r.step++) {
		if (s->steps[r.step].at < s->entry && s->steps[r.step].part == 0)
			body_at[r.step] = r.at;		/* a landing pad */
		else if (read_step(&r, &s->steps[r.step]))
			tells_origin(&r, &s->steps[r.step]);
	}
	for (r.step = 0; r.step < s->n_steps && !r.wrong; r.step++)
		if (s->steps[r.step].kind == FL_SHAPE_JUMP ||
		    s->steps[r.step].kind == FL_SHAPE_BRANCH)
			leads_right(&r, r.step);
	if (!r.wrong)
		read_ways_in(&r);
	if (!r.wrong && r.n_places != copy->n_places)
		blame(&r, "more places");
	if (r.wrong)
		show(&r);
	return !r.wrong;
}

/* ---- whole files ------------------------------------------------------------------- */

struct opened {
	struct fl_obj o;
	struct fl_module m;
	struct fl_outline outline;
	struct fl_copies copies;
};

static void open_file(struct opened *f, const char *path)
{
	memset(f, 0, sizeof *f);
	assert_int_equal(fl_obj_open(&f->o, path), 0);
	assert_int_equal(fl_obj_lay_out(&f->m, &f->o, path), 0);
	assert_int_equal(fl_outline_open(&f->outline, &f->m), 0);
	fl_copies_begin(&f->copies, f->m.lo, f->m.hi);
}

static void close_file(struct opened *f)
{
	assert_int_equal(fl_copies_end(&f->copies), 0);
	fl_outline_close(&f->outline);
	fl_obj_unlay(&f->m);
	fl_obj_close(&f->o);
}

static int shape_of(const struct opened *f, struct fl_shape *s, uintptr_t at)
{
	uint64_t datum;

	*s = (struct fl_shape){ .steps = steps, .room = ROOM };
	return fl_shape_of(s, &f->outline, at, &datum);
}

static void build_one(struct opened *f, uintptr_t function, struct verdict *v)
{
	struct fl_copy copy;
	struct fl_shape s;
	uint64_t datum = 0;
	int err;

	if (shape_of(f, &s, function)) {
		v->refused++;
		return;
	}
	err = fl_copy_build(&f->copies, &s, &copy, &datum);
	v->functions++;
	v->instructions += s.n_steps;
	if (err == FLE_UNWIND) {
		v->refused++;
		return;
	}
	if (err) {
		printf("%lx of %s: %d %s, %lx\n", function - f->m.bias, f->m.path, err,
		       fl_err_text(err), datum - f->m.bias);
		v->wrong++;
	} else if (!is_right(&s, &copy)) {
		v->wrong++;
	}
}

static void build_file(const char *path, struct verdict *v)
{
	struct opened f;

	if (access(path, R_OK))
		return;
	open_file(&f, path);
	v->n_files++;
	for (size_t k = 0; k < f.outline.n; k++)
		if (f.outline.extents[k].kind == FL_EXTENT_FUNCTION &&
		    !f.outline.extents[k].refusal)
			build_one(&f, f.outline.extents[k].start, v);
	close_file(&f);
}

static void libraries_are_the_same_in_bodies(void **state)
{
	struct verdict v = { 0 };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(files); k++)
		build_file(files[k], &v);
	for (size_t k = 0; getenv("FLICK_TORTURE") && k < ARRAY_LEN(more_files); k++)
		build_file(more_files[k], &v);
	printf("build: %zu files, %zu functions, %zu instructions, %zu refused | wrong %zu\n",
	       v.n_files, v.functions, v.instructions, v.refused, v.wrong);
	assert_true(v.instructions >= WANTED);
	assert_int_equal(v.wrong, 0);
}

/* ---- several builders -------------------------------------------------------------- */

static size_t count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static size_t count_cpus(void)
{
	cpu_set_t own;

	return sched_getaffinity(0, sizeof own, &own) ? 1 : (size_t)CPU_COUNT(&own);
}

static bool is_function(const struct opened *f, size_t k)
{
	return f->outline.extents[k].kind == FL_EXTENT_FUNCTION &&
	       !f->outline.extents[k].refusal;
}

/* Each is built once; a body is no builder's but one's, and what it is does not depend on
 * whose. Where there are CPUs for them others build, too: their bodies lie above a later one.
 * They are gone when the last body is there. */
static void make_all(struct opened *f, size_t helpers, struct verdict *v, size_t *others)
{
	uintptr_t last = 0;

	fl_os_spare.n = (uint32_t)helpers;
	assert_int_equal(fl_make_begin(&f->outline, f->m.lo, f->m.hi, 0), 0);
	for (size_t k = 0; k < f->outline.n; k++)
		if (is_function(f, k))
			fl_make_want(f->outline.extents[k].start);
	for (size_t k = 0; k < f->outline.n; k++) {
		const struct fl_built *m = is_function(f, k) ? fl_make_body(k) : NULL;
		struct fl_shape s;

		v->functions += m != NULL;
		v->refused += m && m->refusal;
		if (!m || m->refusal)
			continue;
		assert_int_equal(shape_of(f, &s, f->outline.extents[k].start), 0);
		v->instructions += s.n_steps;
		v->wrong += !is_right(&s, &m->copy);
		assert_ptr_equal(fl_make_built(k), m);
		assert_non_null(fl_make_write(m->copy.on));
		*others += m->copy.code < last;
		last = m->copy.code;
	}
	fl_make_stop();
	assert_int_equal(count_threads(), 1);
	assert_int_equal(fl_make_end(), 0);
	fl_os_spare.n = 0;
}

static void several_builders_build_what_one_does(void **state)
{
	enum { HUNDREDS = 500 };
	struct verdict one = { 0 }, several = { 0 };
	size_t blocks = 0, others = 0;
	struct opened f;

	(void)state;
	open_file(&f, files[1]);
	make_all(&f, 0, &one, &blocks);
	make_all(&f, count_cpus() - 1, &several, &others);
	close_file(&f);
	printf("build: of %zu bodies %zu lie below the one before, of one builder %zu, "
	       "%zu refused, %zu | wrong %zu\n", several.functions, others, blocks,
	       several.refused, one.refused, several.wrong);
	assert_memory_equal(&several, &one, sizeof one);
	assert_true(several.functions > HUNDREDS);
	assert_int_equal(several.wrong, 0);
	if (count_cpus() > 1)
		assert_true(others > several.functions / 16);
}

/* One of the others has taken a body and goes on once it is waited for. */
static int own_tid, is_held;
static uint32_t is_awaited;

void fl_point_hit(const char *);

void fl_point_hit(const char *name)
{
	if (!strcmp(name, "make.awaited"))
		__atomic_store_n(&is_awaited, 1, __ATOMIC_RELAXED);
	if (!is_held || strcmp(name, "make.taken") || fl_os_tid() == own_tid)
		return;
	while (!__atomic_load_n(&is_awaited, __ATOMIC_RELAXED))
		fl_arch_pause();
}

static void who_asks_waits_for_who_builds(void **state)
{
	struct verdict v = { 0 };
	size_t others = 0;
	struct opened f;

	(void)state;
	open_file(&f, files[1]);
	own_tid = fl_os_tid();
	is_held = 1;
	make_all(&f, 1, &v, &others);
	is_held = 0;
	close_file(&f);
	assert_int_equal(is_awaited, 1);
	assert_int_equal(v.wrong, 0);
}

/* Nobody has asked for a body, and for all that were wanted. */
static void builders_end_when_they_are_told(void **state)
{
	struct opened f;

	(void)state;
	open_file(&f, files[1]);
	fl_os_spare.n = 3;
	for (size_t asked = 0; asked < 3; asked++) {
		assert_int_equal(fl_make_begin(&f.outline, f.m.lo, f.m.hi, 0), 0);
		for (size_t k = 0; k < f.outline.n; k++)
			if (is_function(&f, k))
				fl_make_want(f.outline.extents[k].start);
		for (size_t k = 0, n = 0; n < asked; k++)
			if (is_function(&f, k) && ++n)
				fl_make_body(k);
		fl_make_stop();
		assert_int_equal(count_threads(), 1);
		assert_int_equal(fl_make_end(), 0);
	}
	fl_os_spare.n = 0;
	close_file(&f);
}

/* ---- what a debugger reads ---------------------------------------------------------- */

enum { NAMED = 400, LONG_NAME = 1100 };

/* As many as have room, and each is what it was. */
static void read_names(const unsigned char *file, const struct fl_copy *copies, size_t n)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(file + eh->e_shoff), *text = NULL;
	const Elf64_Sym *s = NULL;
	const char *names = NULL;
	size_t found = 0, n_symbols = 0;

	assert_memory_equal(file, ELFMAG, SELFMAG);
	for (unsigned int i = 0; i < eh->e_shnum; i++) {
		const char *title = (const char *)file + sh[eh->e_shstrndx].sh_offset;

		if (sh[i].sh_type == SHT_SYMTAB) {
			s = (const Elf64_Sym *)(file + sh[i].sh_offset);
			n_symbols = sh[i].sh_size / sizeof *s;
			names = (const char *)file + sh[sh[i].sh_link].sh_offset;
		}
		text = sh[i].sh_type == SHT_NOBITS ? &sh[i] : text;
		if (!strcmp(title + sh[i].sh_name, ".eh_frame"))
			assert_ptr_equal(file + sh[i].sh_offset, sh[i].sh_addr);
	}
	assert_non_null(s);
	assert_non_null(text);
	assert_string_equal(names + s->st_name, "");
	for (size_t i = 1; i < n_symbols; i++) {
		char name[LONG_NAME + 16];
		size_t k = found++;

		snprintf(name, sizeof name, "%0*zu.flick", LONG_NAME, k);
		assert_string_equal(names + s[i].st_name, name);
		assert_int_equal(s[i].st_value, copies[k].on);
		assert_true(s[i].st_value - text->sh_addr < text->sh_size);
	}
	assert_true(found > 10 && found < n);
}

static void a_block_is_a_file_with_as_many_names_as_it_has_room_for(void **state)
{
	static struct fl_copy copies[NAMED];
	struct fl_ground_block *b = NULL;
	const unsigned char *file;
	struct opened f;
	size_t n = 0;

	(void)state;
	open_file(&f, files[0]);
	for (size_t k = 0; k < f.outline.n && n < NAMED; k++) {
		struct fl_shape s;
		uint64_t datum;

		if (shape_of(&f, &s, f.outline.extents[k].start) ||
		    fl_copy_build(&f.copies, &s, &copies[n], &datum))
			continue;
		if (b && b != fl_copies_block(&f.copies, copies[n].code))
			break;
		b = fl_copies_block(&f.copies, copies[n++].code);
	}
	assert_non_null(b);
	for (size_t k = 0; k < n; k++) {
		char name[LONG_NAME + 1];

		snprintf(name, sizeof name, "%0*zu", LONG_NAME, k);
		fl_jit_name(b, &copies[k], name);
	}
	file = b->near.data;
	close_file(&f);
	read_names(file, copies, n);
}

/* ---- memory --------------------------------------------------------------------------- */

static size_t pages_there(const struct fl_near *near)
{
	static unsigned char there[1 << 14];
	size_t all = (near->code_bytes + near->data_bytes) / FL_PAGE, n = 0;

	assert_true(all <= sizeof there);
	assert_int_equal(mincore(near->code, all * FL_PAGE, there), 0);
	for (size_t i = 0; i < all; i++)
		n += there[i] & 1;
	return n;
}

/* Before Linux 5.14 each is there when it is touched. */
static bool can_have_pages_before(void)
{
	static _Alignas(FL_PAGE) unsigned char page[FL_PAGE];

	return !madvise(page, sizeof page, MADV_POPULATE_WRITE);
}

/* A large block of which little is used takes little; the pages that come next are there
 * before they are written. */
static void a_block_takes_pages_as_it_is_used(void **state)
{
	enum { LARGE = 1 << 20, MOST = 64, TAKEN = 1 << 17 };
	struct fl_ground_block *b;
	struct fl_ground to;
	struct opened f;

	(void)state;
	open_file(&f, files[0]);
	do {
		assert_int_equal(fl_copies_reserve(&f.copies, 1, 1, &to), 0);
		b = &f.copies.blocks[f.copies.n - 1];
		if (b->near.code_bytes < LARGE)
			fl_copies_fill(&f.copies);
	} while (b->near.code_bytes < LARGE);
	assert_in_range(pages_there(&b->near), 0, MOST);
	for (size_t n = 0; n < 2 * MOST * FL_PAGE; n += TAKEN) {
		size_t before = pages_there(&b->near);

		assert_int_equal(fl_copies_reserve(&f.copies, TAKEN, 1, &to), 0);
		if (can_have_pages_before())
			assert_true(pages_there(&b->near) > before);
		before = pages_there(&b->near);
		memset(to.write, FL_ARCH_TRAP & 0xff, TAKEN);
		if (can_have_pages_before())
			assert_int_equal(pages_there(&b->near), before);
		fl_copies_take(&f.copies, TAKEN, 1);
	}
	close_file(&f);
}

/* Of a module with hundreds of megabytes of code bodies have room, too. */
static void blocks_for_a_large_module_do_not_end(void **state)
{
	enum { MEGABYTES = 400 };
	struct fl_ground to;
	struct opened f;
	size_t all = 0;

	(void)state;
	open_file(&f, files[0]);
	while (all < (size_t)MEGABYTES << 20) {
		assert_int_equal(fl_copies_reserve(&f.copies, 1, 1, &to), 0);
		all += f.copies.blocks[f.copies.n - 1].near.code_bytes;
		fl_copies_fill(&f.copies);
	}
	close_file(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_for_a_large_module_do_not_end),
		cmocka_unit_test(a_block_takes_pages_as_it_is_used),
		cmocka_unit_test(a_block_is_a_file_with_as_many_names_as_it_has_room_for),
		cmocka_unit_test(libraries_are_the_same_in_bodies),
		cmocka_unit_test(several_builders_build_what_one_does),
		cmocka_unit_test(who_asks_waits_for_who_builds),
		cmocka_unit_test(builders_end_when_they_are_told),
	};

	ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	fl_text_choose("mprotect");
	fl_unwind_serve();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
