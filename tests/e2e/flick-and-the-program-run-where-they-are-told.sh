#!/bin/sh
# --cpu and --target-cpu: every thread of either runs on the CPUs that were said,
# and what was not said stays as it was.
. "$(dirname "$0")/lib"
no_emulator names
need "$CC"
cat >"$work/where.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <glob.h>

/* The list of each thread of a process. */
__attribute__((noinline)) static void print(const char *who, int pid)
{
	char pattern[64], line[256];
	glob_t tasks;

	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/status", pid);
	if (glob(pattern, 0, NULL, &tasks))
		return;
	for (size_t i = 0; i < tasks.gl_pathc; i++) {
		FILE *f = fopen(tasks.gl_pathv[i], "r");

		while (f && fgets(line, sizeof(line), f))
			if (!strncmp(line, "Cpus_allowed_list:", 18))
				printf("%s %s", who, line + 19);
		if (f)
			fclose(f);
	}
}

/* It goes there by itself, soon. */
static void print_watch(const char *elsewhere)
{
	char comm[64], cpus[64] = "", line[256];
	glob_t all;

	for (int i = 0; i < 5000 && strcmp(cpus, elsewhere); i++, usleep(1000)) {
		if (glob("/proc/[0-9]*/status", 0, NULL, &all))
			return;
		for (size_t k = 0; k < all.gl_pathc; k++) {
			FILE *f = fopen(all.gl_pathv[k], "r");
			int parent = 0;

			*comm = '\0';
			while (f && fgets(line, sizeof(line), f)) {
				sscanf(line, "Name: %63s", comm);
				sscanf(line, "PPid: %d", &parent);
				if (!strcmp(comm, "flick-watch") && parent == getppid())
					sscanf(line, "Cpus_allowed_list: %63s", cpus);
			}
			if (f)
				fclose(f);
		}
		globfree(&all);
	}
	printf("watch %s\n", cpus);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		print_watch(argv[1]);
	print("target", getpid());
	print("flick", getppid());
	return 0;
}
END
compile "$work/where" "$work/where.c" -O2 $sites
sh -c '"$0"' "$work/where" >"$work/plain"
all=$(sed -n 's/^target //p' "$work/plain")
first=$(say "$all" | sed 's/[-,].*//')
last=$(say "$all" | sed 's/.*[-,]//')
[ "$first" != "$last" ] || skip "there is but one CPU"

runs_on() {	# FLICK TARGET COMMAND...
	flick=$1 its=$2
	shift 2
	label="$*:"
	run "$FLICK" "$@"
	succeeded
	for who in "flick $flick" "target $its"; do
		grep -qx "$who" "$out" || fail "$label not $who"
		grep "^${who% *} " "$out" | grep -qvx "$who" && fail "$label not only $who"
	done
}

record="record -o $data"
runs_on "$all" "$all" $record "$work/where"
runs_on "$first" "$all" $record --cpu "$first" "$work/where"
runs_on "$all" "$last" $record --target-cpu "$last" "$work/where"
runs_on "$last" "$first" $record --cpu "$last" --target-cpu "$first" "$work/where"
runs_on "$last" "$all" $record -a counts --readers 3 --cpu "$last" "$work/where"
runs_on "$last" "$first" $record --target-cpu "$first" --cpu "$last" -a counts "$work/where"
runs_on "$all" "$first" $record --cpu "$first,$last,$first-$last" --target-cpu \
	"$first-$last:1000" "$work/where"
runs_on "$first" "$last" count --cpu "$first" --target-cpu "$last" print -- "$work/where"
runs_on "$first" "$all" latency --cpu "$first" print -- "$work/where"

# What switches probes is not where the program is, if flick may be elsewhere.
label='the watch:'
run "$FLICK" $record --cpu "$last" --target-cpu "$first" "$work/where" "$last"
succeeded
grep -qx "watch $last" "$out" || fail "$label it is where the program is"
run "$FLICK" $record --cpu "$last" "$work/where" "$all"
succeeded
grep -qx "watch $all" "$out" || fail "$label it is not where the program is"

# Only what was started with fewer may have them back.
label='taskset:'
if command -v taskset >/dev/null; then
	run taskset -c "$last" "$FLICK" $record --cpu "$first" "$work/where"
	succeeded
	grep -qx "target $last" "$out" || fail "$label the target is elsewhere"
	grep -qx "flick $first" "$out" || fail "$label flick is elsewhere"
fi

for list in '' x 0- 3-1 0:2x 0,,1 0, -1 0-1:0 1023 99999999999999999999 0x1; do
	for option in --cpu --target-cpu; do
		label="$option='$list':"
		run "$FLICK" $record "$option=$list" "$work/where"
		one_line_error 2 "^flick: $option takes CPUs as in 0,2-3, of .* here, not .$list.\$"
		[ ! -s "$out" ] || fail "$label the program ran"
	done
done
