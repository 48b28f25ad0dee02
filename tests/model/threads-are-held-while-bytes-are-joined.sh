#!/bin/sh
# Several instructions become one: no thread is among them, and none stays held.
# timeout: 300
. "$ROOT/tests/model/check.inc"
model halt

holds "three threads, one of them created meanwhile"
holds "more laps" -DLAPS=3 -DN=2
holds "the holder may end" -DMORTAL
holds "who asks may give up" -DFICKLE
holds "both" -DMORTAL -DFICKLE

fails torn "one pass over the threads" -DONE_PASS
fails torn "nobody counts whom a pass lists" -DNO_COUNT
fails torn "frames of signals are not looked at" -DNO_FRAMES
fails torn "looked at, then stopped" -DLOOK_FIRST
fails torn "stored before threads are held" -DSTORE_EARLY
fails torn "let go before all is stored" -DRELEASE_EARLY
fails torn "the holder has ended, and bytes are stored" -DMORTAL -DSTORE_GONE
stuck "held for who does not ask any more" -DFICKLE -DPLAIN_HELD
verdict
