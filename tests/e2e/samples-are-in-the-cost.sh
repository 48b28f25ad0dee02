#!/bin/sh
# A sample of the program counter stops the program for a moment, which no sample shows. The
# cost has it: how many there were, times what one takes. A program that only looks at the clock
# sees each of these moments itself, and finds the same.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 taskset "$CC"
compile "$work/clock-jumps" "$targets/clock-jumps.c" -O2

# Others interrupt it, too, for less long: of as many jumps as there were samples a median. It
# is what samples took beside this work, and what one takes was measured before: 2.1 times as
# much was seen.
same_as_seen() {
	samples=$(sed -n 's/^cost: .*, samples \([0-9.]*\), .*/\1/p' "$err")
	takes=$(sql "select value from session where key = 'pc_sample_ns'")
	said=$(sql "select value from session where key = 'pc_samples'")
	seen=$(sed -n "$((${said:-0} / 2 + 1))p" "$out")
	echo "${samples:-0} ${takes:-0} ${said:-0} ${seen:-0}" | awk '{
		told = $1 / 100 * $3 * 0.997e6
		most = $4 * 2.5
		exit !($4 && $2 > $4 / 2.5 && $2 < most && told > $3 * $4 / 2.5 && told < $3 * most) }'
}

# Beside other work a moment may be long: once of three times suffices.
is_told() {	# OPTION...
	for try in 1 2 3; do
		record "$@" -- "$work/clock-jumps" 1200
		succeeded
		grep -q '^cost: unknown (the system' "$err" && skip "the system gives no samples"
		cost_is_the_sum
		same_as_seen && return
	done
	fail "$label samples $samples %, each $takes ns, of $said, and seen were $(wc -l <"$out") jumps, of as many ${seen:-none}"
}

label="default:"
is_told
label="counts:"
is_told -a counts

# Where others have the CPU most of the time, what one takes is measured all the same, and is
# not how long these have it.
label="beside other work:"
alone=$takes
cpu=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
hogs=
for i in 1 2 3; do
	taskset -c $cpu sh -c 'while :; do :; done' &
	hogs="$hogs $!"
done
trap 'kill $hogs; rm -rf "$work"' EXIT
for i in 1 2 3 4 5 6; do
	record --cpu $cpu -a counts -- "$work/clock-jumps" 1
	takes=$(sql "select value from session where key = 'pc_sample_ns'")
	[ "${takes:-0}" -gt 0 ] || fail "$label of $i it is not known"
	[ "$takes" -lt $((alone * 6)) ] || fail "$label of $i it is $takes ns, alone $alone"
done
