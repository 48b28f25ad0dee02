#!/bin/sh
# flick.h, flick/channel.h and flick/patch.h in C++ and in C of several years,
# without a warning; they link.
. "$(dirname "$0")/lib"
BUILD=${BUILD:-$top/build}
printf '#include "flick.h"\n#include "flick/channel.h"\n%s\n%s\n' \
	'void put(struct flick_channel *c) { struct flick_cursor at = flick_channel_begin(c); flick_cursor_put64(c, &at, 1); flick_channel_finish(c, &at); flick_channel_put64(c, 2); flick_channel_put32(c, 3); }' \
	'int main() { flick *f; int e = flick_open(&f, 0); flick_close(e ? 0 : f); return e; }' \
	>"$work/flick.src"
cat >"$work/patch.src" <<'END'
#include "flick/patch.h"
static struct flick_patch p;
#ifdef __x86_64__
static unsigned char code[8] = { 0x0f, 0x1f, 0x44, 0, 0 };
#else
static unsigned code[2] = { 0xd503201f };
#endif
int main()
{
	struct flick_change c = { &p, FLICK_OFF };
	size_t bad;
	if (flick_patch_open(0) || flick_call_init(&p, code, code, 0) || flick_call_on(&p))
		return 1;
	return flick_patch_commit(&c, 1, &bad) || flick_call_off(&p) ||
		flick_patch_release(&p) || flick_patch_state(&p) != FLICK_OFF;
}
END
warn="-Wall -Wextra -Werror -pedantic-errors"

build() {	# COMPILER LANGUAGE STANDARD
	command -v "$1" >/dev/null || return
	for program in flick patch; do
		label="$1 -std=$3: $program.h:"
		"$1" -x "$2" -std="$3" $warn -I"$top/include" "$work/$program.src" \
			-x none "$BUILD/libflick.so" -Wl,-rpath,"$BUILD" \
			-o "$work/built" 2>"$err" || fail "$label"
		run "$work/built"
		succeeded
	done
}

need g++ gcc
for std in c++11 c++17 c++20; do
	build g++ c++ $std
	build clang++ c++ $std
done
sed -i -e 's/main()/main(void)/' -e 's/^void put/void put(struct flick_channel *c); &/' "$work"/*.src
for std in c99 c11; do
	build gcc c $std
	build clang c $std
done
