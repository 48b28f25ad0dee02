# debian-programs.sh - programs as Debian has them, for benches that record them.
#
# Gives prepare, which sets $command: words that run it in $scratch for about a second.

debian_programs="bzip2 xz sqlite lua perl python"
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
		with recursive c(x) as (select 1 union all select x + 1 from c where x < 1200000)
			insert into t select x, x * x % 9973 from c;
		create index i on t(b);
		select b, count(*), sum(a) from t group by b order by 3 desc limit 5;
		END
		command="sqlite3 -init $scratch/t.sql :memory: .quit" ;;
	lua)
		cat >"$scratch/t.lua" <<-'END'
		local t = {}
		for i = 1, 1200000 do t[#t + 1] = string.format("%07d", i * 7919 % 1200007) end
		table.sort(t)
		print(#table.concat(t, ","), t[1], t[#t])
		END
		command="lua5.4 $scratch/t.lua" ;;
	perl)
		cat >"$scratch/t.pl" <<-'END'
		my %h;
		for my $i (1 .. 12000000) { $h{$i % 5000} .= chr(65 + $i % 26) }
		print length(join("", map { $h{$_} } sort keys %h)), "\n";
		END
		command="perl $scratch/t.pl" ;;
	python)
		cat >"$scratch/t.py" <<-'END'
		d = {}
		for i in range(9000000):
		    d[i % 5000] = d.get(i % 5000, 0) + i * i % 7
		print(sum(d.values()))
		END
		command="/usr/bin/python3 -S $scratch/t.py" ;;
	*) why="$1 is none of these"; return 1 ;;
	esac
	command -v "${command%% *}" >/dev/null || { why="no ${command%% *}"; return 1; }
	build_steady || { why="steady.c does not compile"; return 1; }
}
