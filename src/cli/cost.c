/*
 * cost.c - run a program again and again, and tell the parts of its time apart.
 *
 * Hides which runs there are, what the reader does in each, and how the parts of
 * paper 2's model follow from them. The bars of its figure 8:
 *
 *	ALONE		the program as it is				A
 *	WORD		events are made, each to one word		A + A_i
 *	ENQUEUE		to rings, whose chunks are freed unread		A + A_i + A_q
 *	READ		each record is read, one word of it, by the other core
 *	CONCURRENT	each record is analysed				E_c
 *	COUNTED		calls are counted inline; for `counts` alone	E_s
 *
 * One more run, the first, keeps a piece of the stream, on which the analysis
 * runs without a target: P. The reader's CPU time while it analysed is P + P_c.
 *
 * Times with flick begin when the target is let go: starting it, finding its
 * sites and naming them is paid once a run, not by the event.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/cost.h"
#include "os/os.h"

#define KEEP_BYTES (64u << 20)		/* of the stream, for P */
#define SHORT_NS 20000000ull		/* of a program that cannot be measured */
#define ONE_THREAD 1.05		/* threads at work that are one: the rest is noise */

/* ---- the end of a target, when it is and not when it is noticed ---------- */

static volatile sig_atomic_t has_ended;
static volatile uint64_t ended_ns;

/* It also ends the reader's sleep. */
static void on_child(int sig)
{
	(void)sig;
	if (!has_ended)
		ended_ns = fl_os_monotonic_ns();
	has_ended = 1;
}

static uint64_t end_or(uint64_t noticed_ns)
{
	return has_ended ? ended_ns : noticed_ns;
}

/* ---- what the reader does with records ----------------------------------- */

static volatile uint64_t one_word;

static void read_each(void *arg, const struct fl_batch *b)
{
	(void)arg;
	for (size_t i = 0; i < b->n; i++)
		one_word = b->records[i].tsc;
}

static const struct fl_sink unread, reads = { .feed = read_each };

/* ---- a piece of the stream, in memory ------------------------------------ */

struct piece {		/* a batch, or the end of a thread */
	uint32_t thread;
	bool is_end;
	size_t n;
};

struct kept {
	struct flick_record *records;
	size_t n;
	struct piece *pieces;
	size_t n_pieces, room;
	bool full;			/* what came later is not kept */
};

static void keep_piece(struct kept *k, struct piece p)
{
	if (k->n_pieces == k->room) {
		size_t room = k->room ? k->room * 2 : 1024;
		struct piece *grown = realloc(k->pieces, room * sizeof(*grown));

		k->full |= !grown;
		if (!grown)
			return;
		k->pieces = grown;
		k->room = room;
	}
	k->pieces[k->n_pieces++] = p;
}

static void keep(void *arg, const struct fl_batch *b)
{
	struct kept *k = arg;
	size_t left = KEEP_BYTES / sizeof(*k->records) - k->n;
	size_t n = b->n < left ? b->n : left;

	if (k->full)
		return;
	keep_piece(k, (struct piece){ b->thread, false, n });
	if (!k->full) {
		memcpy(k->records + k->n, b->records, n * sizeof(*k->records));
		k->n += n;
	}
	k->full |= n < b->n;
}

static void keep_end(void *arg, uint32_t thread)
{
	struct kept *k = arg;

	if (!k->full)
		keep_piece(k, (struct piece){ thread, true, 0 });
}

static void free_kept(struct kept *k)
{
	free(k->records);
	free(k->pieces);
}

/* ---- one run ------------------------------------------------------------- */

struct taken {		/* of one run */
	double wall, cpu, all;		/* seconds: target, flick's CPU, until all is read */
	uint64_t delivered;
};

/* What all runs share. */
struct rig {
	const struct fl_cost_options *o;
	struct fl_cost_result *r;
	struct fl_session_options s;
	int stdio[3];
	off_t stdin_at;
	bool has_status, on_terminal;
	unsigned n_begun;		/* runs */
	double rows[FL_COST_ROWS][FL_COST_RUNS];
	double threads[FL_COST_RUNS];
	double events[FL_COST_RUNS];
	struct fl_account account;
};

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* What is said next, a mistake perhaps, is written over it. */
static void show_progress(struct rig *g)
{
	unsigned kinds = fl_cost_has_inline(g->r) ? 6 : 5;

	if (g->on_terminal)
		fprintf(stderr, "\033[Kflick: run %u of %u\r", ++g->n_begun,
			kinds * g->o->runs + 1);
}

static void get_ready(struct rig *g)
{
	has_ended = 0;
	show_progress(g);
	if (g->r->stdin_is_file)
		lseek(g->stdio[0], g->stdin_at, SEEK_SET);
}

/* Runs are compared, so they must come to the same end. */
static int check_end(struct rig *g, int status)
{
	const char *name = g->s.argv[0];

	if (WIFSIGNALED(status)) {
		fl_say("%s was ended by signal %d (%s); its cost can only be measured "
		       "when it exits by itself", name, WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
		return -1;
	}
	if (g->has_status && WEXITSTATUS(status) != g->r->status) {
		fl_say("%s exited with status %d in one run and with %d in another; its "
		       "cost can only be measured when all runs are alike", name,
		       g->r->status, WEXITSTATUS(status));
		return -1;
	}
	g->has_status = true;
	g->r->status = WEXITSTATUS(status);
	return 0;
}

static int run_alone(struct rig *g, unsigned i)
{
	struct fl_alone alone;
	uint64_t now;

	get_ready(g);
	if (fl_session_alone(&g->s, &alone))
		return -1;
	now = end_or(fl_os_monotonic_ns());
	if (check_end(g, alone.status))
		return -1;
	if (now - alone.start_ns < SHORT_NS) {
		fl_say("%s ran for %.1f ms, which is too short to measure; give it work "
		       "for at least %llu ms", g->s.argv[0],
		       seconds(alone.start_ns, now) * 1e3, SHORT_NS / 1000000);
		return -1;
	}
	g->rows[FL_COST_ALONE][i] = seconds(alone.start_ns, now);
	g->threads[i] = (double)alone.cpu_ns / (double)(now - alone.start_ns);
	return 0;
}

static int run_session(struct rig *g, struct fl_session *s, enum fl_action action,
		       const struct fl_sink *sink)
{
	g->s.action = action;
	g->s.sink = sink;
	get_ready(g);
	if (fl_session_run(s, &g->s) || check_end(g, s->status))
		return -1;
	g->s.again = true;
	g->account = s->account;
	return 0;
}

static int run_with_flick(struct rig *g, enum fl_action action,
			  const struct fl_sink *sink, struct taken *t)
{
	struct fl_session s;
	int err = run_session(g, &s, action, sink);

	if (!err)
		*t = (struct taken){
			.wall = seconds(s.go.wall_ns, end_or(s.drained.wall_ns)),
			.all = seconds(s.go.wall_ns, s.drained.wall_ns),
			.cpu = seconds(s.go.cpu_ns, s.drained.cpu_ns),
			.delivered = s.account.delivered,
		};
	fl_session_close(&s);
	return err;
}

/* Round `i`: each kind of run once, so that what changes with time changes all. */
static int run_round(struct rig *g, unsigned i)
{
	struct taken t;

	if (run_alone(g, i) || run_with_flick(g, FL_ACT_WORD, &unread, &t))
		return -1;
	g->rows[FL_COST_WORD][i] = t.wall;
	if (run_with_flick(g, FL_ACT_TIME, &unread, &t))
		return -1;
	g->rows[FL_COST_ENQUEUE][i] = t.wall;
	if (run_with_flick(g, FL_ACT_TIME, &reads, &t))
		return -1;
	g->rows[FL_COST_READ][i] = t.wall;
	g->rows[FL_COST_CPU_READ][i] = t.cpu;
	if (run_with_flick(g, FL_ACT_TIME, NULL, &t))
		return -1;
	g->rows[FL_COST_CONCURRENT][i] = t.all;
	g->rows[FL_COST_CPU_CONCURRENT][i] = t.cpu;
	g->events[i] = (double)t.delivered;
	if (!fl_cost_has_inline(g->r))
		return 0;
	if (run_with_flick(g, FL_ACT_COUNT, &unread, &t))
		return -1;
	g->rows[FL_COST_COUNTED][i] = t.wall;
	return 0;
}

/* ---- P: the analysis alone ----------------------------------------------- */

static int feed_all(struct fl_run *run, const struct kept *k)
{
	const struct flick_record *at = k->records;
	int err = 0;

	for (size_t i = 0; !err && i < k->n_pieces; i++) {
		const struct piece *p = &k->pieces[i];

		err = p->is_end ? fl_run_thread_end(run, p->thread) :
		      fl_run_feed(run, &(struct fl_batch){ .thread = p->thread,
						.records = at, .n = p->n });
		at += p->n;
	}
	return err ? err : fl_run_end(run);
}

/* CPU seconds that the analyses take for one event of what was kept. */
static int analyse(const struct rig *g, struct fl_session *s, const struct kept *k,
		   double *each)
{
	struct fl_instant begin;
	struct fl_run *run;
	int err = fl_run_open(&run, g->s.analyses, g->s.n_analyses, &s->view);

	if (err)
		return err;
	begin = fl_instant_now();
	err = feed_all(run, k);
	*each = seconds(begin.cpu_ns, fl_instant_now().cpu_ns) / (double)k->n;
	fl_run_close(run);
	return err;
}

static int analyse_kept(struct rig *g, struct fl_session *s, const struct kept *k)
{
	int err = 0;

	if (!k->n) {
		fl_say("%s reached no probe: there is no cost to measure", g->s.argv[0]);
		return -1;
	}
	for (unsigned i = 0; !err && i < g->o->runs; i++)
		err = analyse(g, s, k, &g->rows[FL_COST_P][i]);
	if (err)
		fl_say("the analysis failed: %s", fl_reason(err));
	g->r->ns_per_tick = s->view.ns_per_tick;
	return err;
}

/* The first run: what is wrong with program or patterns shows here. */
static int run_analysis_alone(struct rig *g)
{
	struct kept k = { .records = malloc(KEEP_BYTES) };
	const struct fl_sink sink = { &k, keep, NULL, keep_end };
	struct fl_session s;
	int err;

	if (!k.records) {
		fl_say("out of memory for %u MB of events", KEEP_BYTES >> 20);
		return -1;
	}
	err = run_session(g, &s, FL_ACT_TIME, &sink);
	if (!err)
		err = analyse_kept(g, &s, &k);
	fl_session_close(&s);
	free_kept(&k);
	return err;
}

/* ---- numbers ------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct fl_spread spread_of(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return (struct fl_spread){ (v[(n - 1) / 2] + v[n / 2]) / 2, v[0], v[n - 1] };
}

static void count_events(struct rig *g)
{
	struct fl_spread s = spread_of(g->events, g->o->runs);

	g->r->events = (uint64_t)s.median;
	g->r->least_events = (uint64_t)s.min;
	g->r->most_events = (uint64_t)s.max;
}

/* That flick or the program may run on. */
static unsigned count_cpus(const struct fl_session_options *o)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	if (o->cpus_are_set)
		CPU_OR(&set, &set, &o->target_cpus);
	return (unsigned)CPU_COUNT(&set);
}

/* Half of how far apart the runs lay that a verdict is made of. */
static double noise_of(const struct fl_spread rows[])
{
	static const enum fl_cost_row made_of[] = { FL_COST_WORD, FL_COST_CONCURRENT,
						    FL_COST_P, FL_COST_COUNTED };
	double most = 0;

	for (size_t i = 0; i < ARRAY_LEN(made_of); i++) {
		double half = (rows[made_of[i]].max - rows[made_of[i]].min) / 2;

		most = half > most ? half : most;
	}
	return most;
}

/* The reader's CPU time is P + P_c; where P alone took as long P_c is nothing. */
static struct fl_cost cost_of(const struct fl_spread rows[], double threads,
			      unsigned cpus)
{
	double p = rows[FL_COST_P].median, cpu = rows[FL_COST_CPU_CONCURRENT].median;

	return (struct fl_cost){
		.a = rows[FL_COST_ALONE].median,
		.a_i = rows[FL_COST_WORD].median - rows[FL_COST_ALONE].median,
		.a_q = rows[FL_COST_ENQUEUE].median - rows[FL_COST_WORD].median,
		.p = p, .p_c = cpu > p ? cpu - p : 0,
		.threads = threads > ONE_THREAD ? threads : 1,
		.cpus = cpus,
	};
}

static void conclude(struct rig *g)
{
	struct fl_cost_result *r = g->r;
	unsigned n = g->o->runs;

	count_events(g);
	for (unsigned i = 0; i < n; i++)
		g->rows[FL_COST_P][i] *= (double)r->events;
	for (size_t row = 0; row < FL_COST_ROWS; row++)
		r->rows[row] = spread_of(g->rows[row], n);
	r->cost = cost_of(r->rows, spread_of(g->threads, n).median, count_cpus(&g->s));
	r->model = fl_cost_model(&r->cost);
	r->e_s = fl_cost_has_inline(r) ? r->rows[FL_COST_COUNTED].median : r->model.e_s;
	r->noise = noise_of(r->rows);
	r->cheaper = fl_cost_judge(r->e_s, r->rows[FL_COST_CONCURRENT].median,
				   r->noise, r->cost.cpus);
}

/* ---- all of it ----------------------------------------------------------- */

/* A file is read again in each run; of a pipe or a terminal there is but one. */
static int open_stdio(struct rig *g)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct stat st;

	if (nothing < 0) {
		fl_say("/dev/null: %s", strerror(errno));
		return -1;
	}
	g->stdio[0] = g->stdio[1] = g->stdio[2] = nothing;
	g->r->stdin_is_file = !fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode);
	if (g->r->stdin_is_file) {
		g->stdio[0] = STDIN_FILENO;
		g->stdin_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	}
	g->s.stdio = g->stdio;
	return nothing;
}

static int run_all(struct rig *g)
{
	struct sigaction on = { .sa_handler = on_child,
				.sa_flags = SA_RESTART | SA_NOCLDSTOP }, before;
	int err;

	sigaction(SIGCHLD, &on, &before);
	err = run_analysis_alone(g);
	for (unsigned i = 0; !err && i < g->o->runs; i++)
		err = run_round(g, i);
	sigaction(SIGCHLD, &before, NULL);
	if (g->on_terminal)
		fputs("\033[K", stderr);
	return err;
}

int fl_cost_measure(const struct fl_cost_options *o, struct fl_cost_result *r,
		    struct fl_account *account)
{
	struct rig *g = calloc(1, sizeof(*g));
	int nothing, err = -1;

	*r = (struct fl_cost_result){ .o = o };
	if (!g) {
		fl_say("out of memory");
		return FL_EXIT_FAILED;
	}
	g->o = o;
	g->r = r;
	g->s = o->session;
	g->s.quiet = true;
	g->on_terminal = isatty(STDERR_FILENO);
	nothing = open_stdio(g);
	if (nothing >= 0) {
		err = run_all(g);
		close(nothing);
	}
	if (!err)
		conclude(g);
	*account = g->account;
	free(g);
	return err ? FL_EXIT_FAILED : account->lost ? FL_EXIT_LOST : FL_EXIT_WELL;
}
