#!/bin/sh
# flick doctor tells what stops recording (`no`, status 1) from what works less well without
# (`limited`, status 0), and says how, and what to do. What is not needed is `unused`.
. "$(dirname "$0")/lib"
need "$CC"
target deny -O1
target recursion -O1 $sites

doctor() {	# WHAT IS DENIED, FILE...
	label="$1 denied:"
	"$work/deny" "$1" true || skip "$1 cannot be denied here"
	denied=$1
	shift
	run "$work/deny" "$denied" "$FLICK" doctor "$@"
}
says() {	# STATUS PATTERN, LAST LINE
	[ "$status" -eq "$1" ] || fail "$label status $status, not $1"
	grep -q "$2" "$out" || fail "$label it does not say: $2"
	[ "$(tail -n 1 "$out")" = "$3" ] || fail "$label the last line is $(tail -n 1 "$out")"
}
less="less well where a line says \`limited\`"
doctor perf "$work/recursion"
says 0 '^samples  *limited: .*no self times.*perf_event_paranoid' \
	"flick can record $work/recursion, $less"
doctor membarrier
says 0 '^sync membarrier limited: Permission denied; signal takes its place' \
	"flick can record here, $less"
grep -q '^sync wait  *unused: ' "$out" || fail "$label what is not needed is called so"
doctor sync
says 1 '^sync membarrier no: ' "flick cannot record here until what is marked \`no\` works"

# An image that a filter meets later is not recorded, and runs (FLE_NOWAIT).
doctor futex
says 1 '^watch  *no: .*denies futex(2)' "flick cannot record here until what is marked \`no\` works"
run "$work/deny" futex "$FLICK" record -o "$data" "$work/recursion"
grep -q "cannot record $work/recursion: .*denies futex(2)" "$err" || fail "$label $(cat "$err")"
[ "$status" -eq 1 ] || fail "$label record: status $status"
for how in "" --follow; do
	label="$how, by what execs:"
	run "$FLICK" record $how -o "$data" -- "$work/deny" futex "$work/recursion"
	grep -q 'cannot record .*/deny: .*denies futex(2)' "$err" || fail "$label $(cat "$err")"
	grep -q '^count ' "$out" || fail "$label it does not run"
done

label="no rseq:"
GLIBC_TUNABLES=glibc.pthread.rseq=0 run "$FLICK" doctor
says 0 '^rseq  *limited: .*glibc 2.35' "flick can record here, $less"

# Of a file in which some sites are refused the others can be used.
label="some refused:"
printf 'int f(void) { return 1; }\n' >"$work/some.c"
"$CC" -c -O1 -fpatchable-function-entry=3 "$work/some.c" -o "$work/some.o" || fail "$CC"
compile "$work/some" "$targets/recursion.c" -O1 $sites "$work/some.o"
run "$FLICK" doctor "$work/some"
says 0 '^refused  *limited: 1: .*; build with a wider' "flick can record $work/some, $less"

# A script is recorded by its interpreter, and what gets rights that flick has not is not.
label="a script:"
printf '#!%s/recursion\n' "$work" >"$work/script"
chmod +x "$work/script"
run "$FLICK" doctor "$work/script"
grep -q "^file  *ok: a script of $work/recursion" "$out" || fail "$label $(cat "$out")"
tail -n 1 "$out" | grep -q "^flick can record $work/script" || fail "$label $(tail -n 1 "$out")"
label="set-user-ID:"
cp "$work/recursion" "$work/rights"
if chown 65534 "$work/rights" 2>/dev/null && chmod u+s "$work/rights"; then
	run "$FLICK" record -o "$data" "$work/rights"
	[ "$status" -eq 1 ] || exit 0		# such rights count for nothing here
	run "$FLICK" doctor "$work/rights"
	says 1 '^rights  *no: it is set-user-ID' \
		"flick cannot record $work/rights until what is marked \`no\` works"
fi
