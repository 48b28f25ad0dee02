/*
 * view.c - what analyses are told of the target: names, symbols, code, sites.
 *
 * Hides which of the modules that were mapped at an address is there now, and that the
 * file of one module at a time is kept open.
 */
#include <stdio.h>

#include "session/functions.h"
#include "session/view.h"

static const char *name_of(const void *owner, uint32_t function)
{
	const struct fl_session *s = owner;

	return function < s->functions.n ? fl_functions_name(&s->functions, function) : NULL;
}

const struct fl_shm_module *fl_session_module_at(const struct fl_session *s, uint64_t at)
{
	const struct fl_shm_module *m = s->functions.modules;

	for (uint32_t i = s->functions.n_modules; i-- > 0;)
		if (at >= m[i].lo && at < m[i].hi)
			return &m[i];
	return NULL;
}

/* An address in a function's body stands in the function. */
static bool symbol_at(const void *owner, uint64_t at, uint64_t *lo, uint64_t *hi)
{
	struct fl_session *s = (struct fl_session *)owner;
	const struct fl_shm_module *m;

	at = fl_originals_at(s->originals, s->pid, at);
	m = fl_session_module_at(s, at);
	if (!m || !fl_symbols_range(s->functions.symbols, m->path, at - m->base, lo, hi))
		return false;
	*lo += m->base;
	*hi += m->base;
	return true;
}

void fl_view_close(struct fl_session *s)
{
	if (s->code.is_there)
		fl_obj_unlay(&s->code.module);
	s->code.is_there = false;
}

/* The file of one module at a time is kept open. */
static const unsigned char *code_at(const void *owner, uint64_t at, size_t n)
{
	struct fl_session *s = (struct fl_session *)owner;
	const struct fl_shm_module *m = fl_session_module_at(s, at);
	struct fl_viewed *c = &s->code;

	if (!m)
		return NULL;
	if (c->of != m) {
		fl_view_close(s);
		c->of = m;
		c->is_there = !fl_obj_copy(&c->module, m->path, FL_OBJ_ALL);
	}
	return c->is_there ? fl_obj_bytes(&c->module, c->module.bias + (at - m->base), n) :
			     NULL;
}

/* What the target says of a place: addresses are those in the file of the module. NULL: the
 * place is in no module. */
static const struct fl_shm_module *module_of_place(const struct fl_session *s, uint32_t place,
						   struct fl_place_row *row)
{
	const struct fl_place_row *live = &fl_shm_places(s->shm)[place];

	if (place >= s->shm->max_places)
		return NULL;
	row->at = load_relaxed(&live->at);
	row->function = load_relaxed(&live->function);
	row->module = load_relaxed(&live->module);
	return row->module < s->functions.n_modules ? &s->functions.modules[row->module] : NULL;
}

/* An access that is told is of a function that has a body, and so is in the table. Its
 * instruction may stand apart, in a cold part that has a name of its own. */
static uint32_t function_of_place(const void *owner, uint32_t place)
{
	const struct fl_session *s = owner;
	struct fl_place_row row;
	uint32_t function;

	return module_of_place(s, place, &row) &&
	       fl_functions_at(&s->functions, row.module, row.function, &function) ?
	       function : FLICK_NO_FUNCTION;
}

/* Kept as long as the process. */
static const char *line_of_place(const void *owner, uint32_t place)
{
	const struct fl_session *s = owner;
	struct fl_place_row row;
	const struct fl_shm_module *m = module_of_place(s, place, &row);
	const char *file;
	char *text;
	int line;

	if (!m)
		return "?";
	file = fl_symbols_line(s->functions.symbols, m->path, row.at, &line);
	if (file && asprintf(&text, "%s:%d", fl_base_name(file), line) >= 0)
		return text;
	text = fl_symbols_unnamed(m->path, row.at);
	return text ? text : "?";
}

static uint64_t preempted(const void *owner, uint32_t thread, uint64_t begin, uint64_t end)
{
	const struct fl_session *s = owner;
	size_t n;
	const struct fl_thread *t = fl_reader_threads(s->reader, &n);

	return thread < n ? fl_preempt_between(s->preempt, t[thread].tid, begin, end) : 0;
}

void fl_view_open(struct fl_session *s)
{
	s->view = (struct fl_view){
		.owner = s, .name = name_of, .symbol = symbol_at, .code = code_at,
		.place = function_of_place, .line = s->o->lines ? line_of_place : NULL,
		.live = fl_shm_sites(s->shm),
		.sampled = s->o->action == FL_ACT_SAMPLE,
		.windows = s->o->rate != 0,
		.framed = 1u << FL_PROVIDER_XRAY | 1u << FL_PROVIDER_PATCHABLE |
			  1u << FL_PROVIDER_BODY,
		.ns_per_tick = 1.0,
	};
	/* By the one thread that reads. What is made of a trace later does not know. */
	if ((s->view.sampled || s->view.windows) && !s->o->raw && !s->o->trace &&
	    s->o->readers <= 1 &&
	    !fl_preempt_open(&s->preempt, s->attached ? (int)s->o->pid : 0))
		s->view.preempted = preempted;
}
