#!/bin/sh
# Paper 1's protocol for two lines is sound with a fence before each wait.
# timeout: 900
. "$ROOT/tests/model/check.inc"
model wait

holds "two patchers, two cores"
holds "two patchers, twice each" -DTRIES=2 -DCORES=1
holds "one patcher, there and back" -DTRIES=2 -DSTORERS=1
O=-Og
live "both end, and are followed" -DBOUND -DCORES=1
O=-O0

fails torn "as printed, without a fence" -DNO_FENCE
fails torn "no wait before the back" -DNO_WAIT_LOCK
fails torn "no wait before the front" -DNO_WAIT_BACK
fails "twice|torn" "the lock is looked at, then taken" -DPLAIN_LOCK
starves "elided for ever" -DSTORERS=1
verdict
