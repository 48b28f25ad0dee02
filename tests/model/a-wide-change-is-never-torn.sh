#!/bin/sh
# Three phases: no core executes a mixture, no trap strays, one patcher wins.
# timeout: 900
. "$ROOT/tests/model/check.inc"
model wide

holds "two patchers, two cores"
holds "two patchers, twice each" -DTRIES=2 -DCORES=1
holds "one patcher, there and back" -DTRIES=2 -DSTORERS=1
holds "a park that does not trap" -DPARKED=NO_OP
holds "acting as the old instruction" -DACT_AS_OLD -DTRIES=2 -DSTORERS=1
holds "synchronised by waiting" -DBY_WAIT -DTRIES=2 -DSTORERS=1
live "all cores run the last version" -DSTORERS=1
live "both patchers end" -DCORES=1
live "by waiting, if staleness is bounded" -DCORES=1 -DSTORERS=1 -DBY_WAIT -DBOUND

fails torn "no sync after the park" -DNO_SYNC_PARK
fails torn "no sync after the tail" -DNO_SYNC_TAIL
fails torn "the tail before the park" -DTAIL_FIRST
fails torn "the head before the tail" -DHEAD_FIRST
fails torn "the sync is no fence" -DSYNC_NO_FENCE
fails torn "waiting without a fence" -DSYNC_NO_FENCE -DBY_WAIT -DSTORERS=1
fails torn "a mute park, no sync after it" -DPARKED=NO_OP -DNO_SYNC_PARK
fails stray "taken after the park" -DTAKE_LATE -DSTORERS=1
fails stale "what to act as, said after the park" -DACTS_LATE -DSTORERS=1
fails "stray|torn|twice" "given back before the head" -DBACK_EARLY
fails stray "a late trap is the program's" -DNO_RETRY -DSTORERS=1
fails stray "no second look at the motion" -DNO_RECHECK -DTRIES=2 -DSTORERS=1
fails "stray|torn|twice" "the motion is looked at, then taken" -DTAKE_RACE
starves "no sync after the head" -DNO_SYNC_HEAD -DSTORERS=1
starves "waiting, and no bound" -DCORES=1 -DSTORERS=1 -DBY_WAIT
verdict
