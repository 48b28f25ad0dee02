#!/bin/sh
# packages.sh - the Debian packages are clean, install on a minimal Debian, work
# there, and leave nothing.
#
# timeout: 1200
. "$(dirname "$0")/../e2e/lib"
need mmdebstrap lintian dpkg-buildpackage
[ "$(id -u)" = 0 ] || skip "a root of its own needs root"
[ "${FLICK_TORTURE:-}" = long ] || skip "takes minutes: make torture"

"$top/tools/make-deb" "$work/deb" >/dev/null || fail "the packages are not built"
lintian --fail-on error,warning "$work"/deb/*.changes >"$out" 2>&1 ||
	fail "lintian: $(cat "$out")"

sources=$(ls /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
	head -n 1)
cp "$targets/demo.c" "$work/deb"
cat >"$work/deb/try" <<'END'
set -eu
cd /tmp/deb
find / -xdev -name '*flick*' ! -path '/tmp/*' | sort >before
apt-get -qq install -y ./flick_*.deb ./libflick0_*.deb ./libflick-dev_*.deb >log 2>&1
gcc -w -O2 -finstrument-functions demo.c -o demo -pthread
flick record -o data ./demo >said 2>&1
flick report --format=csv data | grep -q make_page
gcc -w -finstrument-functions /usr/share/doc/libflick-dev/examples/self.c -o self -lflick
./self >/dev/null
man -w flick >/dev/null 2>&1 || test -e /usr/share/man/man1/flick.1.gz
apt-get -qq purge -y flick libflick0 libflick-dev >>log 2>&1
find / -xdev -name '*flick*' ! -path '/tmp/*' | sort | diff before -
echo all well
END
nice mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev \
	--customize-hook="cp -r '$work/deb' \"\$1/tmp/deb\"" \
	--customize-hook='chroot "$1" apt-get -qq update' \
	--customize-hook='chroot "$1" sh /tmp/deb/try' \
	bookworm /dev/null "$sources" >"$out" 2>&1 || fail "$(tail -n 20 "$out")"
grep -q 'all well' "$out" || fail "$(tail -n 20 "$out")"
