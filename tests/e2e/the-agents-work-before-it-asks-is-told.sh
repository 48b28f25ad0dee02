#!/bin/sh
# What the agent does before it asks what is wanted, reading the program's code, no sample has:
# events of the kernel's are opened meanwhile. It is in what a recording says of the agent all
# the same. gdb has much code to read, and one function of it is asked for.
. "$(dirname "$0")/lib"
need gdb
cat >"$work/loop.gdb" <<'END'
set $i = 0
while $i < 40000
set $i = $i + 1
end
END
record -P g_main_depth -- gdb -nx -batch -x "$work/loop.gdb"
agent=$(sed -n 's/^cost: .*, agent \([0-9]*\) ms at start.*/\1/p' "$err")
[ "${agent:-0}" -ge 50 ] || fail "the agent took ${agent:-no} ms: $(grep '^cost' "$err")"
[ "$agent" -le 5000 ] || fail "the agent took $agent ms"
