#!/bin/sh
# Code that no table unwinds, and that makes calls, is a runtime's own, which may copy it: it has no
# bodies, which is said. JavaScript's engine is one.
. "$(dirname "$0")/lib"
x86_target copies-code
need sqlite3
export TRUTH_THREADS= FLICK_BODIES=1

target copies-code -O2
for how in "-a counts" "-a latency --all" ""; do
	label="record $how:"
	record $how -- "$work/copies-code"
	succeeded
	[ -z "$how" ] || exact ${how#-a }
	lossless
done
"$FLICK" list "$work/copies-code" >"$work/list" 2>&1
for f in piece_adds piece_outer; do
	grep -q "$f .*no: no table tells how to unwind it" "$work/list" ||
		fail "list of $f: $(grep "$f" "$work/list")"
done

node=$(command -v node) || { echo "no node: JavaScript is left out"; exit 0; }
script='function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }
	try { null.x } catch (e) { console.log(f(20), e.message) }'
"$node" -e "$script" >"$work/alone"
record -a counts -- "$node" -e "$script"
succeeded
cmp -s "$work/alone" "$work/out" || fail "node says $(cat "$work/out" "$work/err")"
