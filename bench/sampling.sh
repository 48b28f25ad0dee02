#!/bin/sh
# sampling.sh - paper 2, section 6.4: overhead and error of a call graph that is
# made of a part of the time, on bzip2 -O2 with 30 MB of shared libraries.
#
#	sampling.graph.Npct          wall on top of the instrumented binary alone
#	sampling.graph.Npct.error    mean over edges of |actual - estimate| / actual,
#	                             weighted by how often each is taken; calls of
#	                             edges that are not there count in full
#	sampling.graph.Npct.median   median over edges taken 1,000 times or more
#	sampling.graph.Npct.unnamed  calls whose caller is not known, of all
#	sampling.graph.all           exhaustive, of the same run: the actual counts
#
# A run counts only when it wrote the bytes that the binary alone wrote. The
# program runs on CPU 0, the reader and flick's own thread on CPU 1.
set -eu
. "$(dirname "$0")/lib.sh"

rounds=${FLICK_ROUNDS:-5}
input_bytes=${FLICK_BYTES:-30000000}
rates="1 5 20"
probed_bin=$out/bzip2-instrumented
input=$out/sampling.input
times=$scratch/times

give_up() {	# REASON
	skip sampling.graph.all "$1"
	for n in $rates; do
		for what in '' .error .median .unnamed; do
			skip sampling.graph.${n}pct$what "$1"
		done
	done
	exit 0
}

build_one() {
	[ -x "$probed_bin" ] && return
	source=$(FLICK_REAL="$build/real" \
		sh "$top/tests/real/source" bzip2 2>"$scratch/log") ||
		give_up "no bzip2 source: $(last_line "$scratch/log")"
	(cd "$source" && gcc -O2 -w -D_FILE_OFFSET_BITS=64 -finstrument-functions \
		blocksort.c huffman.c crctable.c randtable.c compress.c \
		decompress.c bzlib.c bzip2.c -o "$probed_bin")
}

make_input() {
	find /usr/lib -name '*.so*' -type f -size +20k | LC_ALL=C sort |
		xargs cat 2>/dev/null | head -c "$input_bytes" >"$input"
	[ "$(wc -c <"$input")" -eq "$input_bytes" ] ||
		give_up "fewer than $input_bytes bytes of shared libraries"
}

# Run COMMAND -kf INPUT; leaves $wall. Fails when the command does, or when it
# wrote other bytes than the first run.
timed_run() {	# COMMAND...
	"$out/timed" "$times" "$@" -kf "$input" >"$scratch/log" 2>&1 || {
		bad="$(last_line "$scratch/log")"
		return 1
	}
	read -r wall cpu <"$times"
	sum=$(cksum <"$input.bz2")
	[ "${first_sum:=$sum}" = "$sum" ] || {
		bad="the output is not the plain run's"
		return 1
	}
}

record() {	# DIR OPTION
	timed_run $on_other "$build/flick" record --target-cpu 0 -a graph "$2" \
		-o "$scratch/$1" -- "$probed_bin" || give_up "flick: $bad"
	percent=$(calc "100 * ($wall / $plain_wall - 1)")
}

# CALLER FUNCTION CALLS of DIR; clones of a function are one.
edges() {	# DIR
	sqlite3 -batch -noheader -separator ' ' "$scratch/$1/results.db" "
		select coalesce(c.name, '-'), f.name, sum(g.calls) from graph g
		left join functions c on c.id = g.caller
		join functions f on f.id = g.function group by 1, 2"
}

# What an edge without a known caller has is missing from its own edge. An edge that
# the estimate invents is all error.
compare() {	# NAME
	edges all >"$scratch/actual"
	edges part >"$scratch/estimate"
	LC_ALL=C awk '
		FILENAME == ARGV[1] { actual[$1, $2] = $3; sum += $3; next }
		{ estimate[$1, $2] = $3 }
		($1, $2) in actual { next }
		$1 == "-" { unnamed += $3; next }
		{ error += $3 }
		END {
			for (e in actual) {
				d = estimate[e] - actual[e]
				if (d < 0) d = -d
				error += d
				if (actual[e] >= 1000)
					print d / actual[e] * 100
			}
			print error / sum * 100, unnamed / sum * 100 >"/dev/stderr"
		}' "$scratch/actual" "$scratch/estimate" 2>"$scratch/mean" |
		sort -g >"$scratch/errors"
	read -r error unnamed <"$scratch/mean"
	add "$1.error" "$error"
	add "$1.unnamed" "$unnamed"
	add "$1.median" "$(awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }' \
		"$scratch/errors")"
}

[ -x "$build/flick" ] || give_up "no $build/flick"
command -v sqlite3 >/dev/null || give_up "sqlite3 is not installed"
build_one
make_input
timed_run taskset -c 0 "$probed_bin" || give_up "instrumented bzip2 failed: $bad" # warm

round=0
while [ $round -lt "$rounds" ]; do
	timed_run taskset -c 0 "$probed_bin" || give_up "instrumented bzip2 failed: $bad"
	plain_wall=$wall
	rm -rf "$scratch/all"
	record all --all
	add sampling.graph.all "$percent"
	for n in $rates; do
		rm -rf "$scratch/part"
		record part --rate=$n%
		add sampling.graph.${n}pct "$percent"
		compare sampling.graph.${n}pct
	done
	round=$((round + 1))
done
rm -f "$input.bz2"

report sampling.graph.all %
for n in $rates; do
	for what in '' .error .median .unnamed; do
		report sampling.graph.${n}pct$what %
	done
done
