#!/bin/sh
# bodies.sh [FILE...] - functions of installed files that can have a second body, and why
# others cannot: a JSON row a file (bench/bodies.c).
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$top/build}
lib=/usr/lib/x86_64-linux-gnu
mkdir -p "$build/bench"
${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -O2 -I"$top/src" -I"$top/include" -o "$build/bench/bodies" \
	"$top/bench/bodies.c" "$build/inside.a" -lpthread -ldl
[ $# -gt 0 ] || set -- $lib/libc.so.6 $lib/libstdc++.so.6 $lib/libcrypto.so.3 \
	$lib/libpython3.11.so.1.0 /usr/bin/python3.11 $lib/libsqlite3.so.0 /usr/bin/perl \
	/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus
for file; do
	[ -r "$file" ] || { echo "$file: not installed" >&2; continue; }
	"$build/bench/bodies" "$file"
done
