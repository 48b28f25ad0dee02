#!/bin/sh
# While a process of a family forks no module is unloaded; when the fork is over nobody
# waits for it. A fork does not wait for a module that takes long to go, either: its child
# is not recorded, which is said. What a handler forks in a fork is not the fork's child.
. "$(dirname "$0")/lib"
no_emulator forks
need sqlite3 "$CC"
target fork-unload -O2 $sites
library family-lib -O2 $sites

record --follow -a counts -- "$work/fork-unload" "$work/family-lib.so"
succeeded
exact
grep -q '^flick: 1 process was not recorded: ' "$err" || fail "that is not said"
