#!/bin/sh
# A ticket is passed when a sync that began after the stores has ended.
# timeout: 900
. "$ROOT/tests/model/check.inc"
model tickets

holds "two changes under way"
holds "synchronised by waiting" -DBY_WAIT
live "both end"
live "both end, by waiting" -DBY_WAIT

fails unshared "two changes, six syncs" -DNONE_SHARED
fails torn "a ticket before the stores are visible" -DNO_FENCE
fails torn "the same, by waiting" -DNO_FENCE -DBY_WAIT
fails torn "a ticket for the sync that runs" -DTICKET_RUNNING
fails torn "counted when it ends" -DBEGUN_LATE
fails torn "ended before it ran" -DENDED_EARLY
fails torn "one ticket for park and tail" -DONE_TICKET
fails torn "no look at the ticket" -DNO_LOOK
verdict
