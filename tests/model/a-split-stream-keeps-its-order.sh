#!/bin/sh
# Threads that share one stream of accesses by sets keep each set's order, and end.
# timeout: 300
. "$ROOT/tests/model/check.inc"
model split

holds "three parts, two rounds of two" -DLENGTH=2
holds "three parts, a round of four" -DLENGTH=4 -DROUNDS=1
holds "two parts, three rounds" -DPARTS=2 -DLENGTH=2 -DROUNDS=3
live "two parts, two rounds" -DPARTS=2 -DLENGTH=2

fails "disorder|twice|missed" "the lower does not wait" -DNO_ARRIVED -DLENGTH=2
fails "disorder|twice|missed" "the higher does not wait" -DNO_PASSED -DLENGTH=2
fails "disorder|twice|missed" "a round ends before all are done" -DNO_DONE -DLENGTH=2
stuck "numbers go on before all are done" -DEARLY -DLENGTH=2
verdict
