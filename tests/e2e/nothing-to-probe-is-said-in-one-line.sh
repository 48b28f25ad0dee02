#!/bin/sh
# No sites, a static program, a missing one, one that cannot be run.
. "$(dirname "$0")/lib"
need "$CC"
target threads -O2
for how in "" "-a counts"; do
	label="no sites $how:"
	record $how -- "$work/threads"
	one_line_error 1 'finstrument-functions'
done
target threads -O2 $sites -static
label="static:"
record -- "$work/threads"
one_line_error 1 static
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
[ "$status" -ne 0 ] || fail "recorded a text file"
