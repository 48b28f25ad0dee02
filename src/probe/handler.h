/* handler.h - private to probe/: what is bound to probes, and who is inside of it. */
#ifndef FL_HANDLER_H
#define FL_HANDLER_H

#include "base/base.h"

/* A function of the program's own and its argument: never changed while anybody can come to
 * it (handler.c). */
struct fl_binding {
	void (*call)(uint32_t, void *);
	void *arg;
	struct fl_binding *next;	/* of its list; W any */
	struct fl_binding *later;	/* of those taken out of their lists; W who tidies, as
					 * the next */
	uint32_t seen;			/* the last look at which it was bound */
};

/* By probe id; NULL until a handler is set. */
extern struct fl_binding **fl_bindings __attribute__((visibility("hidden")));

/* What the glue of FL_ACT_CALL calls (inside.c): what is bound to probe `id`, if the program
 * wants it at this moment. */
void fl_handler_call(uint32_t id) __attribute__((visibility("hidden")));

/* The calling thread's place among those that are inside (inside.c). */
struct fl_inside;
int fl_inside_open(void);
/* From enter to leave others wait for the calling thread. It may be inside already. */
struct fl_inside *fl_inside_enter(void);
void fl_inside_leave(struct fl_inside *);
/* Wait until all who went in before this call are out: for at most wait_ms; negative: as long
 * as it takes. *turn: whoever goes in from now on has this turn or a later one. 0, -ETIMEDOUT,
 * or -EDEADLK: the caller is inside. */
int fl_inside_wait(int wait_ms, uint64_t *turn);
/* Does the program's session, or the second recorder's, want it at this moment? */
bool fl_inside_wants(uint32_t id);
/* turn: the turn of a thread that goes in now. begin_turn: begin another one, so that a thread
 * that is deciding whether to call asks again. */
uint64_t fl_inside_turn(void);
uint64_t fl_inside_begin_turn(void);

#endif
