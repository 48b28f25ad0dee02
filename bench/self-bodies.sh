#!/bin/sh
# self-bodies.sh - self times of programs as Debian has them, beside perf's.
#
#	truth.self.body.P	points between self shares by function that the default
#				report shows and those of perf's samples of the program
#				alone, over what perf differs from itself
#	truth.self.body.P.perf	perf against perf
#
# As in truth.sh, but what is compared are unwind entries (FDEs), since most of these
# functions have no name: those of the program and of the libraries that are not the C
# library's. The program has its addresses at the same place each time (setarch).
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"
. "$(dirname "$0")/debian-programs.sh"

programs=${FLICK_PROGRAMS:-$debian_programs}
samples=${FLICK_SAMPLES:-8000}
most_runs=30
chosen='/usr/bin/|/lib(bz2|lzma|sqlite3|lua5|perl|python)'

# For awk: a number without its 0x, or with it.
hex='
function hex(s,	i, n) {
	sub(/^0x/, "", s)
	for (i = 1; i <= length(s); i++)
		n = 16 * n + index("0123456789abcdef", substr(s, i, 1)) - 1
	return n
}
'

run_it() {	# COMMAND...
	name=$(readlink -f "$(command -v "${command%% *}")")
	(cd "$scratch" && STEADY=${name##*/} LD_PRELOAD=$out/steady.so exec setarch -R \
		"$@" $command) </dev/null >/dev/null 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		return 1
	}
}

# FILE OFFSET AMOUNT lines become FILE+ENTRY SHARE lines: by the unwind entry around it.
# A file may have several names.
shares() {
	cat >"$scratch/named"
	cut -d' ' -f1 "$scratch/named" | sort -u | while read -r file; do
		echo "s,^$file ,$(readlink -f "$file") ,"
	done >"$scratch/names"
	sed -f "$scratch/names" "$scratch/named" | LC_ALL=C sort >"$scratch/points"
	cut -d' ' -f1 "$scratch/points" | uniq | while read -r file; do
		entries=$scratch/entries.$(echo "$file" | tr / _)
		[ -s "$entries" ] || readelf --debug-dump=frames "$file" 2>/dev/null |
			sed -n "s,.* FDE .*pc=0*\([0-9a-f]*\)\.\..*,$file \1,p" >"$entries"
		cat "$entries"
	done | LC_ALL=C awk -v points="$scratch/points" "$hex"'
		{ printf "%s %d entry\n", $1, hex($2) }
		END { while ((getline line < points) > 0) print line }' |
		LC_ALL=C sort -k1,1 -k2,2n -k3,3r | LC_ALL=C awk '
		$3 == "entry" { at = $1 " " $2; next }
		{ n[at] += $3; sum += $3 }
		END { for (f in n) print f, n[f] / sum }' | sed 's/ /+/'
}

# FILE OFFSET 1 lines become FILE ADDRESS 1 lines: of a program at a fixed address these differ.
addresses() {
	cat >"$scratch/offsets"
	cut -d' ' -f1 "$scratch/offsets" | sort -u | while read -r file; do
		readelf -lW "$file" | awk -v file="$file" \
			'$1 == "LOAD" && / R E / { print file, $3, $2; exit }'
	done | LC_ALL=C awk -v offsets="$scratch/offsets" "$hex"'
		{ delta[$1] = hex($2) - hex($3) }
		END {
			while ((getline < offsets) > 0)
				printf "%s %d 1\n", $1, $2 + delta[$1]
		}'
}

# Where a mapping begins and what is there, then where each sample stood.
by_perf() {	# FILE
	runs=0
	: >"$scratch/stood"
	while [ "$(wc -l <"$scratch/stood")" -lt "$samples" ] && [ $runs -lt $most_runs ]; do
		run_it perf record -q -e cpu-clock:u -F 5000 -o "$scratch/perf.data" -- || return
		perf script -i "$scratch/perf.data" --show-mmap-events -F comm,tid,ip,event \
			2>/dev/null | LC_ALL=C awk -v chosen="$chosen" "$hex"'
			/PERF_RECORD_MMAP/ {
				if (!/r-xp/)
					next
				match($0, /\[0x[0-9a-f]+\(0x[0-9a-f]+\) @ (0x)?[0-9a-f]+/)
				split(substr($0, RSTART + 3, RLENGTH - 3), part, /[^0-9a-fx]+/)
				start[++n] = hex(part[1])
				end[n] = start[n] + hex(part[2])
				offset[n] = hex(part[3])
				file[n] = $NF
				next
			}
			$NF ~ /^[0-9a-f]+$/ {
				at = hex($NF)
				for (i = n; i && !(start[i] <= at && at < end[i]); i--)
					;
				if (i && file[i] ~ chosen)
					printf "%s %d 1\n", file[i], at - start[i] + offset[i]
			}' >>"$scratch/stood"
		runs=$((runs + 1))
	done
	addresses <"$scratch/stood" | shares >"$scratch/$1"
}

by_flick() {	# FILE
	n=0 runs=0
	: >"$scratch/stood"
	while [ $n -lt "$samples" ] && [ $runs -lt $most_runs ]; do
		rm -rf "$scratch/data"
		run_it $on_other "$build/flick" record --target-cpu 0 -o "$scratch/data" -- ||
			return
		sqlite3 -batch -noheader -separator ' ' "$scratch/data/results.db" "
			select m.path, f.offset, t.self_ns from latency t
			join functions f on f.id = t.function
			join modules m on m.id = f.module where t.self_ns > 0" |
			grep -E "$chosen" >>"$scratch/stood"
		n=$((n + $(sqlite3 "$scratch/data/results.db" \
			"select value from session where key = 'pc_samples'")))
		runs=$((runs + 1))
	done
	shares <"$scratch/stood" >"$scratch/$1"
}

run_program() {
	prepare "$program" || return
	by_perf perf.1 && by_perf perf.2 && by_flick flick || return
	own=$(distance perf.1 perf.2)
	add "truth.self.body.$program.perf" "$own"
	add "truth.self.body.$program" "$(calc "$(distance flick perf.1) - $own")"
}

missing=$(no_samples)
for program in $programs; do
	why= reason=$missing
	[ "$reason" ] || run_program || reason=${why:-failed}
	report "truth.self.body.$program" points "$reason"
	report "truth.self.body.$program.perf" points "$reason"
done
