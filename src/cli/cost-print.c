/*
 * cost-print.c - the answer of flick doctor --cost, for eyes and for programs.
 */
#include "cli/cost.h"

static const char *const row_names[FL_COST_ROWS] = {
	"alone", "word", "enqueue", "read", "concurrent",
	"cpu_read", "cpu_concurrent", "analysis", "counted",
};

static const char *const row_labels[FL_COST_ROWS] = {
	"A              the program alone",
	"A+A_i          + each event to one word",
	"A+A_i+A_q      + enqueued, never read",
	"               + read, not analysed",
	"E_c            + analysed",
	"               reader's CPU time, not analysing",
	"P+P_c          reader's CPU time, analysing",
	"P              the analysis alone",
	"E_s            counted inline, as by flick count",
};

static size_t n_rows(const struct fl_cost_result *r)
{
	return fl_cost_has_inline(r) ? FL_COST_ROWS : FL_COST_COUNTED;
}

static double each_ns(const struct fl_cost_result *r, double seconds)
{
	return seconds * 1e9 / (double)(r->events ? r->events : 1);
}

static double each_ticks(const struct fl_cost_result *r, double seconds)
{
	return each_ns(r, seconds) / r->ns_per_tick;
}

/* ---- noise: what runs of one kind are apart ------------------------------ */

static double spread_of(const struct fl_cost_result *r, enum fl_cost_row row)
{
	return (r->rows[row].max - r->rows[row].min) / 2;
}

/* Of two sums that are made of measured times. */
static bool is_noise(const struct fl_cost_result *r, double difference)
{
	return difference <= r->noise && -difference <= r->noise;
}

/* ---- for eyes ------------------------------------------------------------ */

static void print_line(const struct fl_cost_result *r, const char *label, double seconds,
		       const struct fl_spread *s)
{
	char range[64] = "";

	if (s)
		snprintf(range, sizeof(range), "%.3f..%.3f", s->min, s->max);
	printf("%-48s %9.3f %17s %9.1f %9.1f\n", label, seconds, range,
	       each_ns(r, seconds), each_ticks(r, seconds));
}

static void print_head(const struct fl_cost_result *r)
{
	const struct fl_session_options *s = &r->o->session;

	printf("%s: ", s->argv[0]);
	for (size_t i = 0; i < s->n_analyses; i++)
		printf("%s%s", i ? "," : "", s->analyses[i].name);
	printf("; %u run%s of each kind, %llu events a run\n", r->o->runs,
	       r->o->runs == 1 ? "" : "s", (unsigned long long)r->events);
	if (r->most_events - r->least_events > r->events / 100)
		printf("its runs are not alike: they made from %llu to %llu events\n",
		       (unsigned long long)r->least_events,
		       (unsigned long long)r->most_events);
	printf("its input is %s, its output goes to /dev/null; %u CPU%s, %.1f at work for "
	       "it alone\n\n", r->stdin_is_file ? "the file given, from the same place each "
	       "time" : "/dev/null", r->cost.cpus, r->cost.cpus == 1 ? "" : "s",
	       r->cost.threads);
}

static void print_rows(const struct fl_cost_result *r)
{
	printf("%-48s %9s %17s %9s %9s\n", "measured", "seconds", "min..max", "ns/event",
	       "ticks");
	for (size_t i = 0; i < n_rows(r); i++)
		print_line(r, row_labels[i], r->rows[i].median, &r->rows[i]);
}

/* The difference of two rows: as large as these scatter it says nothing. */
static void print_part(const struct fl_cost_result *r, const char *label, double seconds,
		       enum fl_cost_row of, enum fl_cost_row without)
{
	double noise = spread_of(r, of) + spread_of(r, without);

	if (seconds > noise || -seconds > noise)
		print_line(r, label, seconds, NULL);
	else
		printf("%-48s %9.3f %17s\n", label, seconds, "within noise");
}

static void print_parts(const struct fl_cost_result *r)
{
	const struct fl_cost *c = &r->cost;

	printf("\n%s\n", "parts");
	print_part(r, "A_i            to make events", c->a_i, FL_COST_WORD, FL_COST_ALONE);
	print_part(r, "A_q            to enqueue them", c->a_q, FL_COST_ENQUEUE,
		   FL_COST_WORD);
	print_line(r, "P              to analyse them", c->p, NULL);
	print_part(r, "P_c            to fetch them from the other core", c->p_c,
		   FL_COST_CPU_CONCURRENT, FL_COST_P);
}

/* What holds of A_q against P, or of P_c against A. */
static void print_condition(const struct fl_cost_result *r)
{
	const struct fl_cost *c = &r->cost;
	const struct fl_model *m = &r->model;
	const char *holds = is_noise(r, m->gain) ? "is within noise" : m->pays ? "holds" :
			    "fails, unless I_ap makes up for it";
	const char *shared = c->threads > 1 ? " / threads" : "";

	if (m->dominant == FL_APPLICATION)
		printf("(7)  P%s + I_ap >= A_q: %.3f >= %.3f s %s\n", shared, m->share,
		       c->a_q, holds);
	else if (m->dominant == FL_ANALYSIS)
		printf("(10) A + A_i + I_ap >= P_c%s: %.3f >= %.3f s %s\n",
		       c->threads > 1 ? " + P - P / threads" : "", c->a + c->a_i,
		       c->p_c + c->p - m->share, holds);
	else
		printf("(7), (10) say nothing here: %s\n", c->cpus == 1 ?
		       "on one CPU nothing is concurrent" :
		       "program and analysis want more CPUs than there are");
}

static void print_model(const struct fl_cost_result *r)
{
	const struct fl_cost *c = &r->cost;
	const struct fl_model *m = &r->model;
	bool reader_first = m->e_c_a < m->e_c_p;

	printf("\nmodel (Ha et al., OOPSLA 2009, section 4)\n");
	print_line(r, c->threads > 1 ? "(1)  E_s >= A + A_i + P / threads     inline" :
		   "(1)  E_s >= A + A_i + P               inline", m->e_s, NULL);
	print_line(r, "(4)  E_c = max(A + A_i + A_q, P + P_c)", reader_first ? m->e_c_p :
		   m->e_c_a, NULL);
	if (m->dominant == FL_CPUS)
		print_line(r, "     E_c >= what both do, on all CPUs", m->e_c, NULL);
	if (is_noise(r, m->e_c_a - m->e_c_p))
		printf("(5)  A + A_i + A_q and P + P_c are the same within noise: neither "
		       "dominates\n");
	else
		printf("(5)  A + A_i + A_q %s P + P_c: the %s dominates\n",
		       reader_first ? "<" : ">=", reader_first ? "analysis" : "application");
	print_condition(r);
	printf("(8)  no gain is larger than A + A_i - P_c = %.3f s\n"
	       "I_ap, what an inline analysis costs the program's cache and registers, is "
	       "not known\nand left out: E_s is a lower bound.\n", m->most);
}

static void print_verdict(const struct fl_cost_result *r)
{
	static const char *const dominates[] = {
		[FL_APPLICATION] = "the application dominates",
		[FL_ANALYSIS] = "the analysis dominates",
		[FL_CPUS] = "the CPUs are what is short",
	};
	double a = r->cost.a, e_s = r->e_s / a;
	double e_c = r->rows[FL_COST_CONCURRENT].median / a;
	const char *least = fl_cost_has_inline(r) ? "" : "at least ";
	const char *why = r->cost.cpus == 1 ? "with one CPU concurrency cannot pay" :
			  dominates[r->model.dominant];

	if (r->cheaper == FL_CONCURRENT)
		printf("\nconcurrent is cheaper here: %.2f x against %s%.2f x inline; "
		       "%s\n", e_c, least, e_s, why);
	else if (r->cheaper == FL_INLINE)
		printf("\ninline is cheaper here: %s%.2f x against %.2f x concurrent; "
		       "%s\n", least, e_s, e_c, why);
	else
		printf("\nneither is cheaper here: %.2f x concurrent and %s%.2f x inline are "
		       "the same within noise\n", e_c, least, e_s);
}

void fl_cost_print(const struct fl_cost_result *r)
{
	print_head(r);
	print_rows(r);
	print_parts(r);
	if (r->o->verbose)
		print_model(r);
	print_verdict(r);
}

/* ---- for programs -------------------------------------------------------- */

static void put_number(const char *name, double v)
{
	printf("\"%s\": %.9g", name, v);
}

static void put_words(const char *name, char **words)
{
	printf("\"%s\": [", name);
	for (size_t i = 0; words[i]; i++) {
		fputs(i ? ", " : "", stdout);
		fl_json_string(stdout, words[i]);
	}
	fputs("],\n  ", stdout);
}

static void put_analyses(const struct fl_session_options *s)
{
	printf("\"analyses\": [");
	for (size_t i = 0; i < s->n_analyses; i++) {
		fputs(i ? ", " : "", stdout);
		fl_json_string(stdout, s->analyses[i].name);
	}
	fputs("],\n  ", stdout);
}

static void put_rows(const struct fl_cost_result *r)
{
	printf("\"measured\": {");
	for (size_t i = 0; i < n_rows(r); i++)
		printf("%s\n    \"%s\": {\"median\": %.9g, \"min\": %.9g, \"max\": %.9g, "
		       "\"ns_per_event\": %.9g, \"ticks_per_event\": %.9g}", i ? "," : "",
		       row_names[i], r->rows[i].median, r->rows[i].min, r->rows[i].max,
		       each_ns(r, r->rows[i].median), each_ticks(r, r->rows[i].median));
	printf("\n  },\n  ");
}

static void put_numbers(const char *name, const char *const *names, const double *v,
			size_t n)
{
	printf("\"%s\": {", name);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", stdout);
		put_number(names[i], v[i]);
	}
	fputs("},\n  ", stdout);
}

static void put_model(const struct fl_cost_result *r)
{
	static const char *const parts[] = { "A", "A_i", "A_q", "P", "P_c" };
	static const char *const sums[] = { "E_s", "E_c_application", "E_c_analysis",
					    "E_c_cpus", "E_c", "gain", "gain_at_most" };
	const struct fl_cost *c = &r->cost;
	const struct fl_model *m = &r->model;

	put_numbers("parts", parts, (const double[]){ c->a, c->a_i, c->a_q, c->p, c->p_c },
		    ARRAY_LEN(parts));
	put_numbers("model", sums, (const double[]){ m->e_s, m->e_c_a, m->e_c_p, m->all,
						     m->e_c, m->gain, m->most },
		    ARRAY_LEN(sums));
	printf("\"dominates\": \"%s\",\n  \"condition\": \"%s\", \"condition_holds\": %s,\n  ",
	       fl_dominant_names[m->dominant], m->dominant == FL_APPLICATION ? "7" :
	       m->dominant == FL_ANALYSIS ? "10" : "none", m->pays ? "true" : "false");
}

/* All times in seconds. */
void fl_cost_print_json(const struct fl_cost_result *r)
{
	printf("{\n  ");
	put_words("command", r->o->session.argv);
	put_analyses(&r->o->session);
	printf("\"runs\": %u, \"events\": %llu, \"least_events\": %llu, "
	       "\"most_events\": %llu,\n  \"status\": %d, \"stdin\": \"%s\", "
	       "\"cpus\": %u, ", r->o->runs, (unsigned long long)r->events,
	       (unsigned long long)r->least_events, (unsigned long long)r->most_events,
	       r->status, r->stdin_is_file ? "file" : "null", r->cost.cpus);
	put_number("threads", r->cost.threads);
	fputs(", ", stdout);
	put_number("ns_per_tick", r->ns_per_tick);
	fputs(",\n  ", stdout);
	put_rows(r);
	put_model(r);
	put_number("noise", r->noise);
	printf(", \"cheaper\": \"%s\"\n}\n", fl_cheaper_names[r->cheaper]);
}
