#!/bin/sh
# AArch64: herd7, with Arm's model of instruction fetches, gives each of docs/models/*.litmus the
# verdict that its second line expects: Forbidden, or Allowed for the twins, whose step is left out.
# timeout: 300
bad=0 n=0
for t in "$ROOT"/docs/models/*.litmus; do
	name=$(sed -n '1s/^AArch64 //p' "$t")
	want=$(sed -n '2s/^"\([A-Z][a-z]*\): .*"$/\1/p' "$t")
	[ "$name.litmus" = "$(basename "$t")" ] || { echo "$t: its first line has another name"; bad=1; }
	case $want in
	Forbidden | Allowed) n=$((n + 1)) ;;
	*) echo "$t: its second line expects nothing"; bad=1 ;;
	esac
done
[ $bad = 0 ] && [ $n -ge 4 ] || exit 1
command -v herd7 >/dev/null || { echo "no herd7: Debian has none; opam install herdtools7"; exit 77; }
for t in "$ROOT"/docs/models/*.litmus; do
	want=$(sed -n '2s/^"\([A-Z][a-z]*\): .*"$/\1/p' "$t")
	herd7 -variant ifetch "$t" >"$TMP/out" 2>&1 || { cat "$TMP/out"; exit 1; }
	case $(sed -n 's/^Observation [^ ]* \([A-Z][a-z]*\) .*/\1/p' "$TMP/out") in
	Never) is=Forbidden ;;
	Sometimes | Always) is=Allowed ;;
	*) is="no verdict: $(tail -n 3 "$TMP/out")" ;;
	esac
	echo "$(basename "$t"): $want, herd7: $is"
	[ "$is" = "$want" ] || bad=1
done
exit $bad
