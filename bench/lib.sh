# lib.sh - what the bench scripts share; read by `. bench/lib.sh`.
#
# Gives: $top, $build, $out (built benches), $scratch (removed at the end),
# --json, and the functions below. A script adds one number a run to
# $scratch/NAME and reports it at the end.

top=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$top/build}
case $build in /*) ;; *) build=$top/$build ;; esac
out=$build/bench
json=

case ${1-} in
--json) json=1 ;;
'') ;;
*) echo "usage: $0 [--json]" >&2; exit 2 ;;
esac

mkdir -p "$out"
scratch=$(mktemp -d "$out/scratch.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# A number of this run.
add() {	# NAME NUMBER
	echo "$2" >>"$scratch/$1"
}

# The median and the 10th and 90th percentile (nearest rank) of all runs.
report() {	# NAME UNIT [REASON it was not measured [SWITCHES_A_SECOND]]
	if [ "${3-}" ] || [ ! -s "$scratch/$1" ]; then
		skip "$1" "${3:-no run gave a number}"
		return
	fi
	sort -g "$scratch/$1" | LC_ALL=C awk -v name="$1" -v unit="$2" \
		-v json="$json" -v reached="${4-}" '
	function rank(share,	r) {
		r = int(share * NR)
		if (r < share * NR) r++
		return v[r < 1 ? 1 : r]
	}
	{ v[NR] = $1 }
	END {
		mid = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
		format = json ? "{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"lo\":%.2f,\"hi\":%.2f,\"runs\":%d%s}\n" \
			: "%-28s %12.2f %-16s [%.2f, %.2f] %d runs%s\n"
		if (reached != "")
			reached = json ? ",\"reached\":" reached : " at " reached "/s"
		printf format, name, mid, unit, rank(0.1), rank(0.9), NR, reached
	}'
}

skip() {	# NAME REASON
	reason=$(printf %s "$2" | tr '"\\\n\t' "'/  " | cut -c 1-200)
	if [ "$json" ]; then
		printf '{"name":"%s","skipped":"%s"}\n' "$1" "$reason"
	else
		printf '%-28s skipped: %s\n' "$1" "$reason"
	fi
}

calc() {	# EXPRESSION
	LC_ALL=C awk "BEGIN { printf \"%.4f\", $1 }"
}

# Seconds that it takes; its output is in $output.
take_time() {	# COMMAND...
	began=$(date +%s%N)
	"$@" >"$output" 2>"$scratch/log"
	calc "($(date +%s%N) - $began) / 1e9"
}

last_line() {	# FILE
	grep -v '^$' "$1" | tail -n 1
}

# Total variation of two files of NAME SHARE lines, in points.
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

# Why perf gives no samples here; nothing: it does.
no_samples() {
	if ! command -v perf >/dev/null; then
		echo "perf is not installed"
	elif ! perf record -q -e cpu-clock:u -o "$scratch/perf.data" true >/dev/null 2>&1; then
		echo "the system gives no samples (perf_event_open)"
	fi
}

# A prefix: run on the CPU that is not the victim's, where there is one.
on_other=
if [ "$(nproc)" -gt 1 ]; then
	on_other="taskset -c 1"
fi

# The analyses in the thread that is analysed, compiled as flick's are, if any source is newer.
inline=$out/inline.so
build_inline() {
	[ ! -e "$inline" ] || [ -n "$(find "$top/src" "$top/include" "$top/bench/analysis" \
		"$top/config.mk" -type f -newer "$inline" | head -n 1)" ] || return 0
	# shellcheck disable=SC2046
	gcc -std=gnu11 -D_GNU_SOURCE -O2 $(sed -n 's/^STORES = //p' "$top/config.mk") \
		-fPIC -fvisibility=hidden -shared \
		-I"$top/src" -I"$top/include" "$top/bench/analysis/inline.c" \
		"$top"/src/analysis/*.c "$top"/src/base/*.c -lm -ldl -o "$inline.$$" &&
		mv "$inline.$$" "$inline"
}
