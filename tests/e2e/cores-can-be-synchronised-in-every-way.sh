#!/bin/sh
# flick doctor names the ways to synchronise cores, --sync and FLICK_SYNC choose
# one, a wrong name is answered with the right ones, and counts are the same.
. "$(dirname "$0")/lib"
need sqlite3
"$FLICK" doctor >"$work/doctor" 2>&1
grep -q '^sync membarrier.*(chosen)$' "$work/doctor" || fail "doctor: $(cat "$work/doctor")"
grep -q '^sync wait ' "$work/doctor" || fail "doctor does not name wait"
emulated ptrace || FLICK_SYNC=stop "$FLICK" doctor 2>&1 | grep -q '^sync stop.*(chosen)$' ||
	fail "doctor does not know of FLICK_SYNC"
target threads -O2 $sites
for sync in $(sed -n 's/^sync \([a-z]*\) *ok.*/\1/p' "$work/doctor"); do
	label="--sync=$sync:"
	record -a counts --sync="$sync" -- "$work/threads"
	succeeded
	exact
	lossless
done
names=$(sed -n 's/^sync \([a-z]*\).*/\1/p' "$work/doctor" | paste -sd , |
	sed 's/,/, /g; s/\(.*\),/\1 or/')
for how in "--sync=semaphore" ""; do
	said=$(FLICK_SYNC=semaphore "$FLICK" record $how -- "$work/threads" 2>&1) &&
		fail "a wrong name is taken"
	case $said in
	*" is $names, not \`semaphore\`"*) ;;
	*) fail "said: $said" ;;
	esac
done
