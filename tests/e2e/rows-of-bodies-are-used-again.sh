#!/bin/sh
# Of a process tree there are more second bodies than the shared table has rows: those of
# processes that have ended are used again, also of who was killed while it took one. Samples
# have their names all the same, and rows stay for who was forked of one that has ended.
# timeout: 200
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
. "$here/totals-lib"
agent=${BUILD:-$top/build}/tests/libflick-kill-at.so
[ -f "$agent" ] || skip "no $agent; make check makes it"
target short-calls -O2

has_room() {
	succeeded
	! grep -q "there was room" "$err" || fail "$label there was no room"
}

# Some of its time is that of probes, and of the kernel.
is_named() {	# SECONDS
	near "time in calls, s," "$(sql "select sum(self_ns) / 1e9 from $(rows latency)
		where name in ('leaf', 'caller', 'outer', 'down', 'work')")" "$1" 55
	near "leaf's total" "$(value total_ns leaf)" "$(value self_ns leaf)" 1
	near "caller's total" "$(value total_ns caller)" \
		"$(($(value self_ns caller) + $(value self_ns leaf)))" 3
}

# Four times 20 rows are five blocks, of which each program takes one. The reader gives them back,
# and where it has no CPU for a tenth of a second five programs have ended.
label="200 programs, room for five:"
for try in 1 2 3; do
	record --follow --sites=20 -- "$work/short-calls" 0.01 exec 200
	(has_room) && break
	[ $try -lt 3 ] || fail "$label in no recording of three"
done
is_named 2

label="orphans:"
cat >"$work/orphans" <<END
#!/bin/sh
"$work/short-calls" 1.5 orphan 2
"$work/short-calls" 0.01 exec 280
END
record --follow --sites=1024 -- /bin/sh "$work/orphans"
has_room
is_named 5.8

# There are 256 blocks. Whoever is killed has claimed one.
for point in body.claimed body.taken body.written; do
	every 3 || continue
	label="killed at $point:"
	cat >"$work/killed" <<-END
	for i in \$(seq 260); do
		: >"$work/once"
		FLICK_KILL_AT=$point FLICK_KILL_ONCE="$work/once" "$work/short-calls" 0
		[ \$? -eq 137 ] || exit 1
	done 2>/dev/null
	exec "$work/short-calls" 0.05 exec 40
	END
	# The few calls that are timed are each process's first ones: where page faults are slow
	# they may be taken for all.
	for try in 1 2 3 4; do
		FLICK_LIB=$agent record --follow --sites=1024 -P "short-calls!*" -- \
			/bin/sh "$work/killed"
		has_room
		(is_named 2) && break
		[ $try -lt 4 ] || fail "$label in no recording of four"
	done
done
