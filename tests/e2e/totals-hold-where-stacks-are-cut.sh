#!/bin/sh
# Samples tell who called no further than what was copied of a stack, and than tables for
# unwinding go. Totals of short calls that stand further up are not those of the few samples
# that they are in, nor are others' as large as if all samples were of whom stacks tell.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
. "$here/totals-lib"

# Timed ones may have been held up: not so samples. One that was, for more than a millisecond,
# makes an average of calls that may have slept: then nothing tells.
holds() {	# FUNCTION CALLED
	total=$(value total_ns $1)
	[ -n "$total" ] || [ "$(value avg_ns $1)" -lt 1000 ] || return 0
	[ "${total:-0}" -gt $(($2 * 6 / 10)) ] ||
		fail "$label $1's total: ${total:-none}, and what it calls has $2"
}

# What calls of large() took by samples: 20 of leaf() each.
in_large() {
	leaves=$(($(value self_ns leaf) * 20 * $(value calls large) / $(value calls leaf)))
	say $((leaves + $(value self_ns large)))
}

# Where nothing has tables all stacks are cut: of what calls nothing that is nothing.
for tables in "" "-fno-asynchronous-unwind-tables -fno-unwind-tables"; do
	label=${tables:-with tables}:
	target cut-stacks -O2 $tables
	record -- "$work/cut-stacks" 2
	succeeded
	holds above_bare "$(value self_ns bare)"
	holds within "$(value self_ns '[anon]')"
	holds above_large "$(in_large)"
	holds in_coroutine "$(($(value self_ns in_coroutine) * 3))"
	near "leaf's total" "$(value total_ns leaf)" "$(value self_ns leaf)" 1
done

label=
target cut-stacks -O2
record -- "$work/cut-stacks" 2
succeeded
near "in_coroutine's average" "$(value 'avg_ns * calls' in_coroutine)" \
	"$(value total_ns in_coroutine)" 30

# Who is not timed and may be above all that has no total.
record -P leaf -- "$work/cut-stacks" 5
succeeded
[ -z "$(value total_ns above_bare)" ] || fail "above_bare has a total of samples"
