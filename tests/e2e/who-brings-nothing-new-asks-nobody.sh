#!/bin/sh
# A process of a family that brings no site that another has not brought asks the recorder
# nothing: it runs to its end while the recorder is stopped, and is recorded. What the
# others have brought stays theirs.
. "$(dirname "$0")/lib"
no_emulator forks
need sqlite3 "$CC"
target nothing-new -O2 $sites

record $compilers --follow -a counts -- "$work/nothing-new"
succeeded
exact
[ "$(sql "select count(*) from sites where state = 'gone'")" = 0 ] || fail "they are gone"
