#!/bin/sh
# Functions that are called too often to count each are told by what the program does in
# step with them: to some percent, whatever windows, and others on the machine, take of its
# time, and however its phases lie.
# timeout: 60
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
target in-step -O2 $sites

# Of a machine where others leave the reader no time there are hardly any windows: what they
# tell is chance, so it may take another run.
is_told() {
	record $options -- "$work/in-step" 2000
	succeeded
	conserved
	said=
	for f in hot warm; do
		made=$(awk -v f=$f '$2 == f { print $3 }' "$out")
		read -r got counted <<-END
			$(sql "select calls || ' ' || counted from $(rows latency) where name = '$f'")
		END
		[ "$counted" -lt "$((got / 2))" ] ||
			said="$said $f is not counted in windows;"
		awk -v got="$got" -v made="$made" 'BEGIN { d = got / made - 1
			exit !(d > -0.1 && d < 0.1) }' ||
			said="$said $got calls of $f, it made $made, $counted were counted;"
	done
	[ ! "$said" ]
}

for options in "" "--target-cpu 0"; do
	label="${options:-any CPU}:"
	is_told || is_told || is_told || fail "$label$said in the last of three runs"
done
