#!/bin/sh
# The short path of each routine: a bound on its instructions, and nothing in it that waits,
# calls or locks, but what the program has bound. What stands behind the first `ret` is the
# long path. Planted: the same bounds, one lower, must not hold.
set -u
lib=$BUILD/libflick.so

path_of()		# ROUTINE: its instructions up to the first ret or jmp
{
	objdump -d --no-show-raw-insn "$lib" | awk -v f="<$1>:" '
		$2 == f { on = 1; next }
		on && NF == 0 { exit }
		on { sub(/^[^\t]*\t/, ""); print }
		on && /^(ret|jmp)/ { exit }'
}

check()			# ROUTINE MOST
{
	path_of "$1" >"$TMP/path"
	n=$(wc -l <"$TMP/path")
	echo "$1: $n instructions, at most $2"
	[ "$n" -gt 1 ] && [ "$n" -le "$2" ] &&
		! grep -E 'call +[^* ]|lock |xchg|cmpxchg|mfence|cpuid|syscall|@plt|fxsave|xsave' "$TMP/path"
}

bad=0
while read -r routine most; do
	check "$routine" "$most" || bad=1
	check "$routine" $((most - 1)) >/dev/null && { echo "$routine: the bound is loose"; bad=1; }
done <<EOF
fl_abi_time 20
fl_abi_count 11
fl_abi_after 8
fl_bare_after 15
fl_handler_call 27
fl_bare_time 31
fl_abi_twice 36
fl_bare_twice 47
fl_bare_count 15
flick_channel_put64 12
flick_channel_put32 12
EOF
exit $bad
