#!/bin/sh
# list of files cut short, of another machine, of another kind, with damaged
# headers: one line and status 1, and never a crash.
. "$(dirname "$0")/lib"
need "$CC" dd
target recursion -O2 $sites
good=$work/recursion bad=$work/bad
size=$(wc -c <"$good")

list() {	# WHAT PATTERN
	label="$1:"
	run "$FLICK" list "$bad"
	one_line_error 1 "$2"
}

byte() {	# OFFSET OCTAL...
	at=$1
	shift
	cp "$good" "$bad"
	printf "$*" | dd of="$bad" bs=1 seek="$at" conv=notrunc 2>/dev/null
}

: >"$bad"
list empty 'cut short|not an ELF'
echo "some text that is longer than an ELF header, all sixty-four bytes" >"$bad"
list text 'not an ELF'
for n in 10 63 64 500 $((size / 2)) $((size - 1)); do
	head -c "$n" "$good" >"$bad"
	list "$n bytes of $size" 'cut short|not an ELF'
done
case $(uname -m) in
aarch64) byte 18 '\076\000' ;;		# x86-64
*) byte 18 '\267\000' ;;		# AArch64
esac
list "another CPU" 'another machine'
byte 4 '\001'
list "32 bits" 'another machine|not an ELF'
rm -rf "$bad"
list missing 'no such file'
mkdir "$bad"
list directory 'directory|not an ELF|regular'
rm -rf "$bad"
for at in 16 24 32 40 54 56 58 60 62 64 80 96 120 200 300 400; do
	byte $at '\377\377\377\377\377\377\377\177'
	run "$FLICK" list "$bad"
	[ "$status" -lt 3 ] || fail "header damaged at $at: status $status"
done
