#!/bin/sh
# flick list and flick doctor say of a file how many of its sites can be used, how many
# are refused and why, and how many profiling calls tell only when they run whose they are.
. "$(dirname "$0")/lib"
need "$CC"
cat >"$work/calls.c" <<'END'
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

__attribute__((noinline)) int named(int x)
{
	return x + 1;
}

__attribute__((no_instrument_function)) int main(int argc, char **argv)
{
	__cyg_profile_func_enter(argv, 0);
	__cyg_profile_func_exit(argv + argc, 0);
	__cyg_profile_func_exit(argv, 0);
	return named(argc) == 0;
}
END
compile "$work/calls" "$work/calls.c" -O1 $sites

label=list:
run "$FLICK" list "$work/calls"
succeeded
[ "$(cat "$err")" = "sites: 2 usable, 0 refused, 3 unnamed" ] || fail "$label"
[ "$(wc -l <"$out")" = 2 ] || fail "$label lines"
run "$FLICK" list "$work/calls" 'nam*'
[ "$(cat "$err")" = "sites: 2 usable, 0 refused, 3 unnamed" ] || fail "$label of a pattern"

label="list --json:"
run "$FLICK" list --json "$work/calls"
succeeded
[ "$(tail -n 1 "$out")" = '{"usable": 2, "refused": 0, "unnamed": 3, "bodies": 0, "without_body": 0}' ] || fail "$label"
[ ! -s "$err" ] || fail "$label it writes to standard error"

label=doctor:
run "$FLICK" doctor "$work/calls"
succeeded
grep -q '^sites  *ok: 2 can have a probe' "$out" || fail "$label sites"
grep -q '^unnamed  *ok: 3 calls ' "$out" || fail "$label unnamed"
! grep -q '^refused' "$out" || fail "$label nothing is refused"

# A file of refused sites, and one of none.
label="doctor, pads too small:"
if [ "$(uname -m)" = x86_64 ]; then		# else one instruction is enough
	target recursion -O2 -fpatchable-function-entry=3
	run "$FLICK" doctor "$work/recursion"
	succeeded 1
	grep -q '^sites  *no: 0 can have a probe' "$out" || fail "$label sites"
	grep -q '^refused  *no: [1-9][0-9]*: .*short.*; build with a wider' "$out" || fail "$label why"
fi
label="doctor, no site of a compiler's:"
target recursion -O2
run "$FLICK" doctor "$work/recursion"
succeeded
grep -q '^functions  *ok: [1-9][0-9]* of [0-9]* as they are' "$out" || fail "$label"
label="doctor, no file:"
run "$FLICK" doctor "$work/none"
succeeded 1
grep -q '^sites  *no: .*No such file' "$out" || fail "$label"
label="doctor, two files:"
run "$FLICK" doctor "$work/calls" "$work/calls"
one_line_error 2 'more than one file'
