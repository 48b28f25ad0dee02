/*
 * live-screen.c - flick live's terminal: draws the model, takes keys.
 *
 * Hides curses. Lines that were said meanwhile (fl_say()) are shown in the bottom line.
 */
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live.h"
#include "os/os.h"

enum { KEYS_NS = 10000000, WAIT_MS = 100, KEY_KILL = 21, KEY_ESCAPE = 27,
       KEY_ERASE = 127 };
enum { TITLE_LINE, HEAD_LINE, FIRST_LINE, BELOW = 2 };	/* lines of what is no row */

enum shown { PAGE_TABLE, PAGE_HELP, PAGE_SPREAD, PAGE_CALLERS, PAGE_OUTPUT };
enum prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_SEARCH };

struct fl_live_screen {
	SCREEN *terminal;
	bool is_utf8, has_colours;
	enum shown page;
	uint32_t page_of;		/* a function */
	int page_top;			/* the first line of its text that is shown */
	enum prompt prompt;
	char typed[FL_LIVE_TEXT], before[FL_LIVE_TEXT];	/* before: the filter, to go back to */
	char sought[FL_LIVE_TEXT];
	char notice[160];		/* in the bottom line until the next key */
	bool is_stale;			/* to be drawn */
	uint64_t keys_ns;		/* when to look for keys next */
};

/* ---- opening and closing -------------------------------------------------------------- */

static bool wants_colours(void)
{
	const char *no = getenv("NO_COLOR");

	return (!no || !*no) && has_colors() && start_color() == OK &&
	       use_default_colors() == OK;
}

enum { PLAIN, GREEN, YELLOW, RED };

static void set_up_curses(struct fl_live_screen *c)
{
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	c->is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	c->has_colours = wants_colours();
	if (!c->has_colours)
		return;
	init_pair(GREEN, COLOR_GREEN, -1);
	init_pair(YELLOW, COLOR_YELLOW, -1);
	init_pair(RED, COLOR_RED, -1);
}

int fl_live_screen_open(struct fl_live *l)
{
	struct fl_live_screen *c = calloc(1, sizeof(*c));

	if (!c)
		return -1;
	setlocale(LC_CTYPE, "");
	c->terminal = newterm(NULL, stdout, stdin);
	if (!c->terminal) {
		fl_say("live cannot use this terminal");
		free(c);
		return -1;
	}
	fl_live_terminal_take();
	set_up_curses(c);
	c->is_stale = true;
	l->screen = c;
	return 0;
}

void fl_live_screen_close(struct fl_live *l)
{
	struct fl_live_screen *c = l->screen;

	if (!c)
		return;
	endwin();
	delscreen(c->terminal);
	fl_live_terminal_give();
	free(c);
	l->screen = NULL;
}

/* ---- the table ----------------------------------------------------------------------- */

static const char *const states[FL_LIVE_N_STATES] = {
	[FL_LIVE_ON] = "on", [FL_LIVE_OFF] = "off", [FL_LIVE_REFUSED] = "no",
	[FL_LIVE_GONE] = "-",
};

/* Columns in their order; which are shown depends on how wide the screen is. */
enum column { C_STATE, C_RATE, C_AVG, C_P99, C_TOTAL, C_SELF, C_RECENT, N_COLUMNS };
static const struct {
	const char *title;
	int width, least;		/* of the screen, to be shown */
	enum fl_live_key key;
} columns[N_COLUMNS] = {
	[C_STATE] = { "", 3, 0, FL_LIVE_N_KEYS },
	[C_RATE] = { "calls/s", 7, 30, FL_LIVE_BY_RATE },
	[C_AVG] = { "avg", 6, 0, FL_LIVE_BY_AVG },
	[C_P99] = { "p99", 6, 64, FL_LIVE_BY_P99 },
	[C_TOTAL] = { "total", 6, 50, FL_LIVE_BY_TOTAL },
	[C_SELF] = { "self%", 5, 56, FL_LIVE_BY_SELF },
	[C_RECENT] = { "recent", FL_LIVE_RECENT, 72, FL_LIVE_N_KEYS },
};

static void draw_heads(const struct fl_live_model *m)
{
	attron(A_REVERSE);
	mvhline(HEAD_LINE, 0, ' ', COLS);
	move(HEAD_LINE, 1);
	for (int c = 0; c < N_COLUMNS; c++) {
		if (COLS < columns[c].least)
			continue;
		if (columns[c].key == m->key)
			attron(A_BOLD | A_UNDERLINE);
		printw(c == C_RECENT ? "%-*s" : "%*s", columns[c].width, columns[c].title);
		attroff(A_BOLD | A_UNDERLINE);
		addch(' ');
	}
	if (m->key == FL_LIVE_BY_NAME)
		attron(A_BOLD | A_UNDERLINE);
	addnstr("function", COLS - getcurx(stdscr));
	attroff(A_REVERSE | A_BOLD | A_UNDERLINE);
}

static void draw_recent(const struct fl_live_screen *c, const struct fl_live_row *row)
{
	static const char *const bars[] = { " ", "\u2581", "\u2582", "\u2583", "\u2584",
					    "\u2585", "\u2586", "\u2587", "\u2588" };
	static const char signs[] = " .:-=+*%#";
	uint8_t heights[FL_LIVE_RECENT];

	fl_live_heights(row, heights);
	for (size_t i = 0; i < FL_LIVE_RECENT; i++)
		if (c->is_utf8)
			addstr(bars[heights[i]]);
		else
			addch((chtype)signs[heights[i]]);
}

static void draw_cell(const struct fl_live_screen *c, const struct fl_live_row *row, int column)
{
	char text[FL_LIVE_FIGURE] = "";

	switch (column) {
	case C_STATE: snprintf(text, sizeof(text), "%s", states[row->seen.state]); break;
	case C_RATE: fl_live_count(text, row->rate); break;
	case C_AVG: fl_live_time(text, row->seen.avg_ns); break;
	case C_P99: fl_live_time(text, row->seen.p99_ns); break;
	case C_TOTAL: fl_live_time(text, row->total_ns); break;
	case C_SELF:
		snprintf(text, sizeof(text), row->self < 0 ? "-" : "%.1f", row->self);
		break;
	default: draw_recent(c, row); return;
	}
	printw(column == C_STATE ? "%-*s" : "%*s", columns[column].width, text);
}

/* Nothing in a name moves the cursor; a name that is too long is cut. */
static void draw_text(const char *text, int room)
{
	char *plain = NULL;
	size_t bytes;
	FILE *to = room > 0 ? open_memstream(&plain, &bytes) : NULL;

	if (!to)
		return;
	fl_print_cut(to, text, (size_t)room);
	if (!fclose(to))
		addnstr(plain, room * 4);
	free(plain);
}

static attr_t look_of(const struct fl_live_screen *c, const struct fl_live_row *row)
{
	if (row->seen.state != FL_LIVE_ON)
		return A_DIM;
	return c->has_colours && row->self >= 10 ? (attr_t)COLOR_PAIR(YELLOW) : A_NORMAL;
}

static void draw_row(const struct fl_live *l, uint32_t line)
{
	const struct fl_live_model *m = &l->model;
	uint32_t f = m->order[m->top + line];
	const struct fl_live_row *row = &m->rows[f];
	attr_t look = look_of(l->screen, row);

	if (f == m->cursor)
		look |= A_REVERSE;
	attron(look);
	mvhline(FIRST_LINE + (int)line, 0, ' ', COLS);
	mvaddch(FIRST_LINE + (int)line, 0, f == m->cursor ? '>' : ' ');
	for (int c = 0; c < N_COLUMNS; c++) {
		if (COLS < columns[c].least)
			continue;
		draw_cell(l->screen, row, c);
		addch(' ');
	}
	draw_text(m->name(m->owner, f), COLS - getcurx(stdscr) - 1);
	attroff(look);
}

static void draw_table(const struct fl_live *l)
{
	const struct fl_live_model *m = &l->model;

	draw_heads(m);
	for (uint32_t i = 0; i < m->height && m->top + i < m->n_shown; i++)
		draw_row(l, i);
	if (!m->n_shown)
		mvaddnstr(FIRST_LINE, 1, m->n_known ? "no function matches the filter" :
			  "no function yet", COLS - 1);
}

/* ---- pages of text -------------------------------------------------------------------- */

static void print_help(FILE *to)
{
	fputs("keys of flick live\n\n"
	      "  up down j k       move; PgUp PgDn Home End, too\n"
	      "  space a           switch on or off: the function; all that are shown\n"
	      "  s r               order by the next column; reverse it\n"
	      "  f                 filter: part of a name, or a pattern with * ? [\n"
	      "  / n               search; go on\n"
	      "  enter             how long calls of the function took\n"
	      "  c                 who called it (--all)\n"
	      "  + -               more, less of the program's CPU time for timing\n"
	      "  o                 what the program wrote last\n"
	      "  q                 leave: the program goes on, without probes\n"
	      "  ^C                end the program, as without flick; with -p leave\n\n"
	      "calls/s, self% and recent are of the last seconds, avg, p99 and total of all.\n"
	      "on: it has probes; off: it could; no: it cannot; -: it is not loaded any more.\n"
	      "recent: average times of the last looks, the last one at the right.\n", to);
}

static void print_output(FILE *to, const struct fl_live *l)
{
	enum { LAST = 16384 };
	FILE *from = l->output ? fopen(l->output, "re") : NULL;
	char line[1024];

	if (!from) {
		fprintf(to, "The program's output is not kept%s.\n",
			l->output ? "" : ": it has a terminal of its own");
		return;
	}
	if (!fseek(from, -LAST, SEEK_END) && !fgets(line, sizeof(line), from))
		rewind(from);		/* else behind a part of a line */
	while (fgets(line, sizeof(line), from))
		fputs(line, to);
	fclose(from);
}

static void print_page(FILE *to, struct fl_live *l)
{
	switch (l->screen->page) {
	case PAGE_SPREAD: fl_live_print_spread(to, l, l->screen->page_of); break;
	case PAGE_CALLERS: fl_live_print_callers(to, l, l->screen->page_of); break;
	case PAGE_OUTPUT: print_output(to, l); break;
	default: print_help(to); break;
	}
}

static const char *heading_of(const struct fl_live *l)
{
	const struct fl_live_screen *c = l->screen;

	if (c->page == PAGE_SPREAD || c->page == PAGE_CALLERS)
		return l->model.name(l->model.owner, c->page_of);
	return c->page == PAGE_OUTPUT && l->output ? l->output : "";
}

/* Draw the lines of a text that fit, from one on; of the program's output, the last ones. */
static void draw_lines(struct fl_live_screen *c, char *text)
{
	int lines = 0, room = LINES - HEAD_LINE - BELOW, most, at = 0;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	most = lines > room ? lines - room : 0;
	if (c->page_top < 0 || c->page_top > most)
		c->page_top = most;
	for (char *line, *rest = text; (line = strsep(&rest, "\n")); at++) {
		if (at < c->page_top || at - c->page_top >= room)
			continue;
		move(HEAD_LINE + at - c->page_top, 0);
		for (char *t = line; (t = strchr(t, '\t'));)
			*t = ' ';
		draw_text(line, COLS - 1);
	}
}

static void draw_page(struct fl_live *l)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return;
	print_page(to, l);
	if (!fclose(to))
		draw_lines(l->screen, text);
	free(text);
}

/* ---- what stands around ---------------------------------------------------------------- */

static void draw_title(const struct fl_live *l)
{
	const struct fl_live_model *m = &l->model;
	char line[512];

	if (l->screen->page != PAGE_TABLE)
		snprintf(line, sizeof(line), "flick live: %s", heading_of(l));
	else if (m->n_shown != m->n_known)
		snprintf(line, sizeof(line), "%s %.0f s: %u of %u functions (%s), %u on, by %s",
			 fl_base_name(l->s->o->argv[0]), l->status.seconds, m->n_shown,
			 m->n_known, m->filter, l->status.n_on, fl_live_keys[m->key]);
	else
		snprintf(line, sizeof(line), "%s %.0f s: %u functions, %u on, by %s",
			 fl_base_name(l->s->o->argv[0]), l->status.seconds, m->n_known,
			 l->status.n_on, fl_live_keys[m->key]);
	attron(A_BOLD);
	move(TITLE_LINE, 0);
	draw_text(line, COLS - 1);
	attroff(A_BOLD);
}

static void draw_status(const struct fl_live *l)
{
	char events[FL_LIVE_FIGURE], toggles[FL_LIVE_FIGURE], lost[FL_LIVE_FIGURE], line[512];

	fl_live_count(events, l->status.events);
	fl_live_count(toggles, l->status.toggles);
	fl_live_count(lost, (double)l->status.lost);
	snprintf(line, sizeof(line), "%s events/s, %s toggles/s, %s lost; cost: %s", events,
		 toggles, lost, l->status.cost);
	move(LINES - 2, 0);
	if (l->status.lost && l->screen->has_colours)
		attron(COLOR_PAIR(RED));
	draw_text(line, COLS - 1);
	attroff(COLOR_PAIR(RED));
}

static void draw_bottom(const struct fl_live *l)
{
	const struct fl_live_screen *c = l->screen;
	char line[FL_LIVE_TEXT + sizeof(c->notice)];

	if (c->prompt)
		snprintf(line, sizeof(line), "%s: %s_", c->prompt == PROMPT_FILTER ? "filter" :
			 "search", c->typed);
	else if (*c->notice)
		snprintf(line, sizeof(line), "%s", c->notice);
	else if (l->has_ended)
		snprintf(line, sizeof(line), "%s has ended; q leaves",
			 fl_base_name(l->s->o->argv[0]));
	else if (c->page != PAGE_TABLE)
		snprintf(line, sizeof(line), "any other key: back to the table");
	else
		snprintf(line, sizeof(line), "q leave  ? help  space on/off  s order  "
			 "f filter  / search  enter times");
	move(LINES - 1, 0);
	draw_text(line, COLS - 1);
}

static void draw_all(struct fl_live *l)
{
	erase();
	fl_live_fit(&l->model, LINES > FIRST_LINE + BELOW ?
		    (uint32_t)(LINES - FIRST_LINE - BELOW) : 0);
	draw_title(l);
	if (l->screen->page == PAGE_TABLE)
		draw_table(l);
	else
		draw_page(l);
	draw_status(l);
	draw_bottom(l);
	refresh();
	l->screen->is_stale = false;
}

/* ---- keys ---------------------------------------------------------------------------- */

static void arrange(struct fl_live *l)
{
	if (fl_live_arrange(&l->model))
		snprintf(l->screen->notice, sizeof(l->screen->notice), "no memory");
}

static void search_on(struct fl_live *l)
{
	struct fl_live_screen *c = l->screen;

	if (*c->sought && !fl_live_search(&l->model, c->sought))
		snprintf(c->notice, sizeof(c->notice), "no function here matches `%s`",
			 c->sought);
}

static void ask_for(struct fl_live *l, enum prompt prompt)
{
	struct fl_live_screen *c = l->screen;

	c->prompt = prompt;
	memcpy(c->before, l->model.filter, sizeof(c->before));
	*c->typed = '\0';
	if (prompt == PROMPT_FILTER)
		memcpy(c->typed, c->before, sizeof(c->typed));
}

static void end_prompt(struct fl_live *l, bool is_meant)
{
	struct fl_live_screen *c = l->screen;

	if (c->prompt == PROMPT_FILTER && !is_meant)
		memcpy(l->model.filter, c->before, sizeof(c->before));
	arrange(l);
	if (c->prompt == PROMPT_SEARCH && is_meant) {
		memcpy(c->sought, c->typed, sizeof(c->sought));
		search_on(l);
	}
	c->prompt = PROMPT_NONE;
}

/* A filter is in force while it is typed. */
static void type_key(struct fl_live *l, int key)
{
	struct fl_live_screen *c = l->screen;
	size_t n = strlen(c->typed);

	if (key == '\r' || key == '\n' || key == KEY_ENTER || key == KEY_ESCAPE) {
		end_prompt(l, key != KEY_ESCAPE);
		return;
	}
	if (key == KEY_BACKSPACE || key == '\b' || key == KEY_ERASE)
		c->typed[n ? n - 1 : 0] = '\0';
	else if (key == KEY_KILL)
		*c->typed = '\0';
	else if (key >= ' ' && key < 256 && n + 1 < sizeof(c->typed))
		memcpy(c->typed + n, (const char[2]){ (char)key, '\0' }, 2);
	if (c->prompt == PROMPT_FILTER) {
		memcpy(l->model.filter, c->typed, sizeof(c->typed));
		arrange(l);
	}
}

static void open_page(struct fl_live *l, enum shown page)
{
	bool is_of_one = page == PAGE_SPREAD || page == PAGE_CALLERS;

	if (is_of_one && l->model.cursor == FL_LIVE_NOBODY)
		return;
	l->screen->page = page;
	l->screen->page_of = l->model.cursor;
	l->screen->page_top = page == PAGE_OUTPUT ? -1 : 0;
}

static bool is_move(int key, int height, int *by)
{
	switch (key) {
	case KEY_UP: case 'k': *by = -1; break;
	case KEY_DOWN: case 'j': *by = 1; break;
	case KEY_PPAGE: *by = -height; break;
	case KEY_NPAGE: *by = height; break;
	case KEY_HOME: case 'g': *by = -INT32_MAX; break;
	case KEY_END: case 'G': *by = INT32_MAX; break;
	default: return false;
	}
	return true;
}

/* Any key goes back from a page, except those that move. */
static void turn_page(struct fl_live_screen *c, int key)
{
	int by;

	if (!is_move(key, LINES - BELOW - 1, &by))
		c->page = PAGE_TABLE;
	else
		c->page_top = by < 0 && c->page_top < -by ? 0 : by == INT32_MAX ? -1 :
			      c->page_top + by;
}

static struct fl_live_line notice_of(struct fl_live *l)
{
	return (struct fl_live_line){ l->screen->notice, sizeof(l->screen->notice) };
}

static void obey(struct fl_live *l, int key)
{
	int by;

	switch (key) {
	case '?': case 'h': case KEY_F(1): open_page(l, PAGE_HELP); return;
	case '\r': case '\n': case KEY_ENTER: open_page(l, PAGE_SPREAD); return;
	case 'c': open_page(l, PAGE_CALLERS); return;
	case 'o': open_page(l, PAGE_OUTPUT); return;
	case 'f': case '\\': ask_for(l, PROMPT_FILTER); return;
	case '/': ask_for(l, PROMPT_SEARCH); return;
	case 'n': search_on(l); return;
	case 's':
		l->model.key = (l->model.key + 1) % FL_LIVE_N_KEYS;
		arrange(l);
		return;
	case ' ':
		fl_live_move(&l->model, 0);	/* it stays there from now on */
		fl_live_switch(l, FL_LIVE_CURSOR, notice_of(l));
		return;
	case 'a': fl_live_switch(l, FL_LIVE_ALL_SHOWN, notice_of(l)); return;
	case '+': fl_live_afford(l, 1, notice_of(l)); return;
	case '-': fl_live_afford(l, -1, notice_of(l)); return;
	case 'r':
		l->model.is_reversed = !l->model.is_reversed;
		arrange(l);
		return;
	default:
		if (is_move(key, (int)l->model.height, &by))
			fl_live_move(&l->model, by);
	}
}

/* False: the program is to be left. */
static bool take_key(struct fl_live *l, int key)
{
	struct fl_live_screen *c = l->screen;

	c->is_stale = true;
	if (key == KEY_RESIZE)
		return true;
	*c->notice = '\0';
	if (c->prompt)
		type_key(l, key);
	else if (key == 'q')
		return false;
	else if (c->page != PAGE_TABLE)
		turn_page(c, key);
	else
		obey(l, key);
	return true;
}

static bool take_keys(struct fl_live *l)
{
	int key;

	while ((key = getch()) != ERR)
		if (!take_key(l, key))
			return false;
	return true;
}

bool fl_live_screen_turn(struct fl_live *l)
{
	struct fl_live_screen *c = l->screen;
	uint64_t now = fl_os_monotonic_ns();

	if (now >= c->keys_ns) {
		c->keys_ns = now + KEYS_NS;
		if (fl_live_terminal_said(c->notice, sizeof(c->notice)))
			c->is_stale = true;
		if (!take_keys(l))
			return false;
	}
	if (l->feed && fl_live_answered(l, notice_of(l))) {
		fl_live_see_states(l);
		c->is_stale = true;
	}
	if (c->is_stale)
		draw_all(l);
	return true;
}

void fl_live_screen_changed(struct fl_live *l)
{
	l->screen->is_stale = true;
}

bool fl_live_screen_wait(struct fl_live *l)
{
	int key;

	timeout(WAIT_MS);
	key = getch();
	nodelay(stdscr, TRUE);
	return (key == ERR || take_key(l, key)) && fl_live_screen_turn(l);
}
