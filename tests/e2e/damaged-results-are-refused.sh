#!/bin/sh
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target recursion -O2 $sites
record -a latency --all -- "$work/recursion"
succeeded
good=$work/good
cp -r "$data" "$good"

report() {	# WHAT [PATTERN]
	label="$1:"
	run "$FLICK" report "$data"
	one_line_error 1 "${2:-results.db|damaged|not}"
}

rm -rf "$data"
report "no directory" 'no such file|record'
mkdir "$data"
report "empty directory"
: >"$data/results.db"
report "empty file"
head -c 100000 /dev/urandom >"$data/results.db"
report "noise"
for n in 50 1000 5000; do
	head -c $n "$good/results.db" >"$data/results.db"
	report "$n bytes"
done
for table in session threads sites latency; do
	cp "$good/results.db" "$data/results.db"
	sqlite3 "$data/results.db" "drop table $table"
	run "$FLICK" report "$data"
	[ "$status" -le 1 ] || fail "without $table: status $status"
done
change() {	# WHAT SQL
	rm -rf "$data"
	cp -r "$good" "$data"
	sqlite3 "$data/results.db" "$2" || fail "$1: sqlite3"
	report "$1" 'damaged: record again'
}
change "an unknown type" "update columns set type = 'nx' where name = 'calls'"
change "no columns" "delete from columns"
change "no table" "drop table latency"
change "a number" "update session set value = 'many' where key = 'lost'"
change "ids that are no keys" "drop table functions; create table functions(id, name, linkage);
	insert into functions values(4611686018427387904, 'f', 'f'), ('zzz', 'g', 'g')"
endless="with recursive n(i) as (select 0 union all select i + 1 from n)"
rm -rf "$data"
cp -r "$good" "$data"
sqlite3 "$data/results.db" "drop table latency; create view latency as $endless
	select i as function, i as calls from n"
report "a view that never ends" 'is no table'
sqlite3 "$data/results.db" "drop table functions; create view functions as $endless
	select i as id, 'f' as name, 'f' as linkage from n"
report "names that never end" 'is no table'
rm -rf "$data"
: >"$data"
report "a file"
run "$FLICK" report "$good"
label="good:"
succeeded
