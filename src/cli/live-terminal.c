/*
 * live-terminal.c - the terminal of flick live is as it was, whatever ends flick.
 *
 * Closing the screen puts the terminal back. For a fault of flick's own, a handler writes what
 * was made ready when the screen was opened. Lines that are said meanwhile (fl_say()) would be
 * written over the table: they are kept in a memory file, and said at the end.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "cli/live.h"

/* Behind all others: it defines short words. */
#include <curses.h>
#include <term.h>

static struct termios was;

int fl_live_terminal_check(void)
{
	const char *name = getenv("TERM");
	int error = 1;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		fl_say("live needs a terminal, and standard %s is none; flick record and flick "
		       "report do without", isatty(STDIN_FILENO) ? "output" : "input");
		return -1;
	}
	if (!name || !*name || setupterm(NULL, STDOUT_FILENO, &error) != OK) {
		fl_say("live knows nothing of the terminal `%s` (TERM); flick record and flick "
		       "report need not", name ? name : "");
		return -1;
	}
	if (!cursor_address || !clear_screen) {
		fl_say("the terminal `%s` (TERM) cannot show a table that changes; flick "
		       "record and flick report need not", name);
		error = -1;
	}
	del_curterm(cur_term);
	tcgetattr(STDIN_FILENO, &was);
	return error < 0 ? -1 : 0;
}

/* ---- a fault of flick's own -------------------------------------------------------- */

static char way_back[128];		/* what leaves the screen, for the terminal */
static size_t way_back_bytes;

static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

static void leave_by_fault(int sig)
{
	if (write(STDOUT_FILENO, way_back, way_back_bytes) >= 0)
		tcsetattr(STDIN_FILENO, TCSANOW, &was);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void add_way_back(const char *capability)
{
	const char *text = tigetstr(capability);
	size_t n = text && text != (char *)-1 ? strlen(text) : 0;

	if (way_back_bytes + n > sizeof(way_back))
		return;
	memcpy(way_back + way_back_bytes, text ? text : "", n);
	way_back_bytes += n;
}

static void heed_faults(void)
{
	static const char *const capabilities[] = { "sgr0", "rmkx", "cnorm", "rmcup" };

	way_back_bytes = 0;
	for (size_t i = 0; i < ARRAY_LEN(capabilities); i++)
		add_way_back(capabilities[i]);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		signal(faults[i], leave_by_fault);
}

/* ---- what is said --------------------------------------------------------------------- */

static int said = -1, stderr_was;	/* a memory file; -1: what is said goes elsewhere */
static off_t n_told;			/* of that, in the bottom line */

/* Keep what is said, unless that goes to a file. */
static void keep_what_is_said(void)
{
	n_told = 0;
	said = isatty(STDERR_FILENO) ? memfd_create("flick said", MFD_CLOEXEC) : -1;
	if (said < 0)
		return;
	stderr_was = dup(STDERR_FILENO);
	if (stderr_was >= 0 && dup2(said, STDERR_FILENO) >= 0)
		return;
	close(said);
	said = -1;
}

static void say_what_was_kept(void)
{
	char some[4096];
	ssize_t n;

	if (said < 0)
		return;
	dup2(stderr_was, STDERR_FILENO);
	close(stderr_was);
	lseek(said, 0, SEEK_SET);
	while ((n = read(said, some, sizeof(some))) > 0)
		if (write(STDERR_FILENO, some, (size_t)n) < 0)
			break;
	close(said);
	said = -1;
}

bool fl_live_terminal_said(char *line, size_t room)
{
	char some[256];
	off_t end = said < 0 ? 0 : lseek(said, 0, SEEK_END), from;
	const char *last = some;
	ssize_t n;

	if (end <= n_told)
		return false;
	from = end - n_told > (off_t)sizeof(some) ? end - (off_t)sizeof(some) : n_told;
	n = pread(said, some, (size_t)(end - from), from);
	n_told = end;
	if (n <= 1)
		return false;
	some[n - 1] = '\0';
	if (strrchr(some, '\n'))
		last = strrchr(some, '\n') + 1;
	snprintf(line, room, "%s", last);
	return true;
}

/* ---- both --------------------------------------------------------------------------- */

void fl_live_terminal_take(void)
{
	heed_faults();
	keep_what_is_said();
}

void fl_live_terminal_give(void)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		signal(faults[i], SIG_DFL);
	say_what_was_kept();
}
