#!/bin/sh
# More probes than any island of trampolines holds, and one whose function jumps
# back to its own site: all armed, switched as one set, each counted by itself,
# and every byte put back.
# timeout: 300
. "$(dirname "$0")/lib"
x86_target many-sites
BUILD=${BUILD:-$top/build}
limit=240
libraries="$BUILD/libflick.so -Wl,-rpath,$BUILD" target many-sites -O2 -I"$top/include"
run "$work/many-sites"
[ "$status" -eq 0 ] && grep -qx ok "$out" || fail "status $status"
