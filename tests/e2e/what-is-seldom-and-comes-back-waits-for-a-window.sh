#!/bin/sh
# A library whose functions cost too much to count is unloaded and loaded again: they are
# counted in windows alone, so what is told of them is about what they were called: not
# some twenty times that. (Beside others on a machine windows tell too little.)
# timeout: 60
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
target comes-back -O2 $sites -ldl
name=comes-back-lib
compile "$work/$name.so" "$targets/comes-back.c" -shared -fPIC -O2 -DLIBRARY $sites
record -- "$work/comes-back" "$work/$name.so" 1500
succeeded
conserved
about hot 6
counted=$(sql "select counted < calls / 3 from $(rows latency) where name = 'hot'")
[ "$counted" = 1 ] || fail "it is counted between windows"
