#!/bin/sh
# Marks of a set and locked claims exclude one another; one of all who want a place has it.
# timeout: 600
. "$ROOT/tests/model/check.inc"
model claims

holds "two sets and one, a place"
holds "the same, twice each" -DTRIES=2
holds "two sets of two places, in either order, and one" -DPLACES=2

fails "twice|half" "no fence behind the marks" -DNO_FENCE
fails "twice|half" "the look before the mark" -DLOOK_FIRST
fails "twice|half" "who wants one place compares its own mark" -DONE_BYTE
fails wasted "and gives way to a set's" -DGIVE_WAY
fails "twice|half" "two sets mark at a time" -DBOTH_CLAIM
fails left "a set that has lost keeps its marks" -DKEEP_MARK
fails half "left before the last store" -DLEAVE_FIRST
verdict
