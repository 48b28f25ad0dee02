#!/bin/sh
# A set-user-ID program that links libflick is not told by its caller what flick
# does in it: no FLICK_* variable is read, and it joins no recording. One that is
# not set-user-ID heeds them.
. "$(dirname "$0")/lib"
no_emulator setuid
need "$CC" setpriv
[ "$(id -u)" = 0 ] || skip "only root makes a program set-user-ID for another"
place=$(mktemp -d /tmp/flick-test.XXXXXX)	# that others may enter
trap 'rm -rf "$work" "$place"' EXIT
chmod 755 "$place"
cp "$(dirname "$FLICK")"/libflick.so* "$place"
libraries="-L$place -lflick -Wl,-rpath,$place"
compile "$place/privileged" "$targets/privileged.c" -O1 $sites -I"$top/include"
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

heeds() {	# yes|no
	for what in FLICK_FAULT=mmap:1+ FLICK_FAULT=nonsense FLICK_SYNC=nonsense \
		FLICK_TEXT=nonsense; do
		label="$what:"
		run $as_nobody env "$what" "$place/privileged"
		succeeded
		grep -q '^secure: 1$' "$out" && is_secure=yes || is_secure=no
		grep -q '^flick_open: well$' "$out" && [ ! -s "$err" ] && got=no || got=yes
		[ $is_secure != "$1" ] || skip "set-user-ID does not work in $place"
		[ $got = "$1" ] || fail "$label heeded: $got"
	done
}
heeds yes
chown 0 "$place/privileged"
chmod u+s "$place/privileged"
heeds no

# The recorder is root's, as the program becomes; it names its region to both.
label="--follow:"
record $compilers --follow -a counts -- setpriv --reuid=65534 --clear-groups "$place/privileged"
grep -q '^secure: 1$' "$out" || fail "$label it did not run so"
grep -q '^flick_open: well$' "$out" || fail "$label it is recorded"
[ "$status" -eq 1 ] || fail "$label status $status"
