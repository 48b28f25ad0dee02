#!/bin/sh
# --follow: what cannot be recorded is counted and said, or leaves no trace; the
# rest is exact.
# timeout: 300
. "$(dirname "$0")/lib"
no_emulator forks
need sqlite3 "$CC"
target family -O2 $sites

told() {	# PATTERN
	grep -q -- "$1" "$err" || fail "$label nothing is said of it: $1"
}

if unshare -p true 2>/dev/null; then
	label="a pid namespace:"
	record $compilers -f -a counts -- "$work/family" space 5
	succeeded
	exact
	told '^flick: 1 process was not recorded: a pid namespace of its own$'
	label="a program in a pid namespace:"
	record $compilers -f -a counts -- sh -c "unshare -p -f $work/family plain >/dev/null;
		$work/family plain"
	succeeded
	exact
	told '^flick: 2 processes were not recorded: a pid namespace of its own$'
fi

# Each has a row for good. Those beyond run as they are; nobody waits for them.
label="more than 4096:"
record $compilers -f -a counts --sites=131072 -- "$work/family" bomb 4200
succeeded
conserved
told 'not recorded: there is room for 4096'
left=$(sed -n 's/^flick: \([0-9]*\) process.*room for 4096/\1/p' "$err")
[ "$left" -eq 105 ] || fail "$label $left are left out, not 105"
got=$(sql "select sum(calls) from $(rows counts) where name = 'work'")
[ "$got" -eq 4095 ] || fail "$label $got calls of work, not 4095"

# A thread, or pages, that only the child asks for.
for fault in clone:2+ memfd_create:7+; do
	label="$fault:"
	FLICK_FAULT=$fault record $compilers -f -a counts --text=alias -- "$work/family" fork 3
	succeeded
	[ "$(sql "select count(distinct pid) from threads")" -eq 1 ] ||
		fail "$label a child is recorded"
	got=$(sql "select sum(calls) from $(rows counts) where name = 'work'")
	[ "$got" -eq 3 ] || fail "$label $got calls of work, not 3"
	told '^flick: 3 processes were not recorded: it had no memory or no thread to spare$'
done

# Without the library, and again with it.
cat >"$work/static.c" <<'C'
#include <unistd.h>
int main(int argc, char **argv) { return execv(argv[1], argv + 1); }
C
if "$CC" -static -o "$work/static" "$work/static.c" 2>/dev/null; then
	label="a static program between:"
	record $compilers -f -a counts -- sh -c "$work/static $work/family nested 1; $work/family plain"
	succeeded
	exact
	lossless
fi
label="another environment:"
record $compilers -f -a counts -- sh -c "env -i $work/family plain >/dev/null; $work/family plain"
succeeded
exact
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	label="set-user-ID:"
	chmod 755 "$work"
	cp "$work/family" "$work/other"
	chmod 4755 "$work/other"
	record $compilers -f -a counts -- sh -c "setpriv --reuid 65534 --clear-groups \
		$work/other plain >/dev/null; $work/family plain"
	succeeded
	exact
fi

label="no sites anywhere:"
record $compilers -f -- sh -c 'true; true'
one_line_error 1 'neither sh nor what it started has probe sites'
label="a pattern that is wrong:"
record $compilers -f -a counts -P leaf -P wrok -- sh -c "$work/family plain"
succeeded
told 'no function with a probe matches `wrok`; did you mean `work`?'
label="only patterns that are wrong:"
record $compilers -f -a counts -P wrok -- sh -c "$work/family plain"
one_line_error 1 'did you mean `work`'

# Without --follow all is as ever.
label="not followed:"
record -a counts -- "$work/family" fork 3
succeeded
[ "$(sql "select count(distinct pid) from threads")" -eq 1 ] || fail "$label a child is there"
got=$(sql "select sum(calls) from $(rows counts) where name = 'work'")
[ "$got" -eq 3 ] || fail "$label $got calls of work, not 3"
