#!/bin/sh
# --follow: the counts of parent and children, made in every way, are exact and
# told apart by pid; whatever the text is written by.
# timeout: 400
. "$(dirname "$0")/lib"
no_emulator forks
need sqlite3 "$CC"
target family -O2 $sites
library family-lib -O2 $sites

# Each process says its pid when it ends, some twice.
pids_match() {
	sql "select distinct pid from threads where delivered" | sort >"$work/pids"
	awk '/^count/ { n += $3 } /^pid/ { if (n) print $2; n = 0 }' "$out" |
		sort -u >"$work/told"
	cmp -s "$work/pids" "$work/told" ||
		fail "$label pids: $(diff "$work/pids" "$work/told" | tr '\n' ' ')"
}

follow() {	# CASE N OPTIONS
	case=$1 n=$2
	shift 2
	label="$case $n $*:"
	record $compilers --follow "$@" -- "$work/family" "$case" "$n"
	succeeded
	exact "$table"
	lossless
	pids_match
}

for table in counts latency; do
	how="-a $table --all"
	[ $table = latency ] || how="-a counts"
	for case in fork nested exec spawn vfork system server load killed daemon; do
		! every 3 || follow $case 5 $how
	done
	follow clone 3 $how
	[ "$(sql "select count(*) from modules")" -eq 1 ] ||
		fail "$label a child that is not recorded has added sites"
	follow handler 30 $how
	follow bomb 500 $how
	follow busy 10 $how
	for text in mprotect alias; do
		follow server 3 $how --text=$text
		follow load 3 $how --text=$text
		follow busy 5 $how --text=$text
	done
done

# A threaded program that replaces itself; a shell that only starts others.
table=counts label="exec:"
target exec -O2 $sites
record $compilers -f -a counts -- "$work/exec" 3
succeeded
exact
lossless
label="a shell:"
record $compilers -f -a counts -- sh -c "$work/family plain & $work/family nested 2; wait; :"
succeeded
exact
lossless
[ "$(sql "select count(*) from modules")" -eq 1 ] ||
	fail "$label one program's sites are more than one module's"

# Each process samples for itself; what is off when it is forked comes on again.
for text in mprotect alias; do
	label="sampling, $text:"
	record $compilers -f --text=$text -- "$work/family" busy 10
	succeeded
	conserved
	record $compilers -f --text=$text -- "$work/family" server 5
	succeeded
	conserved
	n=$(sql "select count(distinct pid) from threads where delivered")
	[ "$n" -eq 6 ] || fail "$label samples of $n processes, not 6"
	record $compilers -f --text=$text -- "$work/family" linger 200
	succeeded
	n=$(sql "select count(*) from (select pid from threads group by pid
		having sum(delivered) > 100)")
	[ "$n" -eq 7 ] || fail "$label $n of 7 processes are sampled on and on"
done

label="one-liners:"
run "$FLICK" count -f 'leaf' -- "$work/family" fork 3
succeeded
n=$(awk '$1 == "count" && $2 == "leaf" { n += $3 } END { print n }' "$out")
grep -Eq "(^| )$n( |$).*leaf|leaf.* $n( |$)" "$out" || fail "$label not $n calls of leaf"

# What is dumped says whose it is.
label="dump:"
record $compilers -f --trace -- "$work/family" fork 3
succeeded
sed -n 's/^pid //p' "$out" | sort -u >"$work/told"
"$FLICK" dump --format=chrome "$data" >"$work/json" 2>"$err" || fail "$label dump"
grep '"ph":"X"' "$work/json" | sed 's/.*"pid":\([0-9]*\),.*/\1/' | sort -u >"$work/pids"
cmp -s "$work/pids" "$work/told" || fail "$label its pids are not the processes'"

# Recordings from before there was a pid a thread are one process's.
label="an earlier recording:"
sqlite3 "$data/results.db" "alter table threads drop column pid" || fail "$label sqlite3"
"$FLICK" dump --format=chrome "$data" >"$work/json" 2>"$err" || fail "$label dump"
grep '"ph":"X"' "$work/json" | sed 's/.*"pid":\([0-9]*\),.*/\1/' | sort -u >"$work/pids"
[ "$(cat "$work/pids")" = "$(sql "select value from session where key = 'pid'")" ] ||
	fail "$label its pid is not the session's"
