/*
 * ctl-client.h - private to ctl.c and ctl-answer.c: who asks the recorder, and what is said.
 */
#ifndef FL_CTL_CLIENT_H
#define FL_CTL_CLIENT_H

#include "session/change/ctl.h"

enum { FL_CTL_CLIENTS = 32 };

struct fl_ctl_client {
	int fd;				/* -1: none; a fuzzer's is -2 */
	char in[FL_CTL_LINE];
	size_t n_in;
	char *out;
	size_t n_out, room_out;
	bool has_ended;			/* it says nothing more */
	bool is_over;			/* no more is answered; it goes when `out` is written */
	bool owns;			/* it began a change of its own */
	enum fl_ctl_waiting {
		FL_CTL_NOTHING, FL_CTL_BEGIN, FL_CTL_ANSWER, FL_CTL_RESULT
	} waits;
	uint32_t answers;		/* so many come before the one to its commit */
	char *text;			/* of the session that is to begin, or whose result it
					 * waits for: a request's end; NULL */
	bool has_session;		/* a session began with it, and ends with it */
	uint64_t since_ns;		/* it was last heard, or asked */
};

struct fl_ctl {
	struct fl_session *s;
	int fd;				/* -1: nobody can ask */
	char path[108];
	struct fl_ctl_client clients[FL_CTL_CLIENTS];
	uint32_t n;			/* clients that are there */
	uint64_t look_ns;
};

/* Say one line of an answer. */
void fl_ctl_reply(struct fl_ctl_client *, const char *line);
/* Answer a request, or begin to: then the client waits. */
void fl_ctl_answer_line(struct fl_ctl *, struct fl_ctl_client *, char *text);
/* Has the program answered the client's commit? What is said then, of a session that is to
 * begin, and of a result. */
bool fl_ctl_is_answered(const struct fl_ctl *, const struct fl_ctl_client *);
void fl_ctl_end_commit(struct fl_ctl *, struct fl_ctl_client *);
void fl_ctl_begin_session(struct fl_ctl *, struct fl_ctl_client *);
void fl_ctl_end_result(struct fl_ctl *, struct fl_ctl_client *);
/* What a session has seen. 0, or -1 and a refusal was said. */
int fl_ctl_tell_table(struct fl_ctl *, struct fl_ctl_client *, const char *name);

#endif
