#!/bin/sh
# timeout: 3600
# As the e2e test of this name, of more programs and on more.
. "$(dirname "$0")/lib"
need sqlite3 valgrind bzip2 xz lua5.4
libraries 4000000
counted_as_callgrind_does 10 bzip2 -c "$input"
libraries 1000000
counted_as_callgrind_does 25 xz -c6 "$input"
counted_as_callgrind_does 400 sqlite3 :memory: "create table t(a, b);
	with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
		insert into t select x, x * x % 7 from c;
	create index i on t(b);
	select b, count(*), sum(a), group_concat(a % 10, '') from t group by b order by 3;"
