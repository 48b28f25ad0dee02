#!/bin/sh
# What is recorded changes: each thread goes from all that was to all that is to be, once.
# timeout: 600
. "$ROOT/tests/model/check.inc"
model commit

holds "one probe goes off, another on"
holds "and back again" -DCOMMITS=2 -DCALLS=3
holds "under two threads" -DCALLERS=2 -DCALLS=2
holds "one probe alone, thrice" -DONE -DCOMMITS=3
holds "one that has not been on before" -DONE -DCOMMITS=3 -DNEVER_ON
O=-Og
holds "one under two threads" -DONE -DCOMMITS=2 -DCALLERS=2 -DCALLS=3
O=-O0

fails back "no progress before text is on" -DNO_W1
fails back "none before the index is switched" -DNO_W2
fails "back|late" "none before all is settled" -DNO_W3
fails lingers "none before the return" -DNO_W4
fails late "who has asked is not waited for" -DNO_AWAIT
fails "back|stale" "a probe that goes off is led to its action" -DDIRECT_OFF
fails "stale|lingers" "no progress behind one probe" -DONE -DNO_W3
fails late "who has asked of one is not waited for" -DONE -DCOMMITS=3 -DNO_AWAIT
fails back "one is on for who stood there, and not for who comes" -DONE -DCOMMITS=2 -DNO_W2
fails back "one is off for who stood there" -DONE -DCOMMITS=3 -DON_ALONE
fails back "one that goes on is led to the index" -DONE -DCOMMITS=2 -DNEVER_ON -DLED_ON
verdict
