#!/bin/sh
# debian.sh - programs as Debian has them, recorded by second bodies: what that costs.
#
#	body.profiler.P		default record over the program alone, wall, percent
#	body.P			latency of every call of every chosen function (--all), times
#	body.start.python3	milliseconds that `flick record python3 -c pass` adds to the run
#
# The program and the libraries it brings are chosen, as by default. Runs take turns; the
# program is on CPU 0, what else flick does on another. A run counts only when the output
# is that of the program alone.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"

rounds=${FLICK_ROUNDS:-5}
programs=${FLICK_PROGRAMS:-"bzip2 xz sqlite lua perl python"}
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 PERL_HASH_SEED=0

# Sets the command. Of an interpreter a script: the arguments of all are words.
prepare() {	# PROGRAM
	input=$scratch/input
	[ -s "$input" ] || find /usr/lib -type f -name '*.so*' -size +20k 2>/dev/null |
		LC_ALL=C sort | xargs cat 2>/dev/null | head -c 16000000 >"$input"
	case $1 in
	bzip2) command="bzip2 -c9 $input" ;;
	xz) head -c 3000000 "$input" >"$input.xz"; command="xz -T1 -c6 $input.xz" ;;
	sqlite)
		cat >"$scratch/t.sql" <<-'END'
		create table t(a, b);
		with recursive c(x) as (select 1 union all select x + 1 from c where x < 400000)
			insert into t select x, x * x % 9973 from c;
		create index i on t(b);
		select b, count(*), sum(a) from t group by b order by 3 desc limit 5;
		END
		command="sqlite3 -init $scratch/t.sql :memory: .quit" ;;
	lua)
		cat >"$scratch/t.lua" <<-'END'
		local t = {}
		for i = 1, 400000 do t[#t + 1] = string.format("%06d", i * 7919 % 400009) end
		table.sort(t)
		print(#table.concat(t, ","), t[1], t[#t])
		END
		command="lua5.4 $scratch/t.lua" ;;
	perl)
		cat >"$scratch/t.pl" <<-'END'
		my %h;
		for my $i (1 .. 1500000) { $h{$i % 5000} .= chr(65 + $i % 26) }
		print length(join("", map { $h{$_} } sort keys %h)), "\n";
		END
		command="perl $scratch/t.pl" ;;
	python)
		cat >"$scratch/t.py" <<-'END'
		d = {}
		for i in range(1500000):
		    d[i % 5000] = d.get(i % 5000, 0) + i * i % 7
		print(sum(d.values()))
		END
		command="/usr/bin/python3 -S $scratch/t.py" ;;
	esac
	command -v "${command%% *}" >/dev/null || { why="no ${command%% *}"; return 1; }
	build_steady || { why="steady.c does not compile"; return 1; }
}

# Sets $wall. The interpreter's name may be a link.
timed() {	# COMMAND...
	name=$(readlink -f "$(command -v "${command%% *}")")
	(cd "$scratch" && STEADY=${name##*/} LD_PRELOAD=$out/steady.so \
		exec "$out/timed" "$scratch/times" "$@" $command) \
		</dev/null >"$scratch/output" 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		return 1
	}
	read -r wall cpu <"$scratch/times"
	[ -e "$scratch/$program.output" ] || cp "$scratch/output" "$scratch/$program.output"
	cmp -s "$scratch/output" "$scratch/$program.output" || {
		why="the output is not the plain run's"
		return 1
	}
}

recorded() {	# OPTIONS...
	rm -rf "$scratch/data"
	timed $on_other "$build/flick" record "$@" -o "$scratch/data" --
}

run_program() {
	prepare "$program" && timed || return
	plain=$wall
	recorded || return
	add "body.profiler.$program" "$(calc "100 * ($wall / $plain - 1)")"
	recorded -a latency --all || return
	add "body.$program" "$(calc "$wall / $plain")"
}

run_start() {
	program=start
	command="/usr/bin/python3 -c pass"
	timed || return
	plain=$wall
	recorded || return
	add body.start.python3 "$(calc "1000 * ($wall - $plain)")"
}

round=0
while [ $round -lt $rounds ]; do
	for program in $programs; do
		[ -e "$scratch/refused.$program" ] || run_program ||
			echo "${why:-failed}" >"$scratch/refused.$program"
	done
	run_start || :
	round=$((round + 1))
done
for program in $programs; do
	reason=$(cat "$scratch/refused.$program" 2>/dev/null || :)
	report "body.profiler.$program" % "$reason"
	report "body.$program" times "$reason"
done
report body.start.python3 ms
