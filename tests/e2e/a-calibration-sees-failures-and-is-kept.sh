#!/bin/sh
# flick calibrate: controls fail, the result is kept, read back, and told apart
# from one of another processor and from a damaged one.
#
# timeout: 400
# alone: it needs two processors
. "$(dirname "$0")/lib"
no_emulator calibrate
[ "$(nproc)" -ge 2 ] || skip "one processor cannot change code under another"
kept=$work/config/flick/calibration
export FLICK_CALIBRATION="$kept"

calibrate() {
	label="flick calibrate $*:"
	run "$FLICK" calibrate "$@"
}

limit=300
calibrate --show
one_line_error 1 'not calibrated'

calibrate --quick
succeeded
# FAILED/RUNS of each control, equal and not 0.
awk '/^two halves/ {
		n++
		for (i = 1; i <= NF; i++)
			if (split($i, r, "/") == 2 && (r[2] == 0 || r[1] != r[2]))
				bad = 1
	}
	END { exit bad || n < 3 }' "$out" || fail "a control did not fail"
grep -Eq '^locked 8 .* 0/[1-9]' "$out" || fail "no locked store was tried"
grep -Eq '^ *10000 .* [01]/[1-9]' "$out" || fail "the longest wait was not tried"
grep -q "kept in $kept" "$out" || fail "it does not say where the result is"
for key in flick-calibration cpu t_max line toggles stores time end; do
	[ "$(grep -cE "^$key( |$)" "$kept")" = 1 ] || fail "$key is not kept once"
done
head -n 1 "$kept.svg" | grep -q '^<svg ' && tail -n 1 "$kept.svg" | grep -qx '</svg>' ||
	fail "the chart is no SVG"
[ "$(grep -c '<polyline' "$kept.svg")" = 3 ] || fail "the chart has not three lines"
[ "$(ls "$work/config/flick")" = "calibration
calibration.svg" ] || fail "something else was left: $(ls "$work/config/flick")"

if grep -q '^t_max [0-9]' "$kept"; then
	calibrate --show
	succeeded
	grep -q 'fits this machine' "$out" || fail "--show does not say that it fits"
fi

# What is there when it is interrupted stays.
cp "$kept" "$work/before"
timeout -s INT 1 "$FLICK" calibrate --seconds 100 >"$out" 2>"$err"
cmp -s "$kept" "$work/before" || fail "an interrupt changed what was kept"
[ "$(ls "$work/config/flick" | wc -l)" = 2 ] || fail "an interrupt left a file"

sed 's/^cpu [^ ]* /cpu Another /' "$work/before" >"$kept"
calibrate --show
one_line_error 1 'another processor'
sed '$d' "$work/before" >"$kept"
calibrate --show
one_line_error 1 'no usable calibration'

printf 'flick-calibration 1\ncpu \033]0;x\007\n' >"$kept"
calibrate --show
one_line_error 1 'no usable calibration'
! grep -q "$(printf '\033')" "$out" || fail "it prints what a terminal obeys"
