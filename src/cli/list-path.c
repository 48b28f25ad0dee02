/*
 * list-path.c - flick list --path, report --path: which instructions a path is, by its number.
 *
 * A recording has numbers alone (analysis `paths`). What they mean is found from the file: the
 * program's side has numbered the same paths in the same way (copy/blocks.c).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "copy/copy.h"
#include "site/site.h"

struct printer {
	const struct fl_module *m;
	struct fl_symbols *symbols;
	struct fl_insn_texts *insns;
	const struct fl_shape *shape;
	const char *file;		/* of the last source line */
	int line;
};

static void print_line_of(struct printer *p, uint64_t at)
{
	int line = 0;
	const char *file = fl_symbols_line(p->symbols, p->m->path, at, &line);

	if (file && (file != p->file || line != p->line)) {
		fl_print_plain(stdout, file);
		printf(":%d", line);
	}
	p->file = file;
	p->line = line;
}

/* NULL: the path has ended; `to` is where the thread went on, 0: out of the function. */
static void print_step(void *arg, const struct fl_shape_step *step, uintptr_t to)
{
	enum { BYTES = 3 * 8, TEXT = 34 };	/* columns, more where these have no room */
	struct printer *p = arg;
	const uint64_t at = step ? step->at - p->m->bias : 0;
	const unsigned char *bytes;
	int used = 0;
	char *text;

	if (!step && to)
		printf("-> 0x%" PRIx64 "\n", to - p->m->bias);
	else if (!step)
		puts("-> out");
	if (!step || !step->len)	/* where it is left is no instruction of it */
		return;
	bytes = fl_shape_bytes(p->shape, step);
	text = fl_insn_text(p->insns, p->m->file.eh->e_machine, bytes, step->len, at);
	printf("0x%08" PRIx64 "  ", at);
	for (; used < step->len; used++)
		printf("%02x ", bytes[used]);
	printf("%*s", used < 8 ? BYTES - 3 * used : 0, "");
	if (text && *text)
		printf("%-*s", TEXT, text);
	free(text);
	print_line_of(p, at);
	putchar('\n');
}

/* How much room steps need is found by trying. */
static int find_steps(struct fl_shape *s, const struct fl_outline *o, uintptr_t function)
{
	uint32_t room = 1 << 12;
	uint64_t datum;
	int err;

	do {
		struct fl_shape_step *steps = realloc(s->steps, room * sizeof *steps);

		if (!steps)
			return -ENOMEM;
		*s = (struct fl_shape){ .steps = steps, .room = room };
		err = fl_shape_of(s, o, function, &datum);
		room *= 4;
	} while (err == -ENOSPC);
	return err;
}

static int print_path(struct printer *p, const struct fl_outline *o, uintptr_t function,
		      uint32_t number)
{
	struct fl_shape s = { .steps = NULL };
	void *memory = NULL;
	int err = find_steps(&s, o, function);

	p->shape = &s;
	if (!err)
		memory = malloc(fl_path_memory(&s));
	if (!err && !memory)
		err = -ENOMEM;
	if (!err)
		err = fl_path_walk(&s, number, memory, print_step, p);
	free(memory);
	free(s.steps);
	return err;
}

int fl_list_path(struct fl_symbols *symbols, const char *path, uint64_t function,
		 uint32_t number)
{
	struct fl_outline o = { .n = 0 };
	struct fl_module m;
	struct printer p = { .m = &m, .symbols = symbols };
	int err = fl_obj_copy(&m, path, FL_OBJ_ALL);

	if (err)
		return err;
	p.insns = fl_insn_texts_open();
	if (!p.insns) {
		fl_obj_unlay(&m);
		return -ENOMEM;
	}
	err = fl_outline_open(&o, &m);
	if (!err)
		err = print_path(&p, &o, m.bias + function, number);
	fl_outline_close(&o);
	fl_insn_texts_close(p.insns);
	fl_obj_unlay(&m);
	return err;
}
