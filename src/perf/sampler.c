/*
 * sampler.c - where the target's CPU time goes: samples of its program counter.
 *
 * Hides perf_event_open(2): one cpu-clock event a CPU, which needs no counters of
 * the processor's and, where perf_event_paranoid is 2 or less, no privilege. The
 * events are made while the target is loaded, by its number, and begin before its own code
 * does (session/opening.c). A program that runs already has events for each of its threads
 * (threads.c). In both cases flick looks at what the program has mapped. All that the
 * target has of events is the time of an interrupt for each sample (sample-cost.c). What was
 * mapped at a sample's address is told by the kernel as well, so nothing here rests on what
 * the target says.
 *
 * A sample takes its program's time, so once there are many their period may become longer
 * (session/budget/budget.c).
 *
 * Each CPU has a ring of its own, and a mapping's record may stand in another ring
 * than the samples in it. So the records of all rings are put in the order of time first,
 * except those of the last moments: earlier ones may still be on their way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "os/os.h"
#include "perf/chains.h"
#include "perf/mapped.h"
#include "perf/originals.h"
#include "perf/rings.h"
#include "perf/sampler.h"
#include "perf/stacks.h"
#include "perf/tasks.h"

#define PERIOD_NS 997003ull		/* a prime: in step with nobody's timer */
#define SETTLED_NS 2000000ull		/* by then a record is in its ring */

/* A record, out of its ring. */
struct told_record {
	uint64_t time;
	uint32_t type;
	int32_t pid, parent, tid, parent_tid;	/* tid: not of a mapping */
	uint32_t periods;		/* that a sample stands for */
	uint64_t at;
	struct fl_map map;
	struct fl_sampled_stack *stack;		/* of a sample; NULL: not asked for */
	bool is_exec;			/* the thread is named as it executes a program */
	char name[16];
};

enum { FILE_WORDS = 6 };		/* device, inode, generation */

struct fl_sampler {
	struct fl_perf_rings rings;
	struct fl_perf_rings seldom;	/* used instead, since fl_sampler_slow() */
	struct fl_perf_rings far;	/* events with more of the stack, into `rings` */
	uint32_t seldom_periods;	/* that a sample in there stands for */
	uint32_t periods;		/* ... of the rings that are being taken */
	struct told_record *records;		/* taken from rings, not yet looked at */
	uint32_t n_records;
	struct fl_mapped mapped;
	struct kept_path {		/* each file once, though one was replaced by another */
		char *path;
		uint32_t file[FILE_WORDS];
	} *paths;
	uint32_t n_paths;
	struct fl_pc *pcs;		/* the first n_merged are sorted, each once */
	uint32_t n_pcs, n_merged;
	struct fl_tasks tasks;
	struct fl_chains chains;
	struct fl_stacks stacks;
	enum fl_sampled what;
	uint64_t lost;			/* samples for which a ring had no room */
	uint64_t starts;		/* of threads, except a process's first one */
	bool goes;			/* the rings are there, and this thread's */
	struct {
		void (*saw)(void *arg, const struct fl_pc *);
		void *arg;
	} told[2];			/* who is told of each sample */
	uint32_t n_told;
	struct fl_originals *originals;	/* NULL: there are none */
	bool (*is_glue)(void *arg, uint64_t at);	/* NULL: it is not known */
	void *glue_arg;
	bool failed;			/* there was no memory: what it has is not all */
};

/* ---- growing ------------------------------------------------------------------ */

/* Room for one more element; false: none, which spoils what is counted. */
static bool has_room_for(struct fl_sampler *s, void *array, uint32_t n, size_t bytes)
{
	int err = fl_array_room(array, n, bytes);

	s->failed |= err != 0;
	return !err;
}

/* One pointer for one file, by its path and what else the kernel tells of it. */
static const char *keep_path(struct fl_sampler *s, const char *path,
			     const uint32_t file[FILE_WORDS])
{
	struct kept_path *kept;

	for (uint32_t i = s->n_paths; i-- > 0;)
		if (!memcmp(s->paths[i].file, file, sizeof(s->paths[i].file)) &&
		    !strcmp(s->paths[i].path, path))
			return s->paths[i].path;
	if (!has_room_for(s, &s->paths, s->n_paths, sizeof(*s->paths)))
		return "";
	kept = &s->paths[s->n_paths];
	kept->path = strdup(path);
	memcpy(kept->file, file, sizeof(kept->file));
	s->failed |= !kept->path;
	s->n_paths += kept->path != NULL;
	return kept->path ? kept->path : "";
}

/* ---- what the kernel writes ------------------------------------------------------ */

/* What ends every record that is no sample. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time, id;
};

struct mapping {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t at, bytes, offset;
	uint32_t file[FILE_WORDS];
	uint32_t prot, flags;
	char path[];
};

struct fork {				/* and of who ends */
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
};

struct naming {
	struct perf_event_header header;
	int32_t pid, tid;
	char name[];
};

static void take_mapping(struct fl_sampler *s, struct told_record *m, const struct mapping *r)
{
	if (!(r->prot & PROT_EXEC)) {
		m->type = 0;
		return;
	}
	m->pid = (int32_t)r->pid;
	m->map = (struct fl_map){ r->at, r->at + r->bytes, r->offset,
				   keep_path(s, r->path, r->file) };
}

/* Take the record at `h`, which is whole. A sample's id tells which event it is of. The size
 * of the stack's copy does not: where a stack ends soon, events with more of the stack copy no
 * more than others. */
static void take_record(void *arg, const struct perf_event_header *h)
{
	struct fl_sampler *s = arg;
	const void *end = (const char *)h + h->size;
	const struct fl_sample_record *sample = (const struct fl_sample_record *)h;
	struct told_record m = { .type = h->type };

	if (h->type == PERF_RECORD_LOST) {
		s->lost += ((const uint64_t *)(h + 1))[1];
		return;
	}
	m.time = h->type == PERF_RECORD_SAMPLE ? sample->time :
		 ((const struct trailer *)end - 1)->time;
	if (h->type == PERF_RECORD_SAMPLE) {
		m.pid = (int32_t)sample->pid;
		m.tid = (int32_t)sample->tid;
		m.at = sample->ip;
		m.periods = fl_perf_rings_has(&s->far, sample->id) ? 0 : s->periods;
		if (s->what != FL_SAMPLED_PLACES)
			m.stack = fl_stacks_copy(sample + 1, end);
	} else if (h->type == PERF_RECORD_MMAP2) {
		take_mapping(s, &m, (const struct mapping *)h);
	} else if (h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT) {
		m.pid = (int32_t)((const struct fork *)h)->pid;
		m.parent = (int32_t)((const struct fork *)h)->parent;
		m.tid = (int32_t)((const struct fork *)h)->tid;
		m.parent_tid = (int32_t)((const struct fork *)h)->parent_tid;
	} else if (h->type == PERF_RECORD_COMM) {
		m.pid = ((const struct naming *)h)->pid;
		m.tid = ((const struct naming *)h)->tid;
		m.is_exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
		snprintf(m.name, sizeof(m.name), "%s", ((const struct naming *)h)->name);
	} else {
		return;
	}
	if (has_room_for(s, &s->records, s->n_records, sizeof(m)))
		s->records[s->n_records++] = m;
	else
		free(m.stack);
}

/* ---- in the order of time ---------------------------------------------------------- */

static int compare_pcs(const void *x, const void *y)
{
	const struct fl_pc *a = x, *b = y;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->program != b->program)
		return a->program < b->program ? -1 : 1;
	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	if (a->is_vague != b->is_vague)
		return a->is_vague ? -1 : 1;
	if (a->ahead != b->ahead)
		return a->ahead < b->ahead ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void add_pc(struct fl_pc *to, const struct fl_pc *pc)
{
	to->n += pc->n;
	to->taken += pc->taken;
}

static void merge_pcs(struct fl_sampler *s)
{
	uint32_t kept = 0;

	qsort(s->pcs, s->n_pcs, sizeof(*s->pcs), compare_pcs);
	for (uint32_t i = 0; i < s->n_pcs; i++) {
		if (kept && !compare_pcs(&s->pcs[kept - 1], &s->pcs[i]))
			add_pc(&s->pcs[kept - 1], &s->pcs[i]);
		else
			s->pcs[kept++] = s->pcs[i];
	}
	s->n_pcs = s->n_merged = kept;
}

/* Second bodies stand where no file of the program's is mapped. */
static bool may_be_body(const struct fl_sampler *s, const struct fl_map *map)
{
	return s->originals && !(map && fl_mapped_is_file(map->path));
}

/* The last mapping there that is a file's, or the kernel's: text that is written to through an
 * alias, or was copied, stands in memory. NULL: there has been none, or none that is known. */
static const struct fl_map *code_behind(const struct fl_mapped_process *p, uint64_t at,
					const struct fl_map *map)
{
	while (map && *map->path && *map->path != '[' && !fl_mapped_is_file(map->path))
		map = fl_mapped_at(p, at, map);
	return map && *map->path ? map : NULL;
}

/* A sample, and the process that it is of. */
struct sampled {
	const struct fl_sampler *s;
	const struct told_record *m;
	const struct fl_mapped_process *process;	/* NULL: it is not known */
};

/* The sample as one of a place in the program's own code. An alias stands for the file behind
 * it; other memory is the program's own. */
static struct fl_pc sampled_place(const struct sampled *of, uint64_t at)
{
	const struct fl_map *map = fl_mapped_at(of->process, at, NULL), *behind;
	struct fl_pc pc = { .pid = of->m->pid, .n = of->m->periods, .taken = 1, .at = at,
			    .address = at, .path = "",
			    .program = of->process ? of->process->program : "" };

	behind = map && !strncmp(map->path, "/memfd:flick-text", 17) ?
		 code_behind(of->process, at, map) : NULL;
	map = behind ? behind : map;
	if (map) {
		pc.path = map->path;
		pc.at = at - map->lo + map->offset;
	}
	return pc;
}

/* Has the program made the code that is mapped there? `behind`: code that it stands for. */
static bool is_made(const struct fl_sampler *s, const struct fl_map *map,
		    const struct fl_map *behind, uint64_t at)
{
	return map && (!behind || behind == map) && !fl_mapped_is_file(map->path) &&
	       *map->path != '[' && s->is_glue && !s->is_glue(s->glue_arg, at);
}

static bool where_stands(void *arg, uint64_t at, struct fl_stack_code *code)
{
	const struct sampled *of = arg;
	const struct fl_map *map = fl_mapped_at(of->process, at, NULL), *behind;

	behind = of->s->originals ? code_behind(of->process, at, map) : map;
	*code = (struct fl_stack_code){ .is_made = is_made(of->s, map, behind, at) };
	if (behind && !code->is_made)
		*code = (struct fl_stack_code){ .path = behind->path, .lo = behind->lo,
						.offset = behind->offset };
	return behind && behind == map;
}

/* Where no stack tells, the chain is that place alone, and is cut. In a process tree, a place
 * in a file is the same for all processes. */
static void count_calls(struct fl_sampler *s, struct sampled *of, uint64_t at)
{
	const struct told_record *m = of->m;
	struct fl_stack_calls calls = { .n = 0, .end = FL_CHAIN_CUT };
	struct fl_pc pcs[FL_STACK_DEPTH];
	bool is_gone;

	if (m->stack)
		fl_stacks_walk(&s->stacks, m->pid, m->stack, where_stands, of, &calls);
	is_gone = !calls.n || s->stacks.is_gone;
	if (!calls.n)
		calls.places[calls.n++] = at;
	for (uint32_t i = 0; i < calls.n; i++) {
		pcs[i] = sampled_place(of, calls.places[i]);
		if (s->what == FL_SAMPLED_TREE && fl_mapped_is_file(pcs[i].path))
			pcs[i].pid = 0;
	}
	fl_chains_add(&s->chains, pcs, &(struct fl_chain){
		.n = calls.n, .end = calls.end, .samples = m->periods != 0,
		.far = m->periods == 0, .periods = m->periods, .is_gone = is_gone,
		.program = pcs[0].program });
}

uint64_t fl_sampler_ran_ns(const struct fl_sampler *s, int32_t tid)
{
	const struct fl_sampled_thread *thread = fl_tasks_find(&s->tasks, tid);

	return thread ? thread->periods * PERIOD_NS : 0;
}

size_t fl_sampler_children(const struct fl_sampler *s, int32_t pid, int32_t *children,
			   size_t room)
{
	size_t n = 0;

	for (uint32_t i = 0; !s->lost && i < s->mapped.n && n < room; i++)
		if (s->mapped.of[i].pid != pid && s->mapped.of[i].threads)
			children[n++] = s->mapped.of[i].pid;
	return n;
}

/* A sample that stood in a function's body stood in the function. A sample that is there for
 * its stack alone counts as nothing else. What flick has beside a program comes of it, and so
 * has its events: samples there are none of the program's. */
static void count_sample(struct fl_sampler *s, const struct told_record *m)
{
	struct sampled of = { s, m, fl_mapped_find(&s->mapped, m->pid) };
	const struct fl_map *map = fl_mapped_at(of.process, m->at, NULL);
	const struct fl_told_body *body = may_be_body(s, map) ?
					  fl_originals_body(s->originals, m->pid, m->at) : NULL;
	uint64_t at = body ? body->function : m->at;
	struct fl_pc pc = sampled_place(&of, at);
	struct fl_sampled_thread *thread = fl_tasks_get(&s->tasks, m->pid, m->tid);

	s->failed |= !thread;
	if (!thread || !strcmp(thread->name, FL_OS_OUTSIDE_NAME))
		return;
	if (s->what != FL_SAMPLED_PLACES && (m->stack || m->periods))
		count_calls(s, &of, at);
	if (!m->periods)
		return;
	thread->periods += m->periods;
	pc.thread = thread;
	pc.is_vague = body && !fl_body_tables_origin(&s->stacks.bodies, &(struct fl_body_place){
		m->pid, m->at, body, where_stands, &of }, &pc.ahead);
	for (uint32_t i = 0; i < s->n_told; i++)
		s->told[i].saw(s->told[i].arg, &pc);
	if (s->n_pcs > 4096 && s->n_pcs > 2 * s->n_merged)
		merge_pcs(s);
	if (has_room_for(s, &s->pcs, s->n_pcs, sizeof(pc)))
		s->pcs[s->n_pcs++] = pc;
}

static int compare_records(const void *x, const void *y)
{
	const struct told_record *a = x, *b = y;

	return a->time < b->time ? -1 : a->time > b->time;
}

/* Look at all records from before `until`: no more of these come. */
static void settle(struct fl_sampler *s, uint64_t until)
{
	uint32_t i = 0;

	qsort(s->records, s->n_records, sizeof(*s->records), compare_records);
	for (; i < s->n_records && s->records[i].time < until; i++) {
		const struct told_record *m = &s->records[i];

		switch (m->type) {
		case PERF_RECORD_SAMPLE:
			count_sample(s, m);
			free(m->stack);
			break;
		case PERF_RECORD_MMAP2:
			s->failed |= fl_mapped_add(&s->mapped, m->pid, &m->map) != 0;
			break;
		case PERF_RECORD_FORK:
			s->starts += m->pid == m->parent;
			s->failed |= fl_mapped_fork(&s->mapped, m->pid, m->parent) ||
				     fl_tasks_fork(&s->tasks, m->tid, m->parent, m->parent_tid);
			break;
		case PERF_RECORD_EXIT:
			if (!s->lost)	/* else nobody knows how many began */
				fl_mapped_exit(&s->mapped, m->pid);
			break;
		case PERF_RECORD_COMM:
			s->failed |= fl_tasks_rename(&s->tasks, m->tid, m->name) != 0;
			if (m->is_exec)
				fl_mapped_exec(&s->mapped, m->pid);
			break;
		}
	}
	s->n_records -= i;
	memmove(s->records, s->records + i, s->n_records * sizeof(*s->records));
}

void fl_sampler_tell(struct fl_sampler *s, void (*saw)(void *arg, const struct fl_pc *),
		     void *arg)
{
	if (s->n_told == ARRAY_LEN(s->told))
		return;
	s->told[s->n_told].saw = saw;
	s->told[s->n_told++].arg = arg;
}

static int32_t parent_of(const void *mapped, int32_t pid)
{
	const struct fl_mapped_process *p = fl_mapped_find(mapped, pid);

	return p ? p->parent : 0;
}

static bool has_heirs(const void *mapped, int32_t pid)
{
	return fl_mapped_has_heirs(mapped, pid);
}

void fl_sampler_originals(struct fl_sampler *s, struct fl_originals *originals)
{
	s->originals = s->stacks.bodies.originals = originals;
	originals->parent = parent_of;
	originals->has_heirs = has_heirs;
	originals->arg = &s->mapped;
}

void fl_sampler_glue(struct fl_sampler *s, bool (*is_glue)(void *arg, uint64_t at), void *arg)
{
	s->is_glue = is_glue;
	s->glue_arg = arg;
}

void fl_sampler_poll(struct fl_sampler *s)
{
	uint64_t now = fl_os_monotonic_ns();

	if (!s || !s->goes)
		return;
	s->periods = 1;
	fl_perf_rings_take(&s->rings, take_record, s);
	s->periods = s->seldom_periods;
	fl_perf_rings_take(&s->seldom, take_record, s);
	if (s->n_records)
		settle(s, now - SETTLED_NS);
	if (s->originals)
		fl_originals_turn(s->originals, now - SETTLED_NS);
}

void fl_sampler_stop(struct fl_sampler *s)
{
	if (!s || !s->goes)
		return;
	fl_perf_rings_stop(&s->rings);
	fl_perf_rings_stop(&s->far);
	fl_perf_rings_stop(&s->seldom);
}

void fl_sampler_forget(struct fl_sampler *s)
{
	s->n_pcs = s->n_merged = 0;
	for (uint32_t i = 0; i < s->tasks.n; i++)
		s->tasks.of[i]->periods = 0;
	fl_chains_forget(&s->chains);
}

const struct fl_pc *fl_sampler_counts(struct fl_sampler *s, size_t *n)
{
	fl_sampler_poll(s);
	settle(s, UINT64_MAX);
	merge_pcs(s);
	*n = s->failed ? 0 : s->n_pcs;
	return s->pcs;
}

const struct fl_mapped_program *fl_sampler_programs(const struct fl_sampler *s, size_t *n)
{
	*n = s->failed ? 0 : s->mapped.n_programs;
	return s->mapped.programs;
}

const char *fl_sampler_became(const struct fl_sampler *s, int32_t pid, uint32_t *runs)
{
	const struct fl_mapped_process *p = s->failed ? NULL : fl_mapped_find(&s->mapped, pid);

	*runs = p ? p->runs : 0;
	return p && *p->program ? p->program : NULL;
}

const struct fl_chains *fl_sampler_chains(const struct fl_sampler *s)
{
	return &s->chains;
}

bool fl_sampler_has_calls(const struct fl_sampler *s)
{
	return s->what != FL_SAMPLED_PLACES;
}

uint64_t fl_sampler_period_ns(void)
{
	return PERIOD_NS;
}

uint64_t fl_sampler_lost(const struct fl_sampler *s)
{
	return s->lost;
}

/* ---- opening ------------------------------------------------------------------------- */

struct perf_event_attr fl_sampler_attr(enum fl_sampled what)
{
	struct perf_event_attr attr = {
		.size = sizeof(struct perf_event_attr), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_ID,
		.inherit = 1, .exclude_kernel = 1, .exclude_hv = 1, .exclude_guest = 1,
		.mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1, .task = 1,
		.sample_id_all = 1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC,
	};

	if (what != FL_SAMPLED_PLACES)
		fl_stacks_ask(&attr);
	return attr;
}

int fl_sampler_open(struct fl_sampler **out, enum fl_sampled what)
{
	*out = calloc(1, sizeof(**out));
	if (*out)
		(*out)->what = what;
	return *out ? 0 : -ENOMEM;
}

/* One sample in so many has more of its stack, and tells who called where others are cut. Few
 * suffice, so these go on as they are when others become rarer. */
static void add_far(struct fl_sampler *s, const struct perf_event_attr *like, int pid)
{
	enum { ONE_IN = 41 };
	struct perf_event_attr attr = *like;

	attr.sample_period = ONE_IN * PERIOD_NS;
	attr.sample_stack_user = FL_STACK_FAR_BYTES;
	attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 0;
	fl_perf_rings_add(&s->far, &s->rings, &attr, pid);
}

int fl_sampler_start(struct fl_sampler *s, int pid)
{
	struct perf_event_attr attr = fl_sampler_attr(s->what);
	int err;

	attr.disabled = 1;
	err = fl_perf_rings_open(&s->rings, &attr, pid);
	if (!err && s->what == FL_SAMPLED_CALLS)
		add_far(s, &attr, pid);
	return err;
}

struct looked_at {
	struct fl_sampler *s;
	int pid;
};

static int see_mapping(void *arg, const struct fl_mapping *m)
{
	struct looked_at *of = arg;
	static const uint32_t unknown[FILE_WORDS];
	struct fl_map map = { m->lo, m->hi, m->offset, NULL };

	if (!(m->prot & PROT_EXEC))
		return 0;
	map.path = keep_path(of->s, m->path, unknown);
	return fl_mapped_add(&of->s->mapped, of->pid, &map);
}

/* Later mappings are told by records, which come after this. */
static int look_at_mappings(struct fl_sampler *s, int pid)
{
	struct looked_at of = { s, pid };
	int err = fl_mapped_look(&s->mapped, pid);

	return err ? err : fl_os_mappings_of(pid, see_mapping, &of);
}

void fl_sampler_go(struct fl_sampler *s, int pid)
{
	s->goes = true;
	fl_perf_rings_go(&s->rings);
	fl_perf_rings_go(&s->far);
	s->failed |= look_at_mappings(s, pid) != 0;
	/* for who comes of it: it may not be sampled, nor be there when they are */
	s->failed |= !fl_tasks_get(&s->tasks, pid, pid);
}

/* The kernel cannot change the period of events that threads have inherited, so other events
 * are opened. Both kinds go on for a moment, so that no mapping is missed; a mapping that is
 * told twice is the same as one told once. */
int fl_sampler_slow(struct fl_sampler *s, int pid, uint32_t periods)
{
	struct perf_event_attr attr = fl_sampler_attr(s->what);
	int err;

	attr.sample_period = periods * PERIOD_NS;
	attr.disabled = 1;
	err = fl_perf_rings_open_of(&s->seldom, &attr, pid);
	if (err)
		return err;
	s->seldom_periods = periods;
	fl_perf_rings_go(&s->seldom);
	fl_perf_rings_stop(&s->rings);
	return 0;
}

void fl_sampler_hasten(struct fl_sampler *s)
{
	fl_perf_rings_go(&s->rings);
	fl_perf_rings_stop(&s->seldom);
}

uint64_t fl_sampler_starts(const struct fl_sampler *s)
{
	return s->starts;
}

int fl_sampler_open_of(struct fl_sampler **out, int pid, enum fl_sampled what)
{
	struct perf_event_attr attr;
	struct fl_sampler *s;
	int err = fl_sampler_open(&s, what);

	if (err)
		return err;
	attr = fl_sampler_attr(s->what);
	err = fl_perf_rings_open_of(&s->rings, &attr, pid);
	if (!err)
		err = look_at_mappings(s, pid);
	if (err) {
		fl_sampler_close(s);
		return err;
	}
	s->starts = s->rings.n_threads - 1;
	s->goes = true;
	*out = s;
	return 0;
}

void fl_sampler_close(struct fl_sampler *s)
{
	if (!s)
		return;
	fl_perf_rings_close(&s->far);
	if (s->originals) {
		s->originals->parent = NULL;
		s->originals->has_heirs = NULL;
	}
	fl_perf_rings_close(&s->rings);
	fl_perf_rings_close(&s->seldom);
	fl_stacks_close(&s->stacks);
	for (uint32_t i = 0; i < s->n_paths; i++)
		free(s->paths[i].path);
	for (uint32_t i = 0; i < s->n_records; i++)
		free(s->records[i].stack);
	free(s->records);
	fl_mapped_close(&s->mapped);
	free(s->paths);
	free(s->pcs);
	fl_tasks_close(&s->tasks);
	fl_chains_forget(&s->chains);
	free(s);
}
