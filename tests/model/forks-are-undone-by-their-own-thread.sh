#!/bin/sh
# Forks of several threads, while flick is opened and closed and a place is changed.
# timeout: 300
. "$ROOT/tests/model/check.inc"
model forks

holds "two forks, an open and a close, a change"
holds "nothing is cut where nobody gives up" -DPATIENT

fails "wrong_mask|left" "what a fork took is noted for all threads" -DSHARED
fails "left|wrong_mask" "each handler asks for the owner anew" -DASK_ANEW
fails cut "a flag in place of a count" -DPATIENT -DFLAG
stuck "waits without an end" -DNO_END
stuck "a thread waits for its own fork" -DOWN_WAITS
fails half "what was cut is not put right" -DNOT_RIGHT
fails half "the turn is taken behind the first byte" -DTURN_LATE
verdict
