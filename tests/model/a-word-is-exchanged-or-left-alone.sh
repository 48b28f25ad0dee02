#!/bin/sh
# AArch64: who follows the new instruction finds what it leads to, the old one is gone behind
# the sync, and what may not be exchanged is stored where nobody runs.
# timeout: 600
. "$ROOT/tests/model/check.inc"
model exchange

holds "a listed word changes under two cores"
holds "one that is not listed, before they run" -DOLD_UNLISTED -DALONE

fails stray "the site before its glue" -DSITE_FIRST
fails stray "glue is not cleaned" -DNO_CLEAN
fails stray "glue is cleaned before it is stored" -DNO_WAIT
fails stray "caches keep what was there" -DNO_DROP
fails stale "no sync before the return" -DNO_SYNC
fails stale "caches keep the old word" -DNO_SITE_DROP
fails wild "one that is not listed, under them" -DOLD_UNLISTED
verdict
