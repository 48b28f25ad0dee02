#!/bin/sh
# Of calls that were counted in windows alone it is told by how much chance may have them off:
# most are within twice that of what the program made, also where it comes in bursts that
# windows meet or miss; and where they keep step with another function it is little.
# timeout: 60
. "$(dirname "$0")/lib"
no_emulator windows
need sqlite3 "$CC"
target bursts -O2 $sites
target in-step -O2 $sites

# Of functions of which many calls were not counted: how many there are, within once and twice
# of what is told, and the largest error that is told, in percent.
compare() {
	sql "select name, calls, calls_error from $(rows latency) where calls > 2 * counted" \
		>"$work/told"
	awk '
		FILENAME == ARGV[1] { if ($1 == "made" || $1 == "calls") made[$2] = $3; next }
		$1 in made {
			d = $2 > made[$1] ? $2 - made[$1] : made[$1] - $2
			n++; once += d <= $3; twice += d <= 2 * $3
			p = 100 * $3 / $2; most = p > most ? p : most
		}
		END { print n + 0, once + 0, twice + 0, int(most + 0.5) }' "$out" "$work/told"
}

# Chance, and others on the machine, may spoil a run: one of three is as it should be.
of_three() {	# CLAIM PROGRAM MS
	label="$2:"
	for i in 1 2 3; do
		record -- "$work/$2" "$3"
		succeeded
		read -r n once twice most <<-END
			$(compare)
		END
		! "$1" || return 0
	done
	fail "$label of $n estimates $once are within what is told, $twice within twice that," \
		"$most percent at most"
}

most_are_within() {
	[ "$n" -ge 20 ] && [ $((twice * 4)) -ge $((n * 3)) ]
}

it_is_little() {
	[ "$n" -eq 2 ] && [ "$twice" -ge 1 ] && [ "$most" -lt 60 ]
}

of_three most_are_within bursts 1000
of_three it_is_little in-step 1000
