#!/bin/sh
# A Rust program's panics go through second bodies of its functions, are caught there and
# thrown on, as without flick; calls are counted.
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator programs
need sqlite3 rustc
export TRUTH_THREADS= FLICK_BODIES=1

for flags in -Copt-level=2 -Copt-level=0; do
	rustc $flags -o "$work/panics" "$targets/panics.rs" 2>"$err" || fail "rustc $flags"
	run "$work/panics"
	cp "$out" "$work/alone"
	for how in "-a counts" "-a latency --all"; do
		label="rustc $flags $how:"
		record $how -- "$work/panics"
		succeeded
		cmp -s "$work/alone" "$out" || fail "$label says something else"
		conserved
		exact $(say "$how" | sed 's/^-a //; s/ .*//')
	done
done
