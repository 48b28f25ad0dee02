#!/bin/sh
# No test of a model passes on less than a complete search, or another fault.
# timeout: 300
cat >"$TMP/small.pml" <<'EOF'
bool bad, other;
byte n;

active proctype P()
{
	do
	:: n < 30 -> n++
	:: n == 30 -> break
	od;
#ifdef BAD
	bad = true;
#endif
#ifdef OTHER
	other = true;
#endif
	assert(!bad);
	assert(!other)
#ifdef DEAD
	; n == 31
#endif
#ifdef WRONG
	(
#endif
#ifdef LIVE
	; do :: n = 29 + (n == 29 -> 1 : 0) od
#endif
}

#ifdef LIVE
ltl live { <> [] (n >= LEAST) }
#endif
EOF
bad=0

# passes WANTED WHAT COMMAND...: do these lines of check.inc pass, 0 or 1?
passes()
{
	wanted=$1 what=$2
	shift 2
	( . "$ROOT/tests/model/check.inc"
	  models=$TMP
	  model small
	  "$@"
	  verdict ) >"$TMP/out" 2>&1
	got=$?
	[ $got -ne 0 ] && got=1
	[ $got = "$wanted" ] && return
	echo "$what: exit status $got"
	sed 's|^|\| |' "$TMP/out"
	bad=1
}
two() { holds "sound"; fails bad "a fault" -DBAD; }
short() { DEPTH=10 holds "short"; }
above=-DLEAST=29 never=-DLEAST=30

passes 0 "a sound model and its twin" two
passes 0 "either fault" fails "bad|other" "twin" -DOTHER
passes 0 "a dead end" stuck "twin" -DDEAD
passes 0 "a formula that holds" live "sound" "$above"
passes 0 "a formula that does not" starves "twin" "$never"
passes 1 "a model that fails" holds "fails" -DBAD
passes 1 "a dead end taken for sound" holds "dead end" -DDEAD
passes 1 "a search cut short" short
passes 1 "a model that is none" holds "wrong" -DWRONG
passes 1 "a formula that fails" live "fails" "$never"
passes 1 "a twin that is sound" fails bad "sound"
passes 1 "a twin with another fault" fails bad "another" -DOTHER
passes 1 "a twin that is none" fails bad "wrong" -DWRONG
passes 1 "a fault taken for a dead end" stuck "fault" -DBAD
passes 1 "a twin whose formula holds" starves "sound" "$above"
passes 1 "no line at all" true
exit $bad
