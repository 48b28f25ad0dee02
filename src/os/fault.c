/*
 * fault.c - FLICK_FAULT="mprotect:1 mmap:3+": the first mprotect fails, and the
 * third mmap and all that follow it.
 *
 * Hides the list of what shall fail and the counting of uses. A call that shall fail
 * is not made, with one exception: a descriptor is gone even if close() complains.
 * The first fault of each wish is told on descriptor 2, so that a run in which no fault
 * came can be told from a run that bore one.
 */
#include "os/os.h"
#include "os/fault.h"
#include "os/syscall.h"

enum { MAX_WISHES = 16, STDERR = 2 };

static const struct { const char *name; int err; } calls[FL_N_FAULTS] = {
#define ROW(name, err) { #name, err },
	FL_FAULTS(ROW)
#undef ROW
};

struct wish {
	uint32_t call, n;		/* the n-th use, from 1 */
	bool ever_after;		/* and all later ones */
	bool was_told;
};
static struct wish wishes[MAX_WISHES];
static size_t n_wishes;
static uint32_t uses[FL_N_FAULTS];	/* atomic */

bool fl_fault_is_on;

const char *fl_os_fault_name(size_t i)
{
	return i < FL_N_FAULTS ? calls[i].name : NULL;
}

/* ---- the specification -------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || c == ',' || c == '\t';
}

/* The call whose name stands at *p, in front of a colon. */
static uint32_t parse_name(const char **p)
{
	for (uint32_t i = 0; i < FL_N_FAULTS; i++) {
		size_t n = __builtin_strlen(calls[i].name);

		if (__builtin_strncmp(*p, calls[i].name, n) || (*p)[n] != ':')
			continue;
		*p += n + 1;
		return i;
	}
	return FL_N_FAULTS;
}

static uint32_t parse_count(const char **p)
{
	enum { MOST = 100000000 };
	uint32_t n = 0;

	for (; **p >= '0' && **p <= '9' && n < MOST; ++*p)
		n = n * 10 + (uint32_t)(**p - '0');
	return n;
}

static bool parse_wish(const char **p, struct wish *w)
{
	*w = (struct wish){ .call = parse_name(p) };
	if (w->call == FL_N_FAULTS)
		return false;
	w->n = parse_count(p);
	w->ever_after = **p == '+';
	*p += w->ever_after;
	return w->n && (!**p || is_space(**p));
}

int fl_os_fault_check(const char *spec, const char **wrong)
{
	size_t n = 0;
	struct wish w;

	for (; spec; n++) {
		while (is_space(*spec))
			spec++;
		if (!*spec)
			break;
		*wrong = spec;
		if (n == MAX_WISHES || !parse_wish(&spec, &w))
			return FLE_OPTION;
	}
	return 0;
}

int fl_os_fault_open(const char *spec)
{
	const char *wrong;
	int err = fl_os_fault_check(spec, &wrong);

	for (n_wishes = 0; !err && spec; n_wishes++) {
		while (is_space(*spec))
			spec++;
		if (!*spec)
			break;
		parse_wish(&spec, &wishes[n_wishes]);
	}
	fl_fault_is_on = n_wishes != 0;
	return err;
}

/* ---- a use -------------------------------------------------------------------- */

static size_t append(char *line, size_t at, const char *text)
{
	while (*text)
		line[at++] = *text++;
	return at;
}

/* "flick: FLICK_FAULT: mprotect fails at use 3" */
static void tell(struct wish *w)
{
	char line[80], digits[12];
	size_t n = append(line, 0, "flick: FLICK_FAULT: "), k = sizeof digits - 1;

	w->was_told = true;
	n = append(line, n, calls[w->call].name);
	n = append(line, n, " fails at use ");
	digits[k] = '\0';
	for (uint32_t left = w->n; left; left /= 10)
		digits[--k] = (char)('0' + left % 10);
	n = append(line, n, digits + k);
	n = append(line, n, "\n");
	SYS(SYS_write, STDERR, line, n);
}

long fl_fault_take(enum fl_fault_call call)
{
	/* ordering: none, a count */
	uint32_t use = __atomic_add_fetch(&uses[call], 1, __ATOMIC_RELAXED);

	for (size_t i = 0; i < n_wishes; i++) {
		struct wish *w = &wishes[i];

		if (w->call != call || !(use == w->n || (w->ever_after && use > w->n)))
			continue;
		if (!w->was_told)
			tell(w);
		return -calls[call].err;
	}
	return 0;
}
