#!/bin/sh
# Debian's own bzip2 and lua, with the libraries they bring: what they print is as without
# flick, and every function with a name is called as often as callgrind sees it, but those
# that flick says it cannot have.
# timeout: 300
. "$(dirname "$0")/../real/lib"
no_emulator programs
need sqlite3 valgrind bzip2 lua5.4
libraries "${FLICK_CALLGRIND_BYTES:-300000}"
cat >"$work/t.lua" <<'END'
local t = {}
for i = 1, 5000 do t[#t + 1] = string.format("%05d", i * 7919 % 20011) end
table.sort(t)
local co = coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end)
local s = 0
for i = 1, 100 do s = s + co() end
print(#table.concat(t, ","), s, pcall(error, "thrown"))
END
counted_as_callgrind_does 10 bzip2 -c "$input"
counted_as_callgrind_does 60 lua5.4 "$work/t.lua"
