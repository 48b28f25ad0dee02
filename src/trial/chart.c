/*
 * chart.c - failures by wait, drawn as one SVG file that needs no other file.
 *
 * READER code. Hides coordinates. Across: the wait in ticks. Up: the part of the
 * runs that failed, over all splits and executors. There is one line for each of
 * the protocols, and an upright one at T_max.
 */
#include <inttypes.h>
#include <time.h>

#include "calibrate.h"

enum { LEFT = 70, TOP = 60, WIDE = 780, HIGH = 260, FULL_WIDE = 880, FULL_HIGH = 390 };
enum { LONGEST = 10000, TICK_EVERY = 1000 };

static const char style[] =
	"text{font:13px sans-serif;fill:#222}.big{font-size:16px}"
	".grid{stroke:#ddd}.axis{stroke:#444}"
	".wait{stroke:#1a66b3;fill:none;stroke-width:2.5}"
	".jump{stroke:#e08e0b;fill:none;stroke-width:2.5}"
	".unfenced{stroke:#c0392b;fill:none;stroke-width:2.5;stroke-dasharray:6 4}"
	".max{stroke:#2e8b57;stroke-width:2}";

static double across(uint64_t wait)
{
	return LEFT + (double)WIDE * (double)(wait < LONGEST ? wait : LONGEST) / LONGEST;
}

static double up(double part)
{
	return TOP + HIGH * (1 - part);
}

static void line(FILE *to, const char *class, double x1, double y1, double x2, double y2)
{
	fprintf(to, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
		"y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

static void write_axes(FILE *to)
{
	for (int percent = 0; percent <= 100; percent += 25) {
		double y = up(percent / 100.0);

		line(to, percent ? "grid" : "axis", LEFT, y, LEFT + WIDE, y);
		fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n",
			LEFT - 8, y + 4, percent);
	}
	for (unsigned wait = 0; wait <= LONGEST; wait += TICK_EVERY) {
		line(to, "axis", across(wait), up(0), across(wait), up(0) + 5);
		fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%u</text>\n",
			across(wait), TOP + HIGH + 22, wait);
	}
	fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">wait after each "
		"store, TSC ticks</text>\n", LEFT + WIDE / 2, TOP + HIGH + 44);
}

/* The part of `way`'s runs that failed with this wait; below 0: there are no runs. */
static double failing(const struct fl_findings *f, unsigned way, uint32_t wait)
{
	uint64_t runs = 0, failed = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct fl_trial *t = &f->trials[i];

		if (t->way != way || t->wait != wait)
			continue;
		runs += t->runs;
		failed += fl_trial_failures(t);
	}
	return runs ? (double)failed / (double)runs : -1;
}

static void write_series(FILE *to, const struct fl_findings *f, unsigned way,
			 const char *class)
{
	uint32_t wait = 0;

	fprintf(to, "<polyline class=\"%s\" points=\"", class);
	do {
		double part = failing(f, way, wait);

		if (part >= 0)
			fprintf(to, "%.1f,%.1f ", across(wait), up(part));
	} while ((wait = fl_waits_next(wait)));
	fputs("\"/>\n", to);
}

static void write_legend(FILE *to, const char *class, int x, const char *text)
{
	line(to, class, x, TOP - 12, x + 30, TOP - 12);
	fprintf(to, "<text x=\"%d\" y=\"%d\">%s</text>\n", x + 38, TOP - 8, text);
}

/* The key has no letters that mean something to XML: see fl_calibration_key(). */
static void write_title(FILE *to, const struct fl_findings *f)
{
	char key[FL_CALIBRATION_KEY], day[16];
	time_t now = time(NULL);

	fl_calibration_key(key);
	strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
	fprintf(to, "<text class=\"big\" x=\"%d\" y=\"24\">Failing runs by wait: "
		"call &lt;-&gt; nop across a cache line</text>\n", LEFT);
	fprintf(to, "<text x=\"%d\" y=\"%d\" fill=\"#666\">%s | %s | executors 1 to %u | "
		"%" PRIu64 " toggles</text>\n", LEFT, FULL_HIGH - 6, key, day,
		f->executors, f->toggles);
}

void fl_chart_write(FILE *to, const struct fl_findings *f)
{
	fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n<style>%s</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		FULL_WIDE, FULL_HIGH, FULL_WIDE, FULL_HIGH, style);
	write_title(to, f);
	write_axes(to);
	write_legend(to, "wait", LEFT, "trap, a fence before each wait");
	write_legend(to, "jump", LEFT + 260, "jump, with fences");
	write_legend(to, "unfenced", LEFT + 430, "trap, without fences");
	write_series(to, f, FL_WAY_WAIT_UNFENCED, "unfenced");
	write_series(to, f, FL_WAY_WAIT_JUMP, "jump");
	write_series(to, f, FL_WAY_WAIT, "wait");
	if (f->wait_safe) {
		write_legend(to, "max", LEFT + 620, "T_max");
		line(to, "max", across(f->t_max), up(1), across(f->t_max), up(0));
	}
	fputs("</svg>\n", to);
}
