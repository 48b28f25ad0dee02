#!/bin/sh
# The channel's ring: each record once, whole, in order; no wake is missed.
# timeout: 900
. "$ROOT/tests/model/check.inc"
model channel

holds "on TSO" -DTIMEOUT
holds "where stores leave in any order" -DTIMEOUT -DARM
holds "a plain pointer, on TSO" -DTIMEOUT -DPLAIN_PTR
holds "a plain count, on TSO" -DTIMEOUT -DPLAIN_FILLED
holds "no wake is missed" -DOWN_FLAG
holds "no wake is missed, any order" -DOWN_FLAG -DARM

fails wrong "a plain pointer, any order" -DTIMEOUT -DPLAIN_PTR -DARM
fails wrong "a plain count, any order" -DTIMEOUT -DPLAIN_FILLED -DARM
fails wrong "the pointer before the record" -DTIMEOUT -DPTR_FIRST
fails wrong "read before the count" -DTIMEOUT -DEARLY_READ
fails wrong "freed before it is read" -DTIMEOUT -DFREE_FIRST
fails wrong "a chunk that is not free" -DTIMEOUT -DNO_LOOK_FREED
stuck "no fence (M)" -DOWN_FLAG -DNO_FENCE_M
stuck "no fence (N)" -DOWN_FLAG -DNO_FENCE_N
stuck "no fence (O)" -DOWN_FLAG -DNO_FENCE_O
stuck "no fence (P)" -DOWN_FLAG -DNO_FENCE_P
stuck "the flag cleared after the bell" -DOWN_FLAG -DARM -DRELAXED_BELL
stuck "two who write the flag, and no time-out"
verdict
