#!/bin/sh
# Times of a recording of every call are without what the probes took; --raw has it.
# The program times twins of its functions that have no probes. Medians of short
# calls, the shortest of long ones: others on this machine stretch some.
. "$(dirname "$0")/lib"
x86_target ticks
need sqlite3 "$CC"
target ticks -O2 $sites

# NAME COLUMN: it in ticks, and what the program says.
ticks() {
	said=$(awk -v f="$1" '$1 == "ticks" && $2 == f { print $3 }' "$out")
	got=$(sql "select $2 / (select value from session where key = 'ns_per_tick')
		from $(rows latency) where name = '$1'")
}

label= slack=25 step=0
grep -q AuthenticAMD /proc/cpuinfo && step=13
near() {	# NAME COLUMN PERCENT
	ticks "$1" "$2"
	awk -v got="$got" -v said="$said" -v p="$3" -v slack=$slack 'BEGIN {
		d = got - said
		exit !said || (d < 0 ? -d : d) > said * p / 100 + slack }' ||
		fail "$label $1 takes $got ticks, not $said"
}

# What probes take is measured while the program starts: beside others it may be too much, and
# is where a core does the work of a probe and a call's at once: of 78 ticks up to 13. The clock is
# read there before or behind the end of a call of a hundred ticks, by chance, so its mean is told.
label=--all
for try in 1 2 3 4 5 6 7 8; do
	record -a latency --all -- "$work/ticks"
	succeeded
	(
		near leaf_30 avg_ns 10
		near nest_30 min_ns 45
		near leaf_100 avg_ns 10
		near nest_100 min_ns 30
		near leaf_1k p50_ns 10
		near nest_1k min_ns 30
	) && break
	[ $try -lt 8 ] || fail "$label in no recording of eight"
done

# Where nothing runs beside a reading of the clock it is what it is by default.
label=--precise
for try in 1 2 3 4; do
	record -a latency --all --precise -- "$work/ticks"
	succeeded
	(
		slack=$((12 + step))
		for n in 30 100 1k; do
			near leaf_$n p50_ns 6
			near nest_$n min_ns 40
		done
	) && break
	[ $try -lt 4 ] || fail "$label in no recording of four"
done

# Of samples each reading of the clock stands apart from what the program does, so what
# lies between two of them is always the same; but where the clock goes in steps (`step`), as
# AMD's does by 25 ticks, a call's time is one of these or the next.
label=sampled:
for try in 1 2 3 4; do
	record -- "$work/ticks"
	succeeded
	(
		slack=$((12 + step))
		for n in 10 30 100 300; do
			near leaf_$n p50_ns 6
		done
	) && break
	[ $try -lt 4 ] || fail "$label in no recording of four"
done
label=

# Of windows the shortest, which none of the moments lies in when probes are switched;
# on a busy machine a recording may have no such one.
label=--rate:
for try in 1 2 3 4; do
	record -a latency --rate=30% -- "$work/ticks"
	succeeded
	(
		for n in 30 100 1k; do
			near nest_$n min_ns 60
		done
	) && break
	[ $try -lt 4 ] || fail "$label in no recording of four"
done
label=

# A hundred calls of a few ticks are mostly probes.
record -a latency --all --raw -- "$work/ticks"
succeeded
ticks nest_30 min_ns
awk -v got="$got" -v said="$said" 'BEGIN { exit got < 1.5 * said }' ||
	fail "--raw: $got ticks have no probes in them"
