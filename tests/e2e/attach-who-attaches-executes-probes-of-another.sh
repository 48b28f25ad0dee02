#!/bin/sh
# A second `flick record -p` comes while the first has probes in what makes a thread: in
# pthread_create(), in the allocator, in what fills a thread's own part. The bare thread that
# makes one is nobody's: the program goes on, and nothing is lost.
. "$(dirname "$0")/lib"
. "$(dirname "$0")/attach-lib"

# Until the first one has all its probes it takes nobody beside it.
beside() {
	for i in $(seq 50); do
		run "$FLICK" record -p $pid -d 0.5 -o "$work/second" -P leaf
		[ $status -ne 0 ] || return 0
		[ -e /proc/$pid/exe ] || fail "$label the program is gone: $(cat "$err")"
		sleep 0.1
	done
	fail "$label $(cat "$err")"
}

for pattern in 'libc.so*!*pthread_create*' 'libc.so*!*'; do
	label="attached, $pattern:"
	rm -rf "$work/first"
	begin 3
	"$FLICK" record -p $pid -P "$pattern" -o "$work/first" >"$work/first.err" 2>&1 8<&- &
	recorder=$!
	for i in $(seq 500); do		# its turn begins before it makes its directory
		[ ! -d "$work/first" ] || break
		sleep 0.01
	done
	beside				# it waits until the first one has come in
	kill -TERM $recorder
	wait $recorder || fail "$label status $?: $(cat "$work/first.err")"
	is_as_it_was
	finish

	label="started, $pattern:"
	launch -P "$pattern"
	beside
	finish
	wait $recorder || fail "$label the first one: status $?"
done
