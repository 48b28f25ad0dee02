/*
 * negotiation.h - private to session/: the target asks for new sites (negotiation.c).
 */
#ifndef FL_NEGOTIATION_H
#define FL_NEGOTIATION_H

#include "session/session.h"

/* Answer the target when it asks (negotiation.c). Returns whether it asked. */
bool fl_negotiation_answer(struct fl_session *);
bool fl_negotiation_started(const struct fl_session *);
/* Do samples suffice where there are no probes, because no option asks for anything else? */
bool fl_negotiation_samples_do(const struct fl_session_options *);
/* Nothing of flick's comes into the program, so it will never ask. skip: says so, and goes on
 * as if it had asked; say_no_samples: nothing can be told of it: says so, and returns -1. */
void fl_negotiation_skip(struct fl_session *);
int fl_negotiation_say_no_samples(const struct fl_session *);
/* takes: does another selection take the function of site `i`? ask_again: the session's own
 * selection has changed, for functions to come. */
bool fl_negotiation_takes(struct fl_session *, struct fl_selection *, uint32_t i);
void fl_negotiation_ask_again(struct fl_session *);
/* Has all that is wanted been refused? Then it is said. */
bool fl_negotiation_came_to_nothing(struct fl_session *);
/* No process will ask any more: say what is wrong with the sites that all have brought. */
void fl_negotiation_close(struct fl_session *);

#endif
