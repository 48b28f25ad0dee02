#!/bin/sh
# memcpy(), memmove(), mempcpy() and memset() of the C library, whichever it chose for this
# processor, and whatever their symbols call these: each call is counted, and copies what it
# did; also while they come and go under threads that copy.
# timeout: 300
. "$(dirname "$0")/lib"
x86_target copies
need sqlite3
. "$here/attach-lib"
export TRUTH_THREADS= FLICK_BODIES=1

target copies -O1 -fno-builtin

# Of N calls of each, by where it is: what others do is the same each time.
count() {	# N PATTERN OPTIONS... ; leaves $work/told: OFFSET CALLS
	n=$1
	pattern=$2
	shift 2
	record "$@" -P "libc.so*!$pattern" -- "$work/copies" $n
	succeeded
	lossless
	table=$(sql "select name from results where name in ('counts', 'latency', 'tree')")
	sql "select f.offset, sum(t.calls) from $table t join functions f on f.id = t.function
		join modules m on m.id = f.module where m.path like '%/libc.so%'
		group by f.offset" >"$work/told"
}

is_right() {	# PATTERN OPTIONS...
	label="$*:"
	count 300 "$@"
	mv "$work/told" "$work/few"
	count 1300 "$@"
	wrong=$(awk '
		FILENAME == ARGV[1] { few[$1] = $2; next }
		FILENAME == ARGV[2] { many[$1] = $2; next }
		$1 == "at" { due[$3] += $4 * 1000 / 1300; n++ }
		END {
			for (at in due)
				if (many[at] - few[at] != due[at])
					print at ": " many[at] - few[at] ", not " due[at]
			if (n != 4)
				print n + 0 " functions"
		}' "$work/few" "$work/told" "$out")
	[ -z "$wrong" ] || fail "$label $wrong"
}

set -f
for pattern in '*' 'mem*'; do
	is_right "$pattern" -a counts
	is_right "$pattern" -a latency --all
	is_right "$pattern" -a tree
done

program=copies
for sync in membarrier signal; do
	label="$sync:"
	begin
	export FLICK_SYNC=$sync
	for how in "-a counts" "" "-a latency --all"; do
		attach $how -P 'libc.so*!*'
		is_as_it_was
	done
	unset FLICK_SYNC
	finish
done
