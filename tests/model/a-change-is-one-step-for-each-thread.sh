#!/bin/sh
# What is recorded changes: each thread goes from all that was to all that is to be, once.
# timeout: 600
. "$ROOT/tests/model/check.inc"
model commit

holds "one probe goes off, another on"
holds "and back again" -DCOMMITS=2 -DCALLS=3
holds "under two threads" -DCALLERS=2 -DCALLS=2

fails back "no progress before text is on" -DNO_W1
fails back "none before the index is switched" -DNO_W2
fails "back|late" "none before all is settled" -DNO_W3
fails lingers "none before the return" -DNO_W4
fails late "who has asked is not waited for" -DNO_AWAIT
fails "back|stale" "a probe that goes off is led to its action" -DDIRECT_OFF
verdict
