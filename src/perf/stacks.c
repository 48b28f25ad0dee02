/*
 * stacks.c - in whose calls a sample stood: from the stack that the kernel has copied.
 *
 * A call of some nanoseconds takes less than two looks at the clock, and takes longer when it
 * is timed. So timed calls do not tell how long such calls take. Samples of the program counter
 * tell: those that stood in a call of the function, or in what it called. The kernel copies a
 * part of the stack with a sample, and callers are found in that by the tables that exceptions
 * are thrown by, which every program has.
 *
 * Second bodies have such tables of their own (body-tables.c). Where these cannot be had any
 * more, because the process has ended, the caller is not known.
 *
 * Code that a program has made has no tables. Its frames are linked by the frame pointer,
 * mostly, as a runtime walks its own stacks, and so are those of assembly in a file through
 * which such code is called, of which no table tells. A function that has made no frame yet
 * hides who called it. Where the register holds something else it leads to no code, and the
 * walk ends.
 *
 * What the target writes is read as it stands: tables may lie, and a stack may hold anything. A
 * walk goes up the stack, and no further than what was copied. A program may have tables that
 * take long to execute, and as many as it likes: so walks have a part of the time that samples
 * stand for, and samples beyond that are not walked.
 */
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "perf/stacks.h"

/* As the kernel numbers them, in the order of its bits. */
static const uint8_t told_registers[] = FL_ARCH_PERF_TO_DWARF;

struct fl_sampled_stack {
	struct fl_cfi_place place;
	uint64_t at;			/* the stack pointer */
	uint32_t n;
	unsigned char bytes[];
};

/* ---- what the kernel tells --------------------------------------------------------------- */

void fl_stacks_ask(struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = FL_ARCH_PERF_REGS;
	attr->sample_stack_user = FL_STACK_BYTES;
}

/* The kernel has written the registers, if there are any; the size of the stack's copy; the
 * copy; and how many of its bytes are the stack's. */
struct fl_sampled_stack *fl_stacks_copy(const void *told, const void *end)
{
	const uint64_t *word = told, *last = (const uint64_t *)end - 1;
	struct fl_sampled_stack *s;
	uint64_t n;

	if (word >= last || *word++ != PERF_SAMPLE_REGS_ABI_64 ||
	    last - word <= (ptrdiff_t)ARRAY_LEN(told_registers))
		return NULL;
	n = word[ARRAY_LEN(told_registers)];
	if (!n || n / 8 > (uint64_t)(last - word) - ARRAY_LEN(told_registers) - 1)
		return NULL;
	n = *last < n ? *last : n;
	s = calloc(1, sizeof(*s) + n);
	if (!s)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(told_registers); i++)
		if (told_registers[i] == FL_ARCH_DWARF_REGS)
			s->place.pc = word[i];
		else
			s->place.regs[told_registers[i]] = word[i];
	s->at = s->place.regs[FL_ARCH_DWARF_SP];
	s->n = (uint32_t)n;
	memcpy(s->bytes, &word[ARRAY_LEN(told_registers) + 1], n);
	return s;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* A file is opened when it is first asked for; NULL: there are too many, or there is no
 * memory. */
static struct fl_stack_file *file_by_path(struct fl_stacks *s, const char *path)
{
	enum { MOST_FILES = 1 << 14 };

	for (uint32_t i = 0; i < s->n_files; i++)
		if (s->files[i].path == path)
			return &s->files[i];
	if (s->n_files == MOST_FILES ||
	    fl_array_room(&s->files, s->n_files, sizeof(*s->files)))
		return NULL;
	s->files[s->n_files] = (struct fl_stack_file){
		path, fl_cfi_open(path, &s->bodies.memory) };
	return &s->files[s->n_files++];
}

/* ---- a walk ------------------------------------------------------------------------------ */

struct walk {
	struct fl_stacks *s;
	int32_t pid;
	const struct fl_sampled_stack *stack;
	struct fl_cfi_place now;
	fl_stack_where *where;
	void *arg;
	uint32_t depth;			/* calls that were gone up */
	bool is_behind_call;		/* `now` is where a call returns to */
	bool is_beyond;			/* a word that it needs is above what was copied */
	bool is_in_made;		/* it has come through code that the program made */
};

/* The rules at a place in a body; `place` becomes where the body's function begins. */
static const struct fl_cfi_row *rules_in_body(struct walk *w, uint64_t at, uint64_t *place)
{
	struct fl_originals *originals = w->s->bodies.originals;
	const struct fl_told_body *told = originals ?
					  fl_originals_body(originals, w->pid, at) : NULL;
	struct fl_told_body body;
	const struct fl_cfi_row *row;

	if (!told)
		return NULL;
	body = *told;
	*place = body.function;
	row = fl_body_tables_row(&w->s->bodies, &(struct fl_body_place){
		w->pid, at, &body, w->where, w->arg });
	w->s->is_gone = !row;
	return row;
}

/* The caller's frame pointer stands where this one points, and above it where the call returns
 * to. */
static const struct fl_cfi_row by_frame_pointer = {
	.kind = FL_CFI_CALLED,
	.frame = { .from = FL_ARCH_DWARF_FP, .offset = 16 },
	.saved = { { FL_ARCH_DWARF_FP, FL_CFI_FRAME, true, -16 },
		   { FL_ARCH_DWARF_RETURN, FL_CFI_FRAME, true, -8 } },
	.n_saved = 2,
};

/* The rules at `at`. `place` becomes `at`, or, in a body, where its function begins. */
static const struct fl_cfi_row *rules_at(struct walk *w, uint64_t at, uint64_t *place)
{
	struct fl_stack_code code = { .path = NULL };
	bool is_file = w->where(w->arg, at, &code);
	const struct fl_cfi_row *row = is_file ? NULL : rules_in_body(w, at, place);
	struct fl_stack_file *file;
	uint64_t elf;

	if (row || w->s->is_gone)
		return row;
	*place = at;
	w->is_in_made |= code.is_made;
	if (code.is_made)
		return &by_frame_pointer;
	file = code.path ? file_by_path(w->s, code.path) : NULL;
	if (!file || !file->cfi || !fl_cfi_address(file->cfi, at - code.lo + code.offset, &elf))
		return NULL;
	row = fl_cfi_row(file->cfi, elf);
	return row && row->kind == FL_CFI_NONE && w->is_in_made ? &by_frame_pointer : row;
}

static bool load_word(struct walk *w, uint64_t at, uint64_t *value)
{
	uint64_t from = at - w->stack->at;

	if (from > w->stack->n || w->stack->n - from < sizeof(*value)) {
		w->is_beyond = at >= w->stack->at;
		return false;
	}
	memcpy(value, w->stack->bytes + from, sizeof(*value));
	return true;
}

static bool value_by(struct walk *w, const struct fl_cfi_rule *r, uint64_t frame,
		 uint64_t *value)
{
	*value = (r->from == FL_CFI_FRAME ? frame : w->now.regs[r->from]) +
		 (uint64_t)(int64_t)r->offset;
	return !r->is_loaded || load_word(w, *value, value);
}

/* Go up to the caller, whose frame is above this one. Only the innermost function may have no
 * frame: it has stored nothing yet, and on its machine calls store nothing. A function that is
 * about to return has loaded its saved registers already, and tables may still say that they
 * are stored, below the stack pointer. That was not copied, and the registers are right. */
static bool go_up(struct walk *w, const struct fl_cfi_row *row)
{
	uint64_t sp = w->now.regs[FL_ARCH_DWARF_SP], frame, values[FL_CFI_SAVED];
	bool has[FL_CFI_SAVED];

	if (!value_by(w, &row->frame, 0, &frame) || frame < sp || (frame == sp && w->depth))
		return false;
	for (uint32_t i = 0; i < row->n_saved; i++) {
		has[i] = value_by(w, &row->saved[i], frame, &values[i]);
		if (!has[i] && row->saved[i].reg == FL_ARCH_DWARF_RETURN)
			return false;
	}
	for (uint32_t i = 0; i < row->n_saved; i++)
		if (has[i])
			w->now.regs[row->saved[i].reg] = values[i];
	w->now.regs[FL_ARCH_DWARF_SP] = frame;
	w->now.pc = w->now.regs[FL_ARCH_DWARF_RETURN];
	return true;
}

/* Does a function begin where this one would return to, so that no call stands in front of
 * that? Code that makes a stack by hand, as makecontext(3), says in this way what comes at its
 * end. */
static bool is_made_up(struct walk *w)
{
	uint64_t place;
	const struct fl_cfi_row *row = w->is_behind_call ?
				       rules_at(w, w->now.pc, &place) : NULL;

	return row && row->kind != FL_CFI_NONE;
}

/* Does anything tell of the code that a call would return to? */
static bool is_code(struct walk *w)
{
	uint64_t place;

	return rules_at(w, w->now.pc - 1, &place) != NULL;
}

/* Go up to the caller, if there is one. Some threads begin with 0 for their caller. */
static bool has_caller(struct walk *w, const struct fl_cfi_row *row, enum fl_chain_end *end)
{
	bool is_known = row && row->kind != FL_CFI_NONE, has_gone = false;

	w->is_beyond = false;
	if (row && row->kind > FL_CFI_FIRST)
		has_gone = go_up(w, row);
	if (has_gone && row == &by_frame_pointer && !is_code(w)) {
		*end = FL_CHAIN_LOST;
		return false;
	}
	if (has_gone && w->now.pc)
		return true;
	if (has_gone || (is_known ? row->kind == FL_CFI_FIRST : is_made_up(w)))
		*end = FL_CHAIN_WHOLE;
	else
		*end = w->is_beyond ? FL_CHAIN_CUT : FL_CHAIN_LOST;
	return false;
}

/* A walk ends in code that nothing is known of, as glue. */
static void walk_up(struct walk w, struct fl_stack_calls *calls)
{
	for (; w.depth < FL_STACK_DEPTH; w.depth++) {
		uint64_t place, at = w.now.pc - w.is_behind_call;
		const struct fl_cfi_row *row = rules_at(&w, at, &place);

		calls->places[calls->n++] = place;
		if (!has_caller(&w, row, &calls->end))
			break;
		w.is_behind_call = row->kind == FL_CFI_CALLED;
	}
}

/* When a program begins, its files are opened, and their tables looked at for the first time,
 * which takes some 10 ms. Later most places are known. */
void fl_stacks_walk(struct fl_stacks *s, int32_t pid, const struct fl_sampled_stack *stack,
		    fl_stack_where *where, void *arg, struct fl_stack_calls *calls)
{
	enum { FIRST_NS = 1000000000, EARNED_NS = 200000 };
	int tid = fl_os_tid();
	uint64_t begin;

	calls->n = 0;
	calls->end = FL_CHAIN_CUT;
	s->earned_ns += EARNED_NS;
	if (s->cpu_ns > FIRST_NS + s->earned_ns)
		return;
	s->is_gone = false;
	begin = fl_os_cpu_ns(tid);
	walk_up((struct walk){ .s = s, .pid = pid, .stack = stack, .now = stack->place,
			       .where = where, .arg = arg }, calls);
	s->cpu_ns += fl_os_cpu_ns(tid) - begin;
}

void fl_stacks_close(struct fl_stacks *s)
{
	for (uint32_t i = 0; i < s->n_files; i++)
		fl_cfi_close(s->files[i].cfi);
	free(s->files);
	fl_body_tables_close(&s->bodies);
}
