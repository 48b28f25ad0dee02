#!/bin/sh
# The cold part of a function begins with a landing pad, a NOP before it, and has no symbol: it is
# taken for what it is, and no jump stands over the pad, to which the unwinder leads.
. "$(dirname "$0")/lib"
x86_target lands
need sqlite3 "$(cxx)"
export TRUTH_THREADS= FLICK_BODIES=1

target lands -O2
run "$work/lands"
[ $status = 0 ] || fail "ends with $status by itself"
cp "$out" "$work/alone"
for how in "-a counts" "-a latency --all" "-a tree" "-a paths" ""; do
	label="$how:"
	record $how -- "$work/lands"
	succeeded
	cmp -s "$work/alone" "$out" || fail "$label says something else:
$(diff "$work/alone" "$out")"
	case $how in
	*counts) exact ;;
	*latency*) exact latency ;;
	*tree) exact tree ;;
	esac
	lossless
done

label="list:"
run "$FLICK" list "$work/lands"
[ "$(grep -c 'entry+. .* lands$' "$out")" = 1 ] || fail "$label lands has no body"
