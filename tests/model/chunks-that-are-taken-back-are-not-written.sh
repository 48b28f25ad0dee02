#!/bin/sh
# Chunks of a pool are granted to a thread and taken back: each has one owner.
# timeout: 300
. "$ROOT/tests/model/check.inc"
model lease

O=-Og
holds "grants come and go"
holds "children are killed in their parent's slot" -DKILLS=1
holds "a claim is not undone" -DNO_UNDO
O=-O0

fails "wrong|stray" "no fence (Q)" -DNO_FENCE_Q
from_last fails "wrong|stray" "no fence (R)" -DNO_FENCE_R
fails "wrong|stray" "no second look" -DNO_LOOK
fails "wrong|stray" "given away, then looked" -DGIVEN_FIRST
fails "wrong|stray" "the grant before the place" -DPLACE_LATE
fails "wrong|stray" "granted before it is read" -DGRANT_FIRST
fails stray "written, then claimed" -DCLAIM_LATE
fails stray "taken apart while its thread lives" -DEND_EARLY
verdict
