#!/bin/sh
# A handler may run after its commit, or in the next one: the trap stays ours.
# timeout: 900
. "$ROOT/tests/model/check.inc"
model late

holds "a place is claimed twice, changed four times"
holds "the program's own trap" -DFOREIGN
live "the last version is run" -DCOMMITS=1
live "the program gets its own trap" -DFOREIGN -DCOMMITS=1

fails stray "no second look at the claims" -DNO_LOOK_VERSION
fails stray "no second look at the motion" -DNO_LOOK_MOTION
fails stray "counted before it is in the list" -DVERSION_FIRST
fails stale "nothing to act as before the first choice" -DACTS_UNSET
fails ahead "what to act as, chosen before all that may fail" -DCHOOSE_EARLY
fails stray "a late trap is the program's" -DNO_RETRY
fails freed "handlers do not count themselves" -DNO_ENTER
fails freed "unclaim waits for no handler" -DNO_SETTLE
fails freed "no fence (D)" -DNO_FENCE
fails "stray|freed" "acts wherever the trap is" -DFOREIGN -DACT_ON_ALL
verdict
