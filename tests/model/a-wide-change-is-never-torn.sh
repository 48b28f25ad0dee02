#!/bin/sh
# Three phases: no core executes a mixture, who is held is let go, one patcher wins.
# timeout: 900
. "$ROOT/tests/model/check.inc"
model wide

holds "two patchers, two cores"
holds "two patchers, twice each" -DTRIES=2 -DCORES=1
holds "one patcher, there and back" -DTRIES=2 -DSTORERS=1
holds "threads pass" -DPARKED=NO_OP
holds "synchronised by waiting" -DBY_WAIT -DTRIES=2 -DSTORERS=1
live "a core runs the last version" -DSTORERS=1 -DCORES=1
live "the same, threads pass" -DSTORERS=1 -DCORES=1 -DPARKED=NO_OP
O=-Og
further live "all cores run the last version" -DSTORERS=1
further live "the same, threads pass" -DSTORERS=1 -DPARKED=NO_OP
live "both patchers end" -DCORES=1
O=-O0
live "by waiting, if staleness is bounded" -DCORES=1 -DSTORERS=1 -DBY_WAIT -DBOUND

fails torn "no sync after the park" -DNO_SYNC_PARK
fails torn "no sync after the tail" -DNO_SYNC_TAIL
fails torn "the tail before the park" -DTAIL_FIRST
fails torn "the head before the tail" -DHEAD_FIRST
fails torn "the sync is no fence" -DSYNC_NO_FENCE
fails torn "waiting without a fence" -DSYNC_NO_FENCE -DBY_WAIT -DSTORERS=1
fails torn "a mute park, no sync after it" -DPARKED=NO_OP -DNO_SYNC_PARK
fails "half|torn|twice" "given back before the head" -DBACK_EARLY
fails "torn|twice" "the motion is looked at, then taken" -DTAKE_RACE
starves "no head: nobody is let go" -DNO_HEAD -DSTORERS=1
starves "no sync after the head" -DNO_SYNC_HEAD -DSTORERS=1
starves "waiting, and no bound" -DCORES=1 -DSTORERS=1 -DBY_WAIT
verdict
