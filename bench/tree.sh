#!/bin/sh
# tree.sh - recordings of a process tree of many short processes: a build.
#
#	tree.make		make -j2 of 31 small C files by gcc -O2: record --follow over the
#				same alone, wall
#	tree.make.long		the same four times over in one recording
#	tree.make.cpu, tree.make.long.cpu	user + system time likewise
#	tree.make.perf, .perf.cpu	perf record -g over the same alone, 997 samples a second
#	tree.calls		calls of functions of 1 % of them and more, over those that
#				--all counts: by how much the worst one is off
#	tree.calls.mean		the mean of these
#	tree.bare		processes that had no probes, of those that executed cc1
#
# Runs take turns. The files' contents are made here, and are the same in each run.
set -eu
. "$(dirname "$0")/lib.sh"

rounds=${FLICK_ROUNDS:-5}
files=31

write_files() {
	for k in $(seq $files); do
		LC_ALL=C awk -v k="$k" 'BEGIN {
			print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>"
			for (i = 0; i < 12; i++) {
				printf "int f%d_%d(int a, int *b)\n{\n\tint s = 0;\n", k, i
				printf "\tfor (int i = 0; i < a; i++) {\n"
				printf "\t\ts += b[i] * %d + %d;\n\t\tif (s > 100)\n", i, k
				print "\t\t\ts ^= b[i % 7];\n\t\tswitch (s & 7) {"
				print "\t\tcase 1: s += 3; break;\n\t\tcase 2: s *= b[2]; break;"
				print "\t\tcase 5: printf(\"%d\", s);\n\t\t}\n\t}\n\treturn s;\n}"
			}
		}' >"$scratch/f$k.c"
	done
	{
		echo "all:$(seq -f ' f%g.o' $files | tr -d '\n')"
		printf '%%.o: %%.c\n\tgcc -O2 -c -o $@ $<\nclean:\n\trm -f *.o\n'
	} >"$scratch/Makefile"
	cat >"$scratch/once" <<-'SH'
		cd "${0%/*}" && make -s clean && make -s -j2
	SH
	cat >"$scratch/long" <<-'SH'
		for i in 1 2 3 4; do sh "${0%/*}/once" || exit 1; done
	SH
}

# Sets $wall and $cpu; false and $why.
timed() {	# COMMAND...
	rm -rf "$scratch/data" "$scratch/perf.data"
	"$out/timed" "$scratch/times" "$@" </dev/null >"$scratch/output" 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		return 1
	}
	read -r wall cpu <"$scratch/times"
}

add_times() {	# NAME
	add "$1" "$(calc "$wall / $alone")"
	add "$1.cpu" "$(calc "$cpu / $alone_cpu")"
}

measure() {
	timed sh "$scratch/once" || return 0		# warm
	for round in $(seq "$rounds"); do
		timed sh "$scratch/once" || return 0
		alone=$wall alone_cpu=$cpu
		timed "$build/flick" record --exit-code --follow -o "$scratch/data" -- \
			sh "$scratch/once" || return 0
		add_times tree.make
		add tree.bare "$(sed -n 's/.*[ ,]\([0-9]*\) of [0-9]* of cc1.*/\1/p' "$scratch/log" |
			grep . || echo 0)"
		compare
		timed perf record -q -g -e cpu-clock:u -F 997 -o "$scratch/perf.data" -- \
			sh "$scratch/once" && add_times tree.make.perf
		why=
		timed sh "$scratch/long" || return 0
		alone=$wall alone_cpu=$cpu
		timed "$build/flick" record --exit-code --follow -o "$scratch/data" -- \
			sh "$scratch/long" || return 0
		add_times tree.make.long
	done
}

# FUNCTION CALLS lines of the recording in $scratch/data.
calls() {	# RESULT
	sqlite3 -batch -noheader -separator ' ' "$scratch/data/results.db" "
		select f.module || ':' || f.offset, sum(t.calls) from $1 t
		join functions f on f.id = t.function where t.calls is not null
		group by f.name, f.module, f.offset"
}

compare() {
	calls latency >"$scratch/told"
	LC_ALL=C awk 'NR == FNR { split($1, at, ":"); true_calls[at[2]] = $2; all += $2; next }
		{ split($1, at, ":"); told[at[2]] = $2 }
		END {
			for (f in true_calls) {
				if (true_calls[f] < all / 100) continue
				off = 100 * (told[f] / true_calls[f] - 1)
				off = off < 0 ? -off : off
				worst = off > worst ? off : worst
				sum += off; n++
			}
			printf "%.2f %.2f\n", worst, sum / n
		}' "$scratch/true" "$scratch/told" >"$scratch/off"
	read -r worst mean <"$scratch/off"
	add tree.calls "$worst"
	add tree.calls.mean "$mean"
}

[ -x "$build/flick" ] || { echo "no $build/flick" >&2; exit 1; }
write_files
why=
timed "$build/flick" record --exit-code --follow --all -a counts -o "$scratch/data" -- \
	sh "$scratch/once" && calls counts >"$scratch/true"
[ "$why" ] || measure
for name in tree.make tree.make.cpu tree.make.long tree.make.long.cpu tree.make.perf \
	tree.make.perf.cpu; do
	report "$name" x "$why"
done
report tree.calls % "$why"
report tree.calls.mean % "$why"
report tree.bare processes "$why"
