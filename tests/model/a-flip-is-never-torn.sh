#!/bin/sh
# One byte changes: every core executes the old instruction or the new one.
# timeout: 900
. "$ROOT/tests/model/check.inc"
model flip

holds "a probe is switched three times"
holds "by two threads at once" -DSTORERS=2
live "a core follows" -DALONE -DBOUND -DCORES=1 -DFLIPS=2
further live "all cores follow" -DALONE -DBOUND -DFLIPS=2
live "all cores follow, with a sync and no bound" -DFLIPS=1
live "whoever stored last" -DALONE -DBOUND -DSTORERS=2 -DCORES=1 -DFLIPS=2

fails torn "two bytes, two stores" -DTWO_BYTES
fails stale "no sync before the return" -DNO_SYNC
fails stale "the sync is no fence" -DSYNC_NO_FENCE
starves "elided for ever" -DALONE
verdict
