#!/bin/sh
# Who has changed the bytes of an entry wants to change them back: a function in which a
# debugger's trap stands has no second body, and its debugger stops there as often as it is
# called. The others have theirs.
. "$(dirname "$0")/lib"
need sqlite3 gdb "$CC"
export TRUTH_THREADS= FLICK_BODIES=1
target threads -O2
rm -rf "$data"
cat >"$work/gdb" <<EOF
set breakpoint pending on
set startup-with-shell off
set follow-fork-mode child
set detach-on-fork on
catch exec
run
delete 1
break *twig
set \$n = 0
commands
silent
set \$n = \$n + 1
continue
end
continue
printf "stopped %d\n", \$n
EOF
run gdb -q -nx -batch -x "$work/gdb" --args "$FLICK" record -a counts -o "$data" \
	-- "$work/threads" 1 300
grep -q '^count twig' "$out" || skip "gdb does not follow here: $(tail -n 1 "$out")"
stopped=$(sed -n 's/^stopped //p' "$out")
[ "$stopped" = "$(awk '$2 == "twig" { print $3 }' "$out")" ] ||
	fail "gdb stopped $stopped times"
sed -i '/^count twig/d' "$out"
exact
n=$(sql "select count(*) from sites s join functions f on f.id = s.function
	where f.name = 'twig' and s.kind = 'entry' and s.refusal")
[ "$n" -eq 1 ] || fail "the function with a trap is not refused"
