#!/bin/sh
# flick.h and flick/channel.h in C++ and in C of several years, without a warning;
# they link.
. "$(dirname "$0")/lib"
BUILD=${BUILD:-$top/build}
printf '#include "flick.h"\n#include "flick/channel.h"\n%s\n%s\n' \
	'void put(struct flick_channel *c) { struct flick_cursor at = flick_channel_begin(c); flick_cursor_put64(c, &at, 1); flick_channel_finish(c, &at); flick_channel_put64(c, 2); flick_channel_put32(c, 3); }' \
	'int main() { flick *f; int e = flick_open(&f, 0); flick_close(e ? 0 : f); return e; }' \
	>"$work/program"
warn="-Wall -Wextra -Werror -pedantic-errors"

build() {	# COMPILER LANGUAGE STANDARD
	command -v "$1" >/dev/null || return
	label="$1 -std=$3:"
	"$1" -x "$2" -std="$3" $warn -I"$top/include" "$work/program" -x none \
		"$BUILD/libflick.so" -Wl,-rpath,"$BUILD" -o "$work/built" \
		2>"$err" || fail "$label"
	run "$work/built"
	succeeded
}

need g++ gcc
for std in c++11 c++17 c++20; do
	build g++ c++ $std
	build clang++ c++ $std
done
sed -e 's/main()/main(void)/' -e 's/^void put/void put(struct flick_channel *c); &/' "$work/program" >"$work/c" && mv "$work/c" "$work/program"
for std in c99 c11; do
	build gcc c $std
	build clang c $std
done
