/*
 * self.c - flick.h: a program that instruments itself.
 *
 * Hides that the program is an owner of probes like the recorder, over a region of its own that
 * no reader has: counters instead of rings, every site armed at once. In a process that is
 * recorded it is a second owner beside the recorder (probe/second.c), over the recorder's
 * region.
 */
#include "../../include/flick.h"

#include "agent.h"
#include "names.h"
#include "os/os.h"
#include "patch/patch.h"
#include <sys/mman.h>

struct flick {
	struct flick_opt opt;
	struct fl_region *shm;
	int fd, pid;
	bool is_beside;			/* a recorder, whose region `shm` is */
	uint8_t *goal;			/* per probe, what is staged; 0 nothing */
};

static struct flick self;
static uint32_t found;			/* probes that are ready; W who negotiates */
static uint32_t told;			/* of them the callback knows; W who is `telling` */
static uint32_t telling;		/* 1: some thread is; atomic */

enum { DEFAULT_PROBES = 1 << 18, THREADS = 256 };

static void describe(uint32_t id, struct flick_probe *out)
{
	const struct fl_shm_site *s = fl_probe_site(id);
	bool has_module = s && s->module < self.shm->n_modules;

	*out = (struct flick_probe){ .size = out->size, .id = id, .module = "", .name = "",
				     .refusal = FLE_GONE };
	if (!s)
		return;
	out->kind = (enum flick_kind)s->kind;
	out->site = (const void *)s->at;
	out->function = (const void *)s->function;
	out->module = has_module ? fl_shm_modules(self.shm)[s->module].path : "";
	out->name = fl_names_of(s->function);
	out->refusal = s->refusal;
}

static bool is_untold(void)
{
	return load_relaxed(&told) < load_acquire(&found);	/* (A) pairs with (B) */
}

static void tell_next(void)
{
	struct flick_probe p = { .size = sizeof p };
	bool is_own = fl_probe_site(told);

	describe(told, &p);
	store_relaxed(&told, told + 1);
	FL_MUST(!fl_os_holds_locks());
	if (is_own)
		self.opt.discovered(&p, self.opt.arg);
}

/* No lock is held, because this runs the program. What is found meanwhile is told by the thread
 * that is telling, or by the one that found it: one of the two sees the other. */
static void tell(void)
{
	/* ordering: (C) pairs with (C) */
	while (self.opt.discovered && is_untold() &&
	       !__atomic_exchange_n(&telling, 1, __ATOMIC_SEQ_CST)) {
		while (is_untold())
			tell_next();
		/* ordering: (C) pairs with (C) */
		__atomic_exchange_n(&telling, 0, __ATOMIC_SEQ_CST);
	}
}

/* Wait until the callback runs no more. What another thread was telling at a fork ends in the
 * parent. */
static void end_telling(void)
{
	enum { PAUSE_US = 200 };

	if (self.pid != fl_os_pid())
		store_relaxed(&telling, 0);
	while (load_acquire(&telling))		/* ordering: (C) pairs with (C) */
		fl_os_sleep_us(PAUSE_US);
}

static void self_found(uint32_t from, enum fl_moment moment)
{
	fl_names_learn(self.shm, from);
	if (!self.is_beside || !fl_channel_reader_lives())	/* else the recorder has */
		fl_probes_commit(from, moment);
	store_release(&found, fl_probes_count());	/* (B) pairs with (A) */
}

static const struct fl_owner owner = {
	.found = self_found, .tell = tell, .join = fl_second_open, .leave = fl_second_close,
};

static void close_tables(void)
{
	fl_os_unmap(self.goal, self.shm->max_sites);
	fl_names_close();
}

static int take_options(const struct flick_opt *opt)
{
	self.opt = (struct flick_opt){ .size = sizeof self.opt };
	if (!opt)
		return 0;
	if (opt->size < offsetof(struct flick_opt, arg) || opt->size > sizeof *opt ||
	    opt->flags)
		return FLE_OPTION;
	__builtin_memcpy(&self.opt, opt, opt->size);
	return 0;
}

static int make_own_tables(uint32_t max)
{
	self.goal = fl_os_map(NULL, max, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fl_is_err(self.goal))
		return -ENOMEM;
	if (fl_names_open(max) == 0)
		return 0;
	fl_os_unmap(self.goal, max);
	return -ENOMEM;
}

static int make_region(void)
{
	uint32_t max = self.opt.max_probes ? self.opt.max_probes : DEFAULT_PROBES;
	struct fl_shm_options o = {
		.n_slots = THREADS, .max_sites = max, .action = FL_ACT_COUNT,
	};
	int err = fl_shm_create(&o, &self.shm, &self.fd);

	if (err)
		return err;
	fl_os_close(self.fd);		/* nobody else will map it */
	self.shm->session[0].own = 1;
	fl_os_advise(self.shm, self.shm->bytes, MADV_DONTDUMP);
	return make_own_tables(max);
}

/* The recorder has opened all else. */
static int begin_beside(flick **f)
{
	int err;

	self.shm = fl_agent_region();
	err = make_own_tables(self.shm->max_sites);
	if (err)
		return err;
	self.is_beside = true;
	err = fl_agent_join_second(&owner);
	if (err) {
		close_tables();
		return err;
	}
	*f = &self;
	tell();
	return 0;
}

static int open_alone(flick **f)
{
	int err = fl_agent_patch_open();

	if (!err)
		err = make_region();
	if (err)
		return err;
	fl_cyg_open();
	err = fl_channel_open(self.shm);
	if (!err)
		err = fl_probes_open(self.shm);
	if (!err)
		err = fl_life_open();
	if (err)
		return err;
	fl_owner = &owner;
	err = fl_agent_found(FL_RUNNING);
	if (err)
		flick_close(&self);
	else
		*f = &self;
	return err;
}

int flick_open(flick **f, const struct flick_opt *opt)
{
	int how = fl_agent_may_own(), err = how < 0 ? how : 0;

	fl_obj_stay();
	if (!err)
		err = take_options(opt);
	if (err)
		return err;
	self.pid = fl_os_pid();
	self.is_beside = false;
	found = told = 0;
	return how == FL_BESIDE ? begin_beside(f) : open_alone(f);
}

void flick_close(flick *f)
{
	uint64_t signals;

	if (!f)
		return;
	if (self.is_beside) {
		fl_agent_leave_second();
		end_telling();
		close_tables();
		return;
	}
	fl_agent_lock(&signals);	/* nothing is taken in any more */
	fl_owner = NULL;
	fl_agent_unlock(&signals);
	end_telling();
	fl_probes_close();		/* waits for a dlclose, of which we hear */
	fl_life_close();
	fl_channel_close();
	fl_patch_close();
	fl_names_close();
}

uint32_t flick_count(const flick *f)
{
	(void)f;
	return fl_probes_count();
}

int flick_describe(const flick *f, uint32_t id, struct flick_probe *out)
{
	struct flick_probe p = { .size = sizeof p };

	if (id >= flick_count(f))
		return FLE_NOPROBE;
	if (out->size < sizeof out->size || out->size > sizeof p)
		return FLE_OPTION;
	describe(id, &p);
	p.size = out->size;
	__builtin_memcpy(out, &p, p.size);
	return 0;
}

static bool takes(const struct fl_pattern *p, uint32_t id)
{
	const struct fl_shm_site *s = fl_probe_site(id), *row = &fl_shm_sites(self.shm)[id];
	const struct fl_shm_module *m = s ? &fl_shm_modules(self.shm)[s->module] : NULL;

	if (!s || s->module >= self.shm->n_modules)
		return false;
	return fl_pattern_takes(p, m->path, fl_names_of(s->function),
				row->function - m->base);
}

static uint8_t goal_state(enum flick_state to)
{
	return to == FLICK_ON ? FL_ON : FL_OFF;
}

int flick_stage(flick *f, const char *pattern, enum flick_state to)
{
	struct fl_pattern p;
	int n = 0, err = fl_pattern_parse(&p, pattern);

	if (err)
		return err;
	for (uint32_t id = 0; id < flick_count(f); id++) {
		if (!takes(&p, id))
			continue;
		f->goal[id] = goal_state(to);
		n++;
	}
	return n ? n : FLE_NOMATCH;
}

int flick_stage_id(flick *f, uint32_t id, enum flick_state to)
{
	if (id >= flick_count(f))
		return FLE_NOPROBE;
	f->goal[id] = goal_state(to);
	return 0;
}

int flick_commit(flick *f)
{
	int n = fl_probes_switch_set(f->goal, flick_count(f));

	flick_abort(f);
	return n;
}

void flick_abort(flick *f)
{
	__builtin_memset(f->goal, 0, flick_count(f));
}

int flick_handle(flick *f, uint32_t id, flick_handler *handler, void *arg)
{
	int err = fl_probe_handler(id, handler, arg);

	(void)f;
	return err ? err : fl_probe_action(id, FL_ACT_CALL);
}

int flick_on(flick *f, uint32_t id, flick_handler *handler, void *arg)
{
	int err = handler ? flick_handle(f, id, handler, arg) : 0;

	return err ? err : fl_probe_switch(id, FL_ON);
}

int flick_off(flick *f, uint32_t id)
{
	(void)f;
	return fl_probe_switch(id, FL_OFF);
}

int flick_drain(flick *f, int wait_ms)
{
	(void)f;
	return fl_handlers_drain(wait_ms);
}

uint64_t flick_hits(const flick *f, uint32_t id)
{
	uint64_t sum = 0;

	if (f->is_beside)
		return fl_second_hits(id);
	for (uint32_t i = 0; i < f->shm->n_slots_used; i++) {
		const struct fl_slot *s = fl_shm_slot(f->shm, i);

		if (id < s->ring[0].n_counters)
			sum += fl_count_of(load_relaxed((uint64_t *)s->ring[0].data + id));
	}
	return sum;
}

int flick_why(const flick *f, uint32_t id, char *text, size_t n)
{
	uint64_t datum = 0;
	int err = fl_probe_refusal(id, &datum);
	const char *why = err ? flick_error(err) : "";
	size_t i = 0;

	(void)f;
	for (; n && why[i] && i + 1 < n; i++)
		text[i] = why[i];
	if (n)
		text[i] = 0;
	return err;
}

const char *flick_error(int err)
{
	const char *text = err ? fl_err_text(err) : "no error";

	return text ? text : "a system call failed: strerror(-err) says why";
}
