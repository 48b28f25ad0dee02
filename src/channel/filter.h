/*
 * filter.h - private to channel/: which window a record lies in.
 */
#ifndef FL_CHANNEL_FILTER_H
#define FL_CHANNEL_FILTER_H

#include "channel/channel.h"

struct fl_filter {	/* a reader's copy of all edges */
	uint64_t *edges;
	uint32_t *rates;		/* index: window */
	size_t n, room;
};

struct fl_cursor {	/* where a thread's last record was */
	size_t edge;			/* edges that are not behind it */
	bool is_in;			/* it lies in a window */
};

/* Records in a row that lie in one window, or all in none. */
struct fl_sifted {
	size_t n, events;		/* a record of the caller is no event */
	bool is_in;
	struct fl_window window;
};

/* Take in new edges. True when the window of each record that was loaded before this
 * call is known: see probe/window.c; nothing is announced any more when `target_gone`. */
bool fl_filter_look(struct fl_filter *, struct fl_region *, bool target_gone);
/* The first run of such records, among `n`, n > 0. */
struct fl_sifted fl_filter_next(const struct fl_filter *, struct fl_cursor *,
			       const struct flick_record *, size_t n);
void fl_filter_free(struct fl_filter *);

/* ---- how much of the time (pace.c) -------------------------------------------- */

struct fl_pace {
	uint32_t calm, patience;
};
/* The next rate, where `rate` leaves the fullest ring `full` thousandths full. */
uint32_t fl_pace_next(struct fl_pace *, uint32_t rate, uint32_t full);

#endif
