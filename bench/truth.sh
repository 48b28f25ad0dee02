#!/bin/sh
# truth.sh - do flick's numbers agree with an observer's that costs nothing?
#
#	truth.self.P		points between self shares by function that the default
#				report shows and those of perf's samples of the program
#				alone, over what perf differs from itself
#	truth.self.P.all	the same of a recording of every call
#	truth.self.P.perf	perf against perf
#	truth.samples.P		samples of the program counter behind flick's
#
# The distance is the total variation, in points: 0 the same, 100 disjoint. Shares
# are of the program's own functions, built with -O2 -fno-inline
# -finstrument-functions; perf samples its cpu-clock in user mode. Each program
# runs on CPU 0, flick's reader on another.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"

rounds=${FLICK_ROUNDS:-1}
judged="${FLICK_JUDGED:-demo bzip2 phalanx perl x264 nbody hull blackscholes}"

give_up() {	# REASON
	for p in $judged; do
		for what in '' .all .perf; do
			skip "truth.self.$p$what" "$1"
		done
		skip "truth.samples.$p" "$1"
	done
	exit 0
}

# Sets $probed: one body a function.
build_noinline() {	# PROGRAM
	case $1 in
	demo)
		probed=$out/demo-noinline
		gcc -O2 -g -fno-inline -finstrument-functions -pthread \
			"$top/tests/targets/demo.c" -o "$probed" ;;
	nbody|hull|blackscholes)
		build_own "$1" noinline "-fno-inline -finstrument-functions" && probed=$own ;;
	*)
		real=$1
		[ "$1" != perl ] || real=miniperl
		build_real "$real-noinline" >"$scratch/path" || return 1
		probed=$(cat "$scratch/path") ;;
	esac
}

run_it() {	# COMMAND... BINARY
	(cd "$scratch" && exec "$@" $arguments) <"$stdin" >/dev/null 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		return 1
	}
}

# FUNCTION SHARE lines out of FUNCTION AMOUNT lines; the hooks' own stubs are nobody's.
shares() {
	LC_ALL=C awk '$1 !~ /__cyg_profile/ { n[$1] += $2; sum += $2 }
		END { for (f in n) print f, n[f] / sum }'
}

by_perf() {	# FILE
	run_it taskset -c 0 perf record -q -e cpu-clock:u -F 5000 -o "$scratch/perf.data" \
		-- "$probed" || return
	perf script -i "$scratch/perf.data" -F sym,dso,ip 2>/dev/null | LC_ALL=C awk \
		-v dso="(/${probed##*/})" '
		substr($NF, length($NF) - length(dso) + 2) == substr(dso, 2) { print $2, 1 }' |
		shares >"$scratch/$1"
}

# TABLE is where the self times are.
by_flick() {	# FILE OPTIONS...
	file=$1
	shift
	rm -rf "$scratch/data"
	run_it $on_other "$build/flick" record --target-cpu 0 "$@" -o "$scratch/data" \
		-- "$probed" || return
	sqlite3 -batch -noheader -separator ' ' "$scratch/data/results.db" "
		select f.name, t.self_ns from latency t
		join functions f on f.id = t.function join modules m on m.id = f.module
		where t.self_ns > 0 and m.path like '%/${probed##*/}'" | shares >"$scratch/$file"
}

distance() {	# FILE FILE
	LC_ALL=C awk '
		FILENAME == ARGV[1] { d[$1] += $2; next }
		{ d[$1] -= $2 }
		END {
			for (f in d)
				sum += d[f] < 0 ? -d[f] : d[f]
			printf "%.2f", 50 * sum
		}' "$scratch/$1" "$scratch/$2"
}

compare() {	# PROGRAM
	case $1 in
	demo) arguments= stdin=/dev/null ;;
	*) choose "$1" long ;;
	esac
	by_perf perf && by_perf again && by_flick default || return
	own=$(distance perf again)
	add "truth.self.$1.perf" "$own"
	add "truth.self.$1" "$(calc "$(distance perf default) - $own")"
	add "truth.samples.$1" "$(sqlite3 "$scratch/data/results.db" \
		"select value from session where key = 'pc_samples'")"
	by_flick all --all || return
	add "truth.self.$1.all" "$(calc "$(distance perf all) - $own")"
}

command -v perf >/dev/null || give_up "perf is not installed"
perf record -q -e cpu-clock:u -o "$scratch/perf.data" true >/dev/null 2>&1 ||
	give_up "the system gives no samples (perf_event_open)"
command -v sqlite3 >/dev/null || give_up "sqlite3 is not installed"
mkdir -p "$inputs"
for p in $judged; do
	reason=
	[ "$p" = demo ] || make_input "$p" || reason=$why
	[ "$reason" ] || build_noinline "$p" || reason=${why:-it does not compile}
	round=0
	while [ -z "$reason" ] && [ $round -lt "$rounds" ]; do
		compare "$p" || reason=${why:-it failed}
		round=$((round + 1))
	done
	for what in '' .all .perf; do
		report "truth.self.$p$what" points "$reason"
	done
	report "truth.samples.$p" samples "$reason"
done
