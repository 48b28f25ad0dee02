/*
 * cpus.c - which CPUs flick's threads and the target may run on.
 *
 * --cpu is obeyed at once: every thread that flick starts later inherits it. So
 * would the target, which therefore gets its CPUs back before its exec: those of
 * --target-cpu, or else the ones that flick was started with.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "session/session.h"

static bool take_number(const char **at, unsigned long *n)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	*n = strtoul(*at, &end, 10);
	*at = end;
	return *n < CPU_SETSIZE;
}

static bool take_after(const char **at, char mark, unsigned long *n)
{
	if (**at != mark)
		return true;
	++*at;
	return take_number(at, n);
}

/* N, N-M or N-M:STEP, as taskset(1) has it. */
static bool take_range(const char **at, cpu_set_t *set)
{
	unsigned long first, last, step = 1;

	if (!take_number(at, &first))
		return false;
	last = first;
	if (!take_after(at, '-', &last) || !take_after(at, ':', &step) || last < first ||
	    !step)
		return false;
	for (; first <= last; first += step)
		CPU_SET(first, set);
	return true;
}

static bool take_list(const char *at, cpu_set_t *set)
{
	CPU_ZERO(set);
	do
		if (!take_range(&at, set))
			return false;
	while (*at++ == ',');
	return !at[-1];
}

/* All CPUs that this process may choose from: perhaps more than it has now. */
static int find_usable(const cpu_set_t *own, cpu_set_t *all)
{
	memset(all, 0xff, sizeof(*all));
	if (sched_setaffinity(0, sizeof(*all), all) ||
	    sched_getaffinity(0, sizeof(*all), all))
		return -errno;
	return sched_setaffinity(0, sizeof(*own), own) ? -errno : 0;
}

/* Print a set as a list, which is cut where there is no room. */
static void print_list(const cpu_set_t *set, char *out, size_t room)
{
	size_t n = 0;

	*out = '\0';
	for (int i = 0, last; i < CPU_SETSIZE && n < room; i = last + 1) {
		last = i;
		if (!CPU_ISSET(i, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		n += (size_t)snprintf(out + n, room - n, last > i ? "%s%d-%d" : "%s%d",
				      n ? "," : "", i, last);
	}
}

static bool is_within(const cpu_set_t *set, const cpu_set_t *all)
{
	cpu_set_t both;

	CPU_AND(&both, set, all);
	return CPU_EQUAL(&both, set);
}

int fl_cpus_take(void *options, const struct fl_option *option, const char *list)
{
	struct fl_session_options *o = options;
	bool is_targets = !strcmp(option->name, "target-cpu");
	cpu_set_t own, set, all;
	char usable[128];
	int err = sched_getaffinity(0, sizeof(own), &own) ? -errno :
		  find_usable(&own, &all);

	if (!err && (!take_list(list, &set) || !is_within(&set, &all))) {
		print_list(&all, usable, sizeof(usable));
		fl_say("--%s takes CPUs as in 0,2-3, of %s here, not `%s`", option->name,
		       usable, list);
		return -1;
	}
	if (!err && !is_targets && sched_setaffinity(0, sizeof(set), &set))
		err = -errno;
	if (err) {
		fl_say("--%s: %s", option->name, fl_reason(err));
		return -1;
	}
	if (is_targets || !o->cpus_are_set)
		o->target_cpus = is_targets ? set : own;
	o->cpus_are_set = true;
	return 0;
}
