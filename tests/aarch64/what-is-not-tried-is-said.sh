#!/bin/sh
# AArch64: `calibrate` and `selftest` try nothing there, and say why in one line; `doctor` says that
# an emulator runs it, and that the clock is steady, which the architecture says. Accesses and
# paths are not told there: who asks for them is told so, and no program is run.
. "$(dirname "$0")/lib"

one_line()		# COMMAND...: it fails, and says so in a line
{
	flick "$@" >"$TMP/out" 2>"$TMP/err" && fail "$*: exit status 0"
	[ ! -s "$TMP/out" ] && [ "$(wc -l <"$TMP/err")" = 1 ] &&
		grep -q '^flick: nothing was [a-z]*: an instruction of AArch64 is one aligned word' "$TMP/err" ||
		fail "$*: $(cat "$TMP/out" "$TMP/err")"
}
HOME=$TMP XDG_CONFIG_HOME=$TMP
export HOME XDG_CONFIG_HOME
unset FLICK_CALIBRATION
one_line calibrate --quick
one_line selftest
[ ! -e "$TMP/flick" ] || fail "a calibration was kept"
flick doctor >"$TMP/out" 2>&1
if ! grep -q '^CPU implementer' /proc/cpuinfo; then
	grep -q '^cpu  *limited: .*emulator' "$TMP/out" || fail "doctor: $(cat "$TMP/out")"
fi
grep -q '^tsc  *ok: ' "$TMP/out" || fail "doctor: $(cat "$TMP/out")"

target untold "$ROOT/tests/targets/steady.c"
for what in "cache accesses to memory" "paths paths"; do
	flick record --text=kick -o "$TMP/data" -a "${what%% *}" "$TMP/untold" >"$TMP/out" 2>"$TMP/err" &&
		fail "-a ${what%% *}: exit status 0"
	[ ! -s "$TMP/out" ] && [ "$(wc -l <"$TMP/err")" = 1 ] &&
		grep -q "^flick: ${what#* } are told on x86-64 alone, not on AArch64\$" "$TMP/err" ||
		fail "-a ${what%% *}: $(cat "$TMP/out" "$TMP/err")"
done
