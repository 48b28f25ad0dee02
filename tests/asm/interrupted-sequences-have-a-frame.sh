#!/bin/sh
# Where the kernel takes a thread that was interrupted in a sequence the table for unwinding
# tells the frame that it tells in the sequence: a handler that unwinds comes from there.
# Planted: a place behind all functions has none.
set -u
frames=$TMP/frames

each_sequence()		# OBJECT: where each one starts, and where it goes on
{
	readelf -rW "$1" | awk '/^Relocation section/ { on = /rseq/ }
		on && $3 == "R_X86_64_64" { print $NF }' | paste - -
}

frame_at()		# ADDRESS
{
	awk -v at="$1" '
		function number(hex, n, i) {
			for (i = 1; i <= length(hex); i++)
				n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
			return n
		}
		BEGIN { at = number(at) }
		/ CIE / { getline; getline; first = $2; next }
		/ FDE / {
			sub(/.*pc=/, "")
			split($0, pc, "[.][.]")
			in_it = at >= number(pc[1]) && at < number(pc[2])
			if (in_it)
				cfa = first
		}
		in_it && /^[0-9a-f]+ [a-z]/ && number($1) <= at { cfa = $2 }
		END { print cfa }' "$frames"
}

n=0 bad=0
for o in "$BUILD"/guest/arch/x86_64/tramp.o "$BUILD"/guest/arch/x86_64/word.o \
	"$BUILD"/guest/probe/routines.o; do
	readelf -wF "$o" >"$frames" 2>/dev/null
	each_sequence "$o" >"$TMP/sequences"
	while read -r start on; do
		n=$((n + 1))
		was=$(frame_at "$start")
		[ -n "$was" ] && [ "$was" = "$(frame_at "$on")" ] || {
			echo "${o##*/}: at $start ${was:-none}, at $on $(frame_at "$on")"
			bad=1
		}
	done <"$TMP/sequences"
	[ -z "$(frame_at fffff)" ] || { echo "${o##*/}: a frame where no code is"; bad=1; }
done
echo "$n sequences"
[ $n -ge 30 ] && exit $bad
exit 1
