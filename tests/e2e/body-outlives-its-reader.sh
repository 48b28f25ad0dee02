#!/bin/sh
# SIGKILL of the recorder at any moment: a program with second bodies goes on, all off, and
# ends as it would alone. Text is written through another mapping, too, and where the
# system denies writable code.
# timeout: 300
# waits
. "$(dirname "$0")/lib"
need sqlite3 od pgrep "$CC"
export TRUTH_THREADS= FLICK_BODIES=1
target killme -O2

calls() {
	tallies "$work/tally" | awk '{ n += $3 } END { printf "%.0f\n", n }'
}

await_end() {
	for i in $(seq 150); do
		! grep -q '^count step' "$out" || return 0
		sleep 0.1
	done
	fail "$label the target hangs, or died"
}

emulated times && late=20000 || late=200000
for text in $(texts); do
	for after in 2000 $late; do
		for how in "-a latency --all" "-a counts" ""; do
			label="$text, reader killed after $after calls, $how:"
			rm -rf "$data" "$work/tally" "$out"
			"$FLICK" record $how --text=$text -o "$data" -- \
				"$work/killme" "$work/tally" 4 700 >"$out" 2>"$err" &
			reader=$!
			wait_for_calls "$work/tally" $after
			kill -KILL $reader
			wait $reader 2>/dev/null
			await_end
			grep -q "^count step $(calls)\$" "$out" ||
				fail "$label other calls than it made"
		done
	done
done

target deny -O2
target threads -O2
"$work/deny" both true || skip "PR_SET_MDWE or seccomp is not to be had"
label="no writable code:"
rm -rf "$data"
run "$work/deny" wx "$FLICK" record -o "$data" -a counts -- "$work/threads"
succeeded
exact
lossless
