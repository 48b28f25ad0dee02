#!/bin/sh
# Installed below a prefix of their own, flick.h, the libraries, flick.pc and
# the manual page are all that the examples need: built as their comments say,
# shared and static, they print what they must.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=${ROOT:-$(cd "$here/../.." && pwd)}
CC=${CC:-gcc}
[ "$CC" != cc ] || CC=gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL: $*"
	[ ! -s "$work/out" ] || tail -n 12 "$work/out" | sed 's/^/  /'
	exit 1
}

for tool in pkg-config "$CC" g++; do
	command -v "$tool" >/dev/null || { echo "skip: no $tool"; exit 77; }
done

# DESTDIR is where a package is built; the files name PREFIX alone.
make -C "$top" install DESTDIR="$work/root" PREFIX=/opt/flick \
	LIBDIR=/opt/flick/lib BUILD="${BUILD:-$top/build}" >"$work/out" 2>&1 ||
	fail "make install"
prefix=$work/root/opt/flick
for f in bin/flick lib/libflick.so lib/libflick.so.0 lib/libflick.a \
	lib/pkgconfig/flick.pc include/flick.h include/flick/errors.def \
	include/flick/event.h include/flick/channel.h share/man/man3/flick_open.3 \
	share/man/man3/flick_channel.3; do
	[ -s "$prefix/$f" ] || fail "not installed: $f"
done
! grep -q "$work" "$prefix/lib/pkgconfig/flick.pc" || fail "flick.pc names DESTDIR"

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="$work/root"
flags=$(pkg-config --cflags --libs flick) || fail "pkg-config flick"
[ "$(pkg-config --modversion flick)" = "$("$prefix/bin/flick" --version |
	sed 's/^flick //')" ] || fail "flick.pc and the command differ in version"

build() {	# OUTPUT COMPILER FLAGS...: as the example's comment says
	out=$1
	shift
	"$@" -Wall -Wextra -Werror -o "$work/$out" >"$work/out" 2>&1 || fail "$*"
}

said() {	# PROGRAM LINE...
	program=$1
	shift
	for line; do
		grep -Fxq "$line" "$work/out" || fail "$program does not say: $line"
	done
}

run() {
	timeout 60 env LD_LIBRARY_PATH="$prefix/lib" "$work/$1" >"$work/out" 2>&1 ||
		fail "$1: status $?"
}

c_lines() {
	run "$1"
	said "$1" "found some probes" "staged: parse_number was called 1 times" \
		"staged: parse_digit was called 5 times" \
		"handler: square was called 1000 times" \
		"itself: square is switchable" \
		"no such function: no probe matches the pattern"
	[ "$(grep -c '^staged' "$work/out")" -eq 2 ] || fail "$1: other functions, too"
	grep -qx "$sum" "$work/out" || fail "$1: another sum than without probes"
}

# The sum that the program's own functions give, worked out here.
sum="sum $((12345 + 678 + 999 * 1000 * 1999 / 6 + 9 + 16))"

# shellcheck disable=SC2086
for sites in -finstrument-functions -fpatchable-function-entry=5 \
	-fpatchable-function-entry=16,8; do
	build self $CC -O2 $sites "$top/examples/self.c" $flags
	c_lines self
done
# shellcheck disable=SC2086
build self-static $CC -O2 -finstrument-functions "$top/examples/self.c" \
	-I"$prefix/include" "$prefix/lib/libflick.a" -ldl -lpthread
c_lines self-static
# shellcheck disable=SC2086
build self-cc g++ -O2 -finstrument-functions -pthread "$top/examples/self.cc" $flags
run self-cc
said self-cc "mix was called 50000 times" "switched 20000 times while it ran"

channel_lines() {
	run "$1"
	said "$1" "exhaustive: 1000000 produced, all accounted for" \
		"exhaustive: the sum is 499999500000" \
		"sampling: 1000000 produced, all accounted for" \
		"adaptive: 1000000 produced, all accounted for"
}

# shellcheck disable=SC2086
build channel $CC -O2 -pthread "$top/examples/channel.c" $flags
channel_lines channel
build channel-static $CC -O2 "$top/examples/channel.c" -I"$prefix/include" \
	"$prefix/lib/libflick.a" -ldl -lpthread
channel_lines channel-static

# flick/patch.h.
says() {	# PROGRAM OUTPUT: that, and nothing else
	run "$1"
	[ "$(cat "$work/out")" = "$2" ] || fail "$1 says something else"
}

nops="-fpatchable-function-entry=5"
call_lines="tactic flip: one byte changes
switched 100000 times, the hook was met at some calls"
async_lines="before: 5000
finished in a few rounds
after: all changed
released: 5000"
set_lines="before: 330
updated: 460
taken back: 330"
static="-I$prefix/include $prefix/lib/libflick.a -ldl -lpthread"
# shellcheck disable=SC2086
[ "$(uname -m)" = x86_64 ] || exit 0	# what they write is its code
for how in "$flags" "$static"; do
	build patch-call $CC -O2 -pthread "$top/examples/patch-call.c" $how
	says patch-call "$call_lines"
	build patch-async $CC -O2 "$top/examples/patch-async.c" $how
	says patch-async "$async_lines"
	build patch-set $CC -O2 $nops "$top/examples/patch-set.c" $how
	says patch-set "$set_lines"
done

# Where there are no NOPs it says so, and stores nothing.
for sites in "" -finstrument-functions; do
	# shellcheck disable=SC2086
	build patch-set $CC -O2 $sites "$top/examples/patch-set.c" $flags
	timeout 60 env LD_LIBRARY_PATH="$prefix/lib" "$work/patch-set" >"$work/out" 2>&1
	[ $? -eq 1 ] || fail "patch-set without NOPs, $sites: another status than 1"
	grep -q '^no row of NOPs at an entry: compile with' "$work/out" ||
		fail "patch-set without NOPs, $sites: not said"
done
