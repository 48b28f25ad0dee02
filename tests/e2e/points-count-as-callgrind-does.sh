#!/bin/sh
# A probe at any instruction: as often as callgrind sees it executed, whatever its length, with
# flags and red zone live across it; and what the program does is as without. What begins no
# instruction of a function is refused with the reason.
# timeout: 400
. "$(dirname "$0")/lib"
need sqlite3 valgrind objdump
export TRUTH_THREADS=
enough=${FLICK_POINTS:-120}		# places of one program

# executed OBJECT <callgrind's file: lines `ADDRESS N`, decimal, of one file
executed() {
	awk -v object="$1" '
		/^ob=/ { is_it = $0 ~ "/" object "$" || $0 == "ob=" object; next }
		/^calls=/ { skip = 1; next }
		!/^0x/ { next }
		skip { skip = 0; next }
		is_it { n[$1] += $NF }
		END { for (a in n) print a, n[a] }' |
	while read -r at n; do echo $((at)) "$n"; done | sort -n
}

# One run by 60 of them, and what each is: `ADDRESS N`.
points() {	# OBJECT PROGRAM ARGS...
	object=$1
	shift
	set -- -- "$@"
	while read -r at _; do
		set -- -P "$(printf '%s!0x%x' "$object" "$at")" "$@"
	done
	record -a counts "$@"
	succeeded
	sql "select s.offset, c.calls from counts c join sites s on s.function = c.function
		where s.kind = 'point' order by 1" | tr '|' ' ' >>"$work/got"
	sql "select offset from sites where refusal and kind = 'point'" >>"$work/refused"
	sql "select offset from sites where kind = 'entry'" >>"$work/entries"
}

same() {	# FILE PROGRAM ARGS...
	file=$1
	object=$(basename "$file")
	label="$object:"
	shift
	run valgrind --tool=callgrind --dump-instr=yes --skip-plt=no --compress-strings=no --compress-pos=no \
		--callgrind-out-file="$work/callgrind" "$@"
	[ "$status" -eq 0 ] || skip "callgrind cannot run $1"
	executed "$(basename "$(readlink -f "$file")")" <"$work/callgrind" >"$work/all"
	# what repeats counts once for us
	objdump -d --no-show-raw-insn "$(readlink -f "$file")" | grep -E '	rep|	bnd' |
		sed 's/^ *\([0-9a-f]*\):.*/\1/' | while read -r a; do echo $((0x$a)); done >"$work/rep"
	[ "$(wc -l <"$work/all")" -ge "$enough" ] || fail "$label callgrind saw too little"
	awk -v every=$(($(wc -l <"$work/all") / enough)) 'FILENAME == ARGV[1] { rep[$1]; next }
		!($1 in rep) && ++n % every == 0' "$work/rep" "$work/all" >"$work/some"
	: >"$work/got"
	: >"$work/refused"
	: >"$work/entries"
	rm -f "$work"/part.*
	split -l 60 "$work/some" "$work/part."
	"$@" >"$work/plain" 2>/dev/null
	for part in "$work"/part.*; do
		points "$object" "$@" <"$part"
		cmp -s "$work/plain" "$out" || fail "$label it does something else"
		lossless
	done
	# functions' entries are theirs, and are no points; what is refused has no body
	cat "$work/refused" "$work/entries" >"$work/without"
	awk 'FILENAME == ARGV[1] { without[$1]; next } !($1 in without)' "$work/without" "$work/some" \
		>"$work/true"
	sort -n "$work/got" | diff "$work/true" - >"$out" || fail "$label counts differ"
	[ $((4 * $(wc -l <"$work/true"))) -ge $((3 * enough)) ] ||
		fail "$label only $(wc -l <"$work/true") of $enough places have a probe"
	say "$label $(wc -l <"$work/true") places, $(wc -l <"$work/refused") refused"
}

target bodies -O2
same "$work/bodies" "$work/bodies"
target redzone -O2
same "$work/redzone" "$work/redzone"

if command -v bzip2 >/dev/null; then
	head -c 20000 "$work/bodies" >"$work/input"
	file=$(ldd "$(command -v bzip2)" | awk '/libbz2/ { print $3 }')
	[ -z "$file" ] || same "$file" bzip2 -c "$work/input"
	# a table of jumps, in a frame
	bzip2 -c "$work/input" >"$work/packed"
	[ -z "$file" ] || same "$file" bzip2 -t "$work/packed"
fi
