/*
 * live.h - private to cli/: flick live.
 *
 *	cmd-live.c	options, and what becomes of program and terminal
 *	live-feed.c	once a second: what is known of each function, out of the session
 *	live-change.c	switches functions on and off
 *	live-model.c	which rows there are, in which order, what is under the cursor: pure
 *	live-screen.c	draws the model, takes keys
 *	live-terminal.c	the terminal is as it was, whatever ends flick
 */
#ifndef FL_CLI_LIVE_H
#define FL_CLI_LIVE_H

#include "cli/cli.h"


/* ---- the model (live-model.c) ----------------------------------------------------- */

enum { FL_LIVE_RECENT = 8, FL_LIVE_TEXT = 64 };
#define FL_LIVE_NOBODY UINT32_MAX

enum fl_live_state {
	FL_LIVE_ABSENT,			/* no row: nobody has told of it */
	FL_LIVE_ON, FL_LIVE_OFF,
	FL_LIVE_REFUSED,		/* it cannot have a probe */
	FL_LIVE_GONE,			/* its module was unloaded */
	FL_LIVE_N_STATES
};

/* What is known of a function at one look. Counts are since the start; they may wrap, and
 * one that was an estimate may become less. */
struct fl_live_seen {
	enum fl_live_state state;
	uint64_t calls;
	uint64_t samples;		/* of the program counter, that stood in it */
	uint64_t avg_ns, p99_ns;	/* since the start; FLICK_NONE: not known */
	uint64_t recent_ns;		/* average of those timed since then; likewise */
	bool recurses;			/* its calls lie in one another: it has no total */
};

struct fl_live_row {
	struct fl_live_seen seen;
	uint64_t total_ns;		/* FLICK_NONE: not known */
	double rate;			/* calls a second, at the last look */
	double self;			/* percent of the last looks' samples; < 0: none */
	double part;			/* of samples, which older looks count less in */
	uint64_t recent[FL_LIVE_RECENT];	/* the last one last; FLICK_NONE: none timed */
};

enum fl_live_key {
	FL_LIVE_BY_SELF, FL_LIVE_BY_TOTAL, FL_LIVE_BY_RATE, FL_LIVE_BY_AVG, FL_LIVE_BY_P99,
	FL_LIVE_BY_NAME, FL_LIVE_N_KEYS
};
extern const char *const fl_live_keys[FL_LIVE_N_KEYS];	/* as an option and a title have it */

/*
 * INVARIANT	order[0 .. n_shown) are the functions that have a row and match the filter,
 *		each once, the largest first; what is equal is by function.
 *		cursor is one of them, or NOBODY where there is none.
 */
struct fl_live_model {
	struct fl_live_row *rows;	/* index: function */
	uint32_t n;
	uint32_t *order;
	uint32_t n_order, n_shown, n_known;	/* n_known: rows, shown or not */
	double samples;			/* as `part`, of all */
	enum fl_live_key key;
	bool is_reversed;
	char filter[FL_LIVE_TEXT];	/* "": all; without * ? [ any part of the name */
	uint32_t cursor;		/* a function; the first one's ... */
	bool is_moved;			/* ... until somebody has moved it */
	uint32_t top, height;		/* the first line shown, how many there are */
	const char *(*name)(const void *owner, uint32_t function);
	const void *owner;
};

/* Take what was seen of `n` functions, by function, `seconds` after the look before; since then
 * there were `samples` of all functions. 0 or -ENOMEM. */
int fl_live_take(struct fl_live_model *, const struct fl_live_seen *, uint32_t n,
		 double seconds, double samples);
/* Filter and order anew; a cursor that was moved stays on its function while that is shown.
 * 0 or -ENOMEM. */
int fl_live_arrange(struct fl_live_model *);
bool fl_live_matches(const char *name, const char *filter);
/* So many lines down, or up; scrolls. */
void fl_live_move(struct fl_live_model *, int64_t by);
/* The next function behind the cursor whose name has `text`, round the end. False: none. */
bool fl_live_search(struct fl_live_model *, const char *text);
/* Where the cursor's function stands; n_shown: nowhere. */
uint32_t fl_live_line(const struct fl_live_model *);
/* The height is another one now: the cursor stays among the lines. */
void fl_live_fit(struct fl_live_model *, uint32_t height);
void fl_live_free(struct fl_live_model *);

/* In six columns or less, ended by NUL: "1.2k", "34.5us", "-" of FLICK_NONE. */
enum { FL_LIVE_FIGURE = 8 };
void fl_live_count(char out[FL_LIVE_FIGURE], double n);
void fl_live_time(char out[FL_LIVE_FIGURE], uint64_t ns);
/* The heights, 0 to 8, of the recent latencies of a row, by their largest; 0: none timed. */
void fl_live_heights(const struct fl_live_row *, uint8_t out[FL_LIVE_RECENT]);

/* ---- what is seen (live-feed.c) ---------------------------------------------------- */

struct fl_live_status {
	double events, toggles;		/* a second, at the last look */
	uint64_t lost;
	uint32_t n_on;			/* functions */
	char cost[320];			/* the line of a recording's end, as of now */
	double seconds;			/* since the program began */
};

/* What the feed, the keys and the screen share. */
struct fl_live {
	struct fl_live_model model;
	struct fl_live_status status;
	double every;			/* seconds between two looks, or more */
	struct fl_session *s;		/* NULL: no look yet */
	struct fl_session_options *options;	/* of the session; the budget changes */
	struct fl_live_feed *feed;
	struct fl_live_screen *screen;	/* NULL: not open */
	bool has_ended;			/* the program has ended */
	uint32_t n_answers, n_asked;	/* changes that were answered; functions of the last */
	bool is_asked_on;		/* the last change was to switch functions on */
	uint64_t n_switched;		/* probes, by changes */
	const char *output;		/* the file that the program writes to */
};
/* If it is time, look, and bring the model up to date. now: in any case. True: it did. */
bool fl_live_look(struct fl_live *, struct fl_session *);
bool fl_live_look_now(struct fl_live *, struct fl_session *);
void fl_live_close(struct fl_live *);
/* Functions were switched since the last look: see their states anew. */
void fl_live_see_states(struct fl_live *);
/* Where a key's answer is written. */
struct fl_live_line {
	char *text;
	size_t room;
};
/* More of the program's CPU time for timing, or less: a line says what it is now. */
void fl_live_afford(struct fl_live *, int by, struct fl_live_line);
/* Pages of text about one function, or about nothing: what its calls took, who made them. */
void fl_live_print_spread(FILE *, struct fl_live *, uint32_t function);
void fl_live_print_callers(FILE *, struct fl_live *, uint32_t function);

/* ---- keys that switch (live-change.c) ------------------------------------------------ */

/* Switch the function under the cursor, or all that are shown: on if all of them are off, else
 * off. The line says why not. answered: it has just been done, as the line says. */
enum fl_live_which { FL_LIVE_CURSOR, FL_LIVE_ALL_SHOWN };
void fl_live_switch(struct fl_live *, enum fl_live_which, struct fl_live_line);
bool fl_live_answered(struct fl_live *, struct fl_live_line);

/* ---- the screen (live-screen.c) ---------------------------------------------------- */

/* The terminal (live-terminal.c). check: before the program starts; 0, or -1 and a line
 * printed, why there can be no screen. take: the screen is open; give: when it is closed,
 * and says what was said meanwhile. said: the last line said meanwhile, if it is new. */
int fl_live_terminal_check(void);
void fl_live_terminal_take(void);
void fl_live_terminal_give(void);
bool fl_live_terminal_said(char *line, size_t room);
/* 0, or -1 and a line printed. */
int fl_live_screen_open(struct fl_live *);
/* There is something new to draw. */
void fl_live_screen_changed(struct fl_live *);
/* Take keys, draw what has changed. False: the program is to be left. */
bool fl_live_screen_turn(struct fl_live *);
/* The same, until a key comes, or some time has passed. */
bool fl_live_screen_wait(struct fl_live *);
/* The terminal is as it was; what was said meanwhile is said now. NULL screen is fine. */
void fl_live_screen_close(struct fl_live *);

#endif
