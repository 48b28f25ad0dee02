#!/bin/sh
# -K calls of each function are timed, and as many again after each --epoch, where the
# budget allows.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target steady -O2 $sites

# Each of three functions has at least $1 samples, and at most $2.
samples() {
	succeeded
	conserved
	sql "select name, sampled from $(rows latency)
		where name in ('one', 'two', 'three')" >"$work/sampled"
	n=$(awk '$2 >= '$1' && $2 <= '$2 "$work/sampled" | wc -l)
	[ "$n" -eq 3 ] || fail "$label not $1 to $2 samples:" $(cat "$work/sampled")
}

# The first time each is met, and never again: the next epoch is far away.
for k in 1 3 25; do
	label="-K $k:"
	record -K $k --epoch 100000 -- "$work/steady" 50
	samples $k $k
done
! emulated times || exit 0
# 800 ms are 16 epochs; a busy machine may come late to some of them.
label="--epoch 50:"
record -K 3 --epoch 50 --budget 100 -- "$work/steady" 800
samples 15 51
label="as it is by default:"		# 80 epochs of 10 ms, more where it takes longer
record --budget 100 -- "$work/steady" 800
samples 200 1000
