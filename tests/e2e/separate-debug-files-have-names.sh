#!/bin/sh
# A stripped file whose symbols are in a file of /usr/lib/debug, found by its build-id,
# has its names: of what it exports, and of what it does not.
. "$(dirname "$0")/lib"
need "$CC" objcopy strip readelf unshare
[ -d /usr/lib/debug ] || skip "there is no /usr/lib/debug to mount upon"
unshare -rm mount -t tmpfs none /usr/lib/debug 2>/dev/null ||
	skip "nothing can be mounted here"
cat >"$work/bare.c" <<'END'
__attribute__((noinline)) static int hidden(int n) { return n + 1; }
int exported(int n) { return hidden(n) + hidden(n + 1); }
END
compile "$work/bare.so" "$work/bare.c" -O1 $sites -shared -fPIC -Wl,--build-id
id=$(readelf -n "$work/bare.so" | sed -n 's/.*Build ID: //p')
rest=${id#??}
objcopy --only-keep-debug "$work/bare.so" "$work/bare.debug" || fail objcopy
strip "$work/bare.so" || fail strip
run "$FLICK" list "$work/bare.so"
succeeded
! grep -q ' hidden$' "$out" || fail "it is not stripped"
grep -q ' bare.so!0x' "$out" || fail "what has no name is not bare.so!0x..."
dir=/usr/lib/debug/.build-id/${id%"$rest"}
run unshare -rm sh -c "mount -t tmpfs none /usr/lib/debug && mkdir -p '$dir' &&
	cp '$work/bare.debug' '$dir/$rest.debug' && '$FLICK' list '$work/bare.so'"
succeeded
for name in hidden exported; do
	grep -q " $name\$" "$out" || fail "no $name"
done
