#!/bin/sh
# Threads that share one stream of accesses by sets keep each set's order, and end.
# timeout: 300
. "$ROOT/tests/model/check.inc"
model split

O=-Og
holds "three parts, three rounds of one" -DLENGTH=1 -DROUNDS=3
holds "three parts, a round of three" -DLENGTH=3 -DROUNDS=1
O=-O0
holds "two parts, two rounds of three" -DPARTS=2
holds "two parts, three rounds" -DPARTS=2 -DLENGTH=2 -DROUNDS=3
live "two parts, two rounds" -DPARTS=2 -DLENGTH=2

fails "disorder|twice|missed" "the lower does not wait" -DNO_ARRIVED -DLENGTH=2
fails "disorder|twice|missed" "the higher does not wait" -DNO_PASSED -DLENGTH=2
fails "other_round" "who has dealt does not wait for others" -DNO_DEALT -DLENGTH=2
from_last fails "other_round|disorder|missed" "there is room for one round" -DONE_ROOM -DLENGTH=2
fails "missed" "a round is done when the caller's part is" -DNO_SETTLE -DLENGTH=2
stuck "each has its own numbers" -DOWN_NUMBERS -DLENGTH=2
verdict
