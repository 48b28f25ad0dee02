#!/bin/sh
# Who attaches again finds the second bodies and the glue of the one before: memory does not
# grow with the number of recordings, calls are as many, and what another recording wants is
# made.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
. "$here/attach-lib"
target attached -O1

# Of memory that is no file's.
kib() {
	awk '/^Anonymous:/ { n += $2 } END { print n }' /proc/$pid/smaps
}

# Of code that is no file's: KiB. What is refused has none.
code_kib() {
	awk '/r-xp 00000000 00:00 0 *$/ { is = 1 } /^Size:/ && is { n += $2; is = 0 }
		END { print n }' /proc/$pid/smaps
}

# Of what the kernel counts as data, touched or not: ulimit -d, and where memory is not overcommitted.
data_kib() {
	awk '/^VmData:/ { print $2 }' /proc/$pid/status
}

is_right() {
	sql "select name, calls from $(rows counts)" >"$work/got"
	awk '{ n[$1] = $2 } END { exit !(n["work"] > 100 && n["leaf"] > 9.9 * n["work"] - 100 &&
		n["leaf"] < 10.1 * n["work"] + 100) }' "$work/got" ||
		fail "$label $(tr '\n' ' ' <"$work/got")"
}

is_timed() {
	sql "select calls, total_ns > 0 from $(rows latency) where name = 'leaf'" >"$work/got"
	awk '$1 > 1000 && $2 == 1 { ok = 1 } END { exit !ok }' "$work/got" ||
		fail "$label $(cat "$work/got")"
}

begin 3
label="the first:"
for=0.2 attach -a counts -P '*!*'
is_right
before=$(kib)
data_before=$(data_kib)
code=$(code_kib)
for i in 2 3 4; do
	label="attach $i:"
	for=0.2 attach -a counts -P '*!*'
	is_right
	[ $(($(code_kib) - code)) -le 0 ] || fail "$label code was made anew"
	is_as_it_was
done
after=$(kib)
[ $((after - before)) -lt 1500 ] || fail "three more take $((after - before)) KiB"
more=$(($(data_kib) - data_before))
[ $more -lt 5000 ] || fail "three more have $more KiB of data"

# Others are wanted, then exits as well, then entries alone, as at first.
label="entries of one:"
for=0.2 attach -a counts -P leaf
sql "select name from $(rows counts) where calls > 100" >"$work/got"
[ "$(cat "$work/got")" = leaf ] || fail "$label $(cat "$work/got")"
label="exits, too:"
for=0.2 attach -a latency --all -P work -P leaf
is_timed
label="again:"
for=0.2 attach -a latency --all -P work -P leaf
is_timed
label="entries again:"
for=0.2 attach -a counts -P work -P leaf
is_right
is_as_it_was
label="exits once more, behind entries of all:"
for=0.2 attach -a counts -P '*!*'
for=0.2 attach -a latency --all -P work -P leaf
is_timed
for i in 1 2; do
	label="samples, $i:"
	for=1 attach
	sql "select name from $(rows latency) where name like '%unknown%' and self_ns > 0" \
		>"$work/got"
	[ -s "$work/got" ] && fail "$label they have no name: $(cat "$work/got")"
	awk '/^cost: [0-9]/ { is = $2 < 50 } END { exit !is }' "$err" ||
		fail "$label bodies are told as cost: $(grep '^cost' "$err")"
done
is_as_it_was

# What each kind of recording has made is there for its next one, whatever came between.
code=$(code_kib)
for i in 1 2; do
	label="by turns, $i:"
	for=0.2 attach -a counts -P '*!*'
	is_right
	for=0.2 attach -a latency --all -P work -P leaf
	is_timed
	for=0.2 attach
	[ $(($(code_kib) - code)) -le 0 ] || fail "$label code was made anew"
done
is_as_it_was

# What tells paths tells them to one recording, and leaves what counts alone.
for i in 1 2; do
	label="paths, $i:"
	for=0.2 attach -a paths -P work
	sql "select sum(calls) > 100 from $(rows paths) where name = 'work'" >"$work/got"
	[ "$(cat "$work/got")" = 1 ] || fail "$label there are none"
	for=0.2 attach -a counts -P '*!*'
	is_right
done
is_as_it_was
label=
finish
