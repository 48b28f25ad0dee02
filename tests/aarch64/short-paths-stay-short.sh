#!/bin/sh
# AArch64: the short path of each routine, a bound on its instructions, and nothing in it that
# waits, calls or locks; what is off is one NOP or one B. Planted: the bounds, one lower, must
# not hold. Reading the code says so, no time: it is not run on a processor.
. "$(dirname "$0")/lib"

path_of()		# ROUTINE: its instructions up to the first ret or jump
{
	aarch64-linux-gnu-objdump -d --no-show-raw-insn "$A64/libflick.so" | awk -v f="<$1>:" '
		$2 == f { on = 1; next }
		on && NF == 0 { exit }
		on { sub(/^[^\t]*\t/, ""); print }
		on && /^(ret|b|br)([ \t]|$)/ { exit }'
}

check()			# ROUTINE MOST
{
	path_of "$1" >"$TMP/path"
	n=$(wc -l <"$TMP/path")
	echo "$1: $n instructions, at most $2"
	[ "$n" -gt 1 ] && [ "$n" -le "$2" ] &&
		! grep -E '^(bl|blr|svc|dsb|isb|ld[a]?xr|st[l]?xr|cas|ldadd|swp)' "$TMP/path"
}

bad=0
while read -r routine most; do
	check "$routine" "$most" || bad=1
	check "$routine" $((most - 1)) >/dev/null && { echo "$routine: the bound is loose"; bad=1; }
done <<END
fl_abi_time 17
fl_abi_count 14
fl_abi_after 15
fl_bare_time 23
fl_bare_count 20
fl_bare_after 21
fl_abi_call 3
END
[ "$(path_of fl_abi_time | grep -c '^stlr')" = 1 ] || fail "a record is not committed by a release"
exit $bad
