#!/bin/sh
# Probes are switched while the loader unmaps their module: no store meets nothing.
# timeout: 300
. "$ROOT/tests/model/check.inc"
model freeze

holds "two freezes" -DSETS=0
holds "sequences, and who has the lock" -DFREEZES=1 -DWISHES=1
holds "with a lock that the loader wants, too" -DLOCKS -DFREEZES=1 -DWISHES=1
holds "each switch takes the lock" -DWITH_LOCK -DFREEZES=1
holds "restarts come to be denied" -DDENIED -DSETS=0
holds "a fork is between two freezes" -DFORK -DPATIENT
holds "a fork in the way of a freeze" -DFORK
holds "modules are read meanwhile" -DSCAN
holds "sleds that the program has back" -DYIELD -DWISHES=2
holds "the same, with locks" -DYIELD -DWITH_LOCK
holds "the end" -DEND
holds "the end, restarts are denied" -DEND -DDENIED
holds "the end, with locks" -DEND -DWITH_LOCK

fails stray "nobody is restarted" -DNO_RESTART
fails stray "restarted, then the flag" -DRESTART_FIRST
fails stray "the flag is looked at too early" -DLOOK_BEFORE
fails stray "what is armed is looked at too early" -DARMED_BEFORE
fails stray "thawed, then forgotten" -DTHAW_FIRST
fails unlike "no fence (D)" -DNO_FENCE_D
fails unlike "no fence (E)" -DNO_FENCE_E
fails unlike "who deferred does not look again" -DNO_LOOK_AGAIN
fails unlike "a probe's mark is cleared late" -DCLEAR_LATE
fails unlike "the mark of all is cleared late" -DALL_CLEAR_LATE
fails unlike "the thaw looks once" -DONE_LOOK
fails unlike "the thaw looks before it has stored" -DNO_FENCE_SO
from_last stuck "the lock is held from freeze to thaw" -DLOCKS -DKEEP_LOCK
stuck "who switches waits for the thaw" -DLOCKS -DWAIT_THAW
fails stray "denied, and no wait" -DDENIED -DNO_WAIT
fails stray "denied, and one wait for all" -DDENIED -DWAIT_ONCE
fails cut "forks are waited for, then locked out" -DFORK -DPATIENT -DLOOK_THEN_LOCK
fails gone "listed, then looked" -DSCAN -DLIST_FIRST
fails gone "nobody counts how often modules went" -DSCAN -DNO_COUNT
fails stray "said to be armed, then armed" -DYIELD -DNOTE_EARLY
fails unlike "nobody looks what was wished" -DYIELD -DNO_FOLLOW
fails unlike "a wish that has not left" -DYIELD -DNO_FENCE_Y
fails unlike "a wish that has not left, once more" -DYIELD -DNO_FENCE_AGAIN
fails left_on "switched off, then held" -DEND -DOFF_FIRST
fails unlike "two switch one probe at once" -DAT_ONCE -DFREEZES=0
verdict
