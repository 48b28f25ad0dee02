#!/bin/sh
# No sites, a static program, functions that are all refused, a missing one, one that cannot be run.
. "$(dirname "$0")/lib"
need "$CC"
target threads -O2
for how in "" "-a counts"; do
	label="no sites of the compiler's $how:"
	record $how $compilers -- "$work/threads"
	one_line_error 1 'no probe sites of the kinds that --provider names'
done
target threads -O2 $sites -static
label="static:"
record --all -- "$work/threads"
one_line_error 1 static
# Its profiling functions do nothing, and are one (FLICK_E_ONEHOOK): which calls are
# entries is not to be seen.
label="list of a static program:"
run "$FLICK" list --json "$work/threads"
succeeded
grep -q '"kind": "call".*"tactic": null.*static' "$out" || fail "$label no reason"
! grep -Eq '"kind": "(entry|exit)"' "$out" || fail "$label an entry, or an exit, is made up"
label="doctor of a static program:"
run "$FLICK" doctor "$work/threads"
[ "$status" -eq 1 ] || fail "$label status $status"
grep -q '^linked *no: .*without -static, or link libflick.a and use flick.h' "$out" ||
	fail "$label it does not say what to do"
label="doctor of a static program with flick.h:"
libraries="${BUILD:-$top/build}/libflick.a -Wl,-u,flick_open -Wl,--eh-frame-hdr" \
	target threads -O2 $sites -static
run "$FLICK" doctor "$work/threads"
! grep -q '^linked' "$out" || fail "$label it is told to link libflick.a"
run "$FLICK" list "$work/threads"
grep -q ' exit ' "$out" || fail "$label no exits"
label="doctor of a library:"
library swap-lib -O1 $sites
run "$FLICK" doctor "$work/swap-lib.so"
! grep -q '^linked' "$out" || fail "$label it is taken for a program"
# What is known when it is armed, or has not stopped the program, is said at its end.
target asks -O1
for how in "" --wait --follow; do
	label="all that is asked for is refused, $how:"
	run "$FLICK" count $how asks -- "$work/asks"
	one_line_error 1 '^flick: the one probe cannot be used: it calls dlopen'
	[ ! -s "$out" ] || fail "$label it prints what it has not"
done
label="missing:"
record -- "$work/not-there"
one_line_error 1 'not-there.*no such'
label="not executable:"
cp "$work/threads" "$work/plain-file"
chmod 644 "$work/plain-file"
record -- "$work/plain-file"
one_line_error 1 'permission|not executable'
label="a directory:"
record -- "$work"
one_line_error 1 'directory|permission|no such program'
label="text:"
echo "just text" >"$work/text"
chmod +x "$work/text"
record -- "$work/text"
one_line_error 1 'not an ELF file, nor a script .*; a shell.s script is recorded as `sh .*/text`'
record -- sh "$work/text"
[ "$status" -ne 2 ] && ! grep -q 'not an ELF' "$err" || fail "$label $(cat "$err")"
label="a script of nobody:"
echo '#!/nowhere/shell' >"$work/text"
record -- "$work/text"
one_line_error 1 '/text is a script for /nowhere/shell: No such file' 
