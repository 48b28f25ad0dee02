/*
 * to-flame.c - a flame graph: one SVG that needs nothing else, with a script in
 * it that searches and zooms (flame.js).
 *
 * A frame is a calling context; it is as wide as the time in it, and stands on its
 * caller's frame. Times add up from self times, so times that are not known (calls
 * without a known end) leave no gaps.
 */
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

#define WIDTH 1200
#define LEFT 10
#define TOP 64
#define BOTTOM 12
#define ROW 17
#define MAX_DEPTH 600			/* deeper frames are not drawn */
#define FINEST 20000			/* drawn from 1/FINEST on: 0.1 pixel of a wide window */

/* flame.js, with a NUL behind it. */
__asm__(".pushsection .rodata\n"
	".global fl_flame_js\n"
	"fl_flame_js: .incbin \"src/report/flame.js\"\n"
	".byte 0\n"
	".popsection\n");
extern const char fl_flame_js[];

/* Where each row of the tree is drawn. */
struct place {
	uint64_t x, w;			/* ns */
	uint64_t next;			/* where its next child begins */
	uint32_t parent;		/* 1 + index; 0: none */
};

struct flame {
	const struct fl_sheet *tree;
	struct place *places;
	uint64_t total;
	uint32_t deepest;		/* depth of frames that are wide enough to see */
};

/* ---- layout ----------------------------------------------------------------------- */

static int find_parents(struct flame *f)
{
	const struct flick_rows *r = f->tree->result;
	uint32_t *at = calloc(r->n_rows + 2, sizeof(*at));

	for (size_t i = 0; at && i < r->n_rows; i++) {
		uint32_t depth = f->tree->depth[i];

		f->places[i].parent = at[depth];
		at[depth + 1] = (uint32_t)i + 1;
	}
	free(at);
	return at ? 0 : -1;
}

static bool is_seen(const struct flame *f, size_t i)
{
	return f->places[i].w && f->places[i].w >= f->total / FINEST;
}

/* Rows of children come after their parents' rows, so widths add up from the last row. */
static void lay_out(struct flame *f)
{
	const struct flick_rows *r = f->tree->result;
	int self = fl_sheet_column(r, "self_ns");
	uint64_t next = 0;

	for (size_t i = r->n_rows; i-- > 0;) {
		uint64_t ns = r->cells[i * r->n_columns + (size_t)self];
		struct place *p = &f->places[i];

		p->w += ns == FLICK_NONE ? 0 : ns;
		*(p->parent ? &f->places[p->parent - 1].w : &f->total) += p->w;
	}
	for (size_t i = 0; i < r->n_rows; i++) {
		struct place *p = &f->places[i];
		uint64_t *from = p->parent ? &f->places[p->parent - 1].next : &next;

		p->x = p->next = *from;
		*from += p->w;
		if (is_seen(f, i) && f->tree->depth[i] > f->deepest)
			f->deepest = f->tree->depth[i];
	}
}

/* ---- text -------------------------------------------------------------------------- */

/* As fl_character(), but 0 also for characters that XML cannot hold or people cannot see. */
static size_t xml_character(const char *s)
{
	size_t n = fl_character(s);

	return n && fl_is_printable(fl_code_point(s, n)) ? n : 0;
}

static void print_xml(FILE *to, const char *s)
{
	size_t n;

	for (; *s; s += n ? n : 1) {
		n = xml_character(s);
		if (n == 0)
			fputs(FL_NO_CHARACTER, to);
		else if (*s == '<')
			fputs("&lt;", to);
		else if (*s == '>')
			fputs("&gt;", to);
		else if (*s == '&')
			fputs("&amp;", to);
		else
			fwrite(s, 1, n, to);
	}
}

/* ---- drawing ------------------------------------------------------------------------ */

/* A warm colour, the same for the same name. */
static unsigned colour_of(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return (205 + h % 50) << 16 | (80 + (h >> 8) % 150) << 8 | ((h >> 16) % 55);
}

static uint64_t cell(const struct flick_rows *r, size_t row, const char *column)
{
	int c = fl_sheet_column(r, column);

	return c < 0 ? 0 : r->cells[row * r->n_columns + (size_t)c];
}

static void print_title(FILE *to, const struct flame *f, size_t i, const char *name)
{
	const struct flick_rows *r = f->tree->result;
	uint64_t unsure = cell(r, i, "unsure");
	const char *what = fl_sheet_column(r, "calls") < 0 ? "samples" : "calls";
	char time[32];

	fl_text_time(time, f->places[i].w);
	fputs("<title>", to);
	print_xml(to, name);
	fprintf(to, "\n%s, %.2f %%, %llu %s", time + strspn(time, " "),
		100.0 * (double)f->places[i].w / (double)f->total,
		(unsigned long long)cell(r, i, what), what);
	if (unsure)
		fprintf(to, ", of %llu of them the caller is not certain",
			(unsigned long long)unsure);
	fputs("</title>", to);
}

static void print_frame(FILE *to, const struct flame *f, size_t i, uint32_t rows)
{
	const struct flick_rows *r = f->tree->result;
	const struct place *p = &f->places[i];
	const char *name = fl_sheet_text(f->tree, (size_t)fl_sheet_column(r, "function"),
					 cell(r, i, "function"));
	double scale = (double)(WIDTH - 2 * LEFT) / (double)f->total;
	uint32_t depth = f->tree->depth[i];
	int y = TOP + (int)(rows - 1 - depth) * ROW;
	int letters = (int)(((double)p->w * scale - 4) / 7.3);

	fprintf(to, "<g class=\"f\" data-x=\"%llu\" data-w=\"%llu\" data-d=\"%u\">",
		(unsigned long long)p->x, (unsigned long long)p->w, depth);
	print_title(to, f, i, name);
	fprintf(to, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
		"fill=\"#%06x\"/><text x=\"%.2f\" y=\"%d\">",
		LEFT + (double)p->x * scale, y, (double)p->w * scale, ROW - 1,
		colour_of(name), LEFT + (double)p->x * scale + 3, y + 12);
	if ((size_t)(letters > 0 ? letters : 0) >= strlen(name))
		print_xml(to, name);
	fputs("</text></g>\n", to);
}

static void print_head(struct fl_dump *d, const struct flame *f, uint32_t rows)
{
	uint32_t height = TOP + rows * ROW + BOTTOM;

	fprintf(d->to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\" data-total=\"%llu\">\n<title>", WIDTH, height, WIDTH,
		height, (unsigned long long)f->total);
	print_xml(d->to, d->title);
	fputs("</title>\n<style>\n"
	      "svg { background: #fff; font: 12px monospace; }\n"
	      ".f { cursor: pointer; } .f:hover rect { stroke: #000; }\n"
	      ".f text { pointer-events: none; } .dim { opacity: 0.45; }\n"
	      ".hit rect { fill: #d060ff; }\n"
	      "#reset { cursor: pointer; text-decoration: underline; }\n"
	      "</style>\n", d->to);
	fprintf(d->to, "<text x=\"%d\" y=\"20\" font-weight=\"bold\">", LEFT);
	print_xml(d->to, d->title);
	fprintf(d->to, "</text>\n<text id=\"reset\" class=\"right\" data-right=\"200\" "
		"x=\"%d\" y=\"20\" text-anchor=\"end\">reset zoom</text>\n"
		"<text id=\"matched\" class=\"right\" data-right=\"300\" x=\"%d\" y=\"20\" "
		"text-anchor=\"end\"></text>\n<foreignObject class=\"right\" "
		"data-right=\"190\" x=\"%d\" y=\"4\" width=\"180\" height=\"24\">"
		"<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" type=\"text\" "
		"placeholder=\"search\" title=\"a regular expression\" "
		"style=\"width: 170px\"/></foreignObject>\n<text id=\"detail\" x=\"%d\" "
		"y=\"46\">click a frame to zoom, Escape to see all</text>\n", WIDTH - 200,
		WIDTH - 300, WIDTH - 190, LEFT);
}

static void draw(struct fl_dump *d, const struct flame *f)
{
	uint32_t rows = (f->deepest < MAX_DEPTH ? f->deepest : MAX_DEPTH) + 1;

	d->cut = f->deepest > MAX_DEPTH;
	print_head(d, f, rows);
	for (size_t i = 0; i < f->tree->result->n_rows; i++)
		if (f->tree->depth[i] < rows && is_seen(f, i))
			print_frame(d->to, f, i, rows);
	fprintf(d->to, "<script><![CDATA[\n%s]]></script>\n</svg>\n", fl_flame_js);
}

static int write_flame(struct fl_dump *d)
{
	struct flame f = { .tree = d->tree };
	int err;

	f.places = calloc(d->tree->result->n_rows + 1, sizeof(*f.places));
	err = f.places ? find_parents(&f) : -1;
	if (!err)
		lay_out(&f);
	if (err)
		fl_why(d->why, d->dir, "out of memory");
	else if (f.total == 0)
		err = fl_why(d->why, d->dir, "no call in its tree has a known time");
	else
		err = fl_dump_open(d);
	if (!err)
		draw(d, &f);
	free(f.places);
	return err;
}

const struct fl_dumper fl_dumper_flame = {
	.name = "flame",
	.about = "a flame graph, one SVG file with search and zoom",
	.from = FL_FROM_TREE,
	.write = write_flame,
};
