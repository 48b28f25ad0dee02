/*
 * lines.c - where functions of the program begin in its sources.
 *
 * The tables that say it are as large as all else in a program, and take longer to read
 * than many programs run. So a thread looks lines up while the program runs, and what was
 * found is kept by build id for the next run (kept.c): a file's first run pays, as with the
 * scan. Lines that the thread did not want are looked up when they are asked for, and kept as
 * well. Nothing is kept of a file whose lines are in another file, which may come and go. The
 * program comes first: the thread has what it leaves of the processors.
 *
 * A file of lines: their number; for each where its function is, and its line with the
 * place of its source among the texts behind them, plus one, or 0.
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/functions.h"
#include "session/kept.h"
#include "session/lines.h"

enum {
	FEW = 256,			/* functions: soon looked up */
	MOST = 64 << 20			/* bytes of a file: memory is the program's */
};

struct known {
	uint64_t at;			/* ELF address of a function */
	const char *file;		/* NULL: nothing says it */
	int line;
};

struct fl_lines {
	struct fl_kept_file *kept;		/* NULL: nothing is kept */
	struct fl_symbols *symbols;
	const char *path;		/* of the program */
	uint64_t *words;		/* that were kept; NULL: none */
	struct table {
		struct known *of;	/* ascending until n_sorted, no two at one place */
		size_t n, n_sorted;
	} known, added;			/* known: by the words */
	uint64_t *wanted;		/* of the thread */
	size_t n_wanted;
	pthread_t thread;
	bool has_thread;
	bool is_over;			/* the program has ended: leave the rest */
};

static void sort(struct table *t)
{
	fl_rows_sort(t->of, t->n, sizeof(*t->of));
	t->n_sorted = t->n;
}

static const struct known *find(const struct table *t, uint64_t at)
{
	size_t i = fl_rows_from(t->of, t->n_sorted, sizeof(*t->of), at);

	return i && t->of[i - 1].at == at ? &t->of[i - 1] : NULL;
}

/* NULL: no memory. */
static const struct known *look_up(struct fl_lines *l, uint64_t at)
{
	struct table *t = &l->added;

	if (fl_array_room(&t->of, t->n, sizeof(*t->of)))
		return NULL;
	t->of[t->n] = (struct known){ .at = at };
	t->of[t->n].file = fl_symbols_line(l->symbols, l->path, at, &t->of[t->n].line);
	return &t->of[t->n++];
}

/* ---- what was kept ------------------------------------------------------------------- */

/* False: the words are no file of lines. Lines ascend, and their texts end. */
static bool take_lines(struct fl_lines *l, uint64_t n)
{
	const uint64_t rows = l->words[0], *row = l->words + 1;
	struct table *t = &l->known;
	const char *texts;
	uint64_t bytes;

	if (!rows || rows > (n - 1) / 2)
		return false;
	texts = (const char *)(row + 2 * rows);
	bytes = (n - 1 - 2 * rows) * sizeof(*row);
	t->of = calloc(rows, sizeof(*t->of));
	if (!t->of || (bytes && texts[bytes - 1]))
		return false;
	for (; t->n < rows; t->n++, row += 2) {
		uint64_t text = (uint32_t)row[1];

		if (text > bytes || (t->n && row[0] <= row[-2]))
			return false;
		t->of[t->n] = (struct known){ row[0], text ? texts + text - 1 : NULL,
					     (int)(row[1] >> 32 & INT_MAX) };
	}
	t->n_sorted = t->n;
	return true;
}

static void take_kept(struct fl_lines *l)
{
	uint64_t n;

	if (!l->kept || !fl_kept_find(l->kept, &n) || n > MOST / sizeof(*l->words) ||
	    !(l->words = malloc(n * sizeof(*l->words))))
		return;
	if (!fl_kept_read(l->kept, l->words) || !take_lines(l, n)) {
		free(l->known.of);
		l->known = (struct table){ 0 };
	}
}

/* ---- what is to be kept --------------------------------------------------------------- */

struct texts {
	struct fl_hash places;
	const char **all;
	uint32_t *place;		/* of each, plus one */
	size_t n, bytes;
};

/* 0: no memory. */
static uint32_t place_of(struct texts *t, const char *text)
{
	uint32_t hash = fl_hash_text(0, text);

	for (uint32_t from = hash, i; (i = fl_hash_next(&t->places, hash, &from));)
		if (!strcmp(t->all[i - 1], text))
			return t->place[i - 1];
	if (fl_array_room(&t->all, t->n, sizeof(*t->all)) ||
	    fl_array_room(&t->place, t->n, sizeof(*t->place)) ||
	    fl_hash_put(&t->places, hash, (uint32_t)t->n + 1))
		return 0;
	t->all[t->n] = text;
	t->place[t->n] = (uint32_t)t->bytes + 1;
	t->bytes += strlen(text) + 1;
	return t->place[t->n++];
}

/* Put the rows of both tables, which are sorted, and have none in common. */
static bool put_rows(const struct fl_lines *l, uint64_t *row, struct texts *t)
{
	for (size_t i = 0, k = 0; i < l->known.n || k < l->added.n;) {
		bool is_known = k == l->added.n ||
				(i < l->known.n && l->known.of[i].at < l->added.of[k].at);
		const struct known *of = is_known ? &l->known.of[i++] : &l->added.of[k++];
		uint32_t place = of->file ? place_of(t, of->file) : 0;

		if (of->file && !place)
			return false;
		*row++ = of->at;
		*row++ = (uint64_t)(uint32_t)of->line << 32 | place;
	}
	return true;
}

static void write_words(struct fl_lines *l)
{
	const size_t rows = l->known.n + l->added.n, head = 1 + 2 * rows;
	uint64_t *words = malloc(head * sizeof(*words)), *whole = NULL;
	struct texts t = { .n = 0 };
	size_t n;

	if (words && put_rows(l, words + 1, &t)) {
		n = head + (t.bytes + sizeof(*words) - 1) / sizeof(*words);
		whole = realloc(words, n * sizeof(*words));
	}
	if (whole) {
		words = whole;
		words[0] = rows;
		if (t.bytes)
			words[n - 1] = 0;
		for (size_t i = 0; i < t.n; i++)
			strcpy((char *)(words + head) + t.place[i] - 1, t.all[i]);
		fl_kept_write(l->kept, words, n);
	}
	free(words);
	free(t.all);
	free(t.place);
	fl_hash_free(&t.places);
}

/* ---- beside the program ----------------------------------------------------------------- */

enum { NICE = 10 };			/* the program comes first */

static void *look_up_all(void *lines)
{
	struct fl_lines *l = lines;

	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	take_kept(l);
	for (size_t i = 0; i < l->n_wanted && !load_relaxed(&l->is_over); i++)
		if (!find(&l->known, l->wanted[i]))
			look_up(l, l->wanted[i]);
	return NULL;
}

void fl_lines_open(struct fl_session *s)
{
	struct fl_lines *l = calloc(1, sizeof(*l));

	if (!l)
		return;
	l->symbols = s->functions.symbols;
	l->path = s->launch.file;
	l->kept = fl_kept_open(&s->launch, "lines 1");
	s->lines = l;
}

static bool is_small(const char *path)
{
	struct stat st;

	return !stat(path, &st) && st.st_size <= MOST;
}

/* The thread looks up the program's own functions that have probes. */
static void want(struct fl_lines *l, const struct fl_session *s)
{
	const struct fl_functions *r = &s->functions;
	unsigned char *is_there = calloc(r->n + 1, 1);

	l->wanted = malloc((r->n + 1) * sizeof(*l->wanted));
	for (uint32_t i = 0; is_there && l->wanted && i < s->chosen.n; i++) {
		uint32_t f = r->function_of[i];

		if (!s->chosen.marks[i] || is_there[f])
			continue;
		is_there[f] = true;
		if (!strcmp(fl_functions_module(r, r->all[f].module)->path, l->path))
			l->wanted[l->n_wanted++] = r->all[f].at;
	}
	free(is_there);
}

void fl_lines_begin(struct fl_session *s)
{
	struct fl_lines *l = s->lines;

	if (!l || l->wanted || !is_small(l->path))
		return;
	want(l, s);
	l->has_thread = !pthread_create(&l->thread, NULL, look_up_all, l);
}

void fl_lines_end(struct fl_lines *l)
{
	if (!l || !l->has_thread)
		return;
	store_relaxed(&l->is_over, !l->kept);	/* else once, for all runs */
	pthread_join(l->thread, NULL);
	l->has_thread = false;
	sort(&l->added);
}

const char *fl_lines_find(struct fl_lines *l, struct fl_symbols *symbols, const char *path,
			  uint64_t at, int *line)
{
	const struct known *of;

	if (!l || strcmp(path, l->path))
		return fl_symbols_line(symbols, path, at, line);
	of = find(&l->known, at);
	if (!of)
		of = find(&l->added, at);
	if (!of)
		of = look_up(l, at);
	if (of)
		*line = of->line;
	return of ? of->file : NULL;
}

void fl_lines_close(struct fl_session *s)
{
	struct fl_lines *l = s->lines;

	if (!l)
		return;
	fl_lines_end(l);
	if (l->kept && l->added.n && l->known.n + l->added.n >= FEW &&
	    fl_symbols_lines_are_own(l->symbols, l->path)) {
		sort(&l->added);
		write_words(l);
	}
	fl_kept_close(l->kept);
	free(l->words);
	free(l->known.of);
	free(l->added.of);
	free(l->wanted);
	free(l);
	s->lines = NULL;
}
