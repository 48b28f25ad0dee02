#!/bin/sh
# The channel's ring: each record once, whole, in order; no wake is missed.
# timeout: 900
. "$ROOT/tests/model/check.inc"
model channel

O=-Og
further holds "on TSO, shrinks twice" -DTIMEOUT -DSHRINK=2
holds "where stores leave in any order" -DTIMEOUT -DARM
further holds "a plain count, on TSO" -DTIMEOUT -DRECORDS=7 -DPLAIN_FILLED
further holds "a plain grant, on TSO" -DTIMEOUT -DRECORDS=7 -DPLAIN_GRANTED
holds "children are killed in their parent's slot" -DTIMEOUT -DKILLS=1 -DRECORDS=7
further holds "two children are killed" -DTIMEOUT -DKILLS=2 -DRECORDS=7
further holds "children are killed, any order" -DTIMEOUT -DKILLS=1 -DRECORDS=7 -DARM
further holds "no wake is missed"
holds "no wake is missed, any order" -DRECORDS=7 -DARM
further holds "no wake of more is missed, any order" -DARM
further fails stray "taken back without another look" -DTIMEOUT -DNO_LOOK_CLAIMED

O=-O0
holds "a plain pointer, on TSO" -DTIMEOUT -DRECORDS=7 -DPLAIN_PTR
holds "no fence (M): the next chunk rings again" -DRECORDS=7 -DNO_FENCE_M
from_last fails stray "no fence (Q)" -DTIMEOUT -DNO_FENCE_Q
from_last fails stray "no fence (R)" -DTIMEOUT -DNO_FENCE_R
fails wrong "a plain pointer, any order" -DTIMEOUT -DPLAIN_PTR -DARM
fails wrong "a plain count, any order" -DTIMEOUT -DPLAIN_FILLED -DARM
fails missing "a plain grant, any order" -DTIMEOUT -DPLAIN_GRANTED -DARM
fails wrong "the pointer before the record" -DTIMEOUT -DPTR_FIRST
fails wrong "read before the count" -DTIMEOUT -DEARLY_READ
fails stray "granted before it is read" -DTIMEOUT -DGRANT_FIRST
fails wrong "a chunk that follows itself" -DTIMEOUT -DSAME_PLACE -DSHRINK=0
fails stray "a chunk that is not granted" -DTIMEOUT -DNO_LOOK
fails wrong "counted by its claim" -DTIMEOUT -DKILLS=1 -DCOUNT_CLAIMED -DRECORDS=7
stuck "no fence (N)" -DNO_FENCE_N
stuck "no fence (O)" -DNO_FENCE_O
stuck "no fence (P)" -DNO_FENCE_P
stuck "the flag cleared after the bell" -DARM -DRELAXED_BELL -DRECORDS=7
stuck "two who write the flag, and no time-out" -DTWO_OWNERS
verdict
