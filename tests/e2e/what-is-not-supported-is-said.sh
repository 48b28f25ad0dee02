#!/bin/sh
# What docs/GUEST.md says is not supported, and can be seen, is said in one clear line.
# (Static programs: nothing-to-probe-...; full tables: what-is-left-out-...)
. "$(dirname "$0")/lib"
need "$CC"

once() {	# PATTERN
	n=$(grep -c -- "$1" "$err")
	[ "$n" -eq 1 ] || fail "$label $n lines, not 1, say: $1"
	[ "$(n_errors)" -eq 1 ] || fail "$label more is said than that"
}

# Lists of modules of their own, of which libflick is in none.
cat >"$work/spaces.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		if (!(argc > 2 ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW) :
				 dlopen(argv[1], RTLD_NOW)))
			return 1;
	return 0;
}
C
compile "$work/spaces" "$work/spaces.c" $sites
library text-lib -O2 $sites
label="dlopen:"
record -a counts -- "$work/spaces" "$work/text-lib.so"
succeeded
[ "$(n_errors)" -eq 0 ] || fail "$label something is said"
label="dlmopen:"
record -a counts -- "$work/spaces" "$work/text-lib.so" apart
succeeded
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null)
[ "$(printf '%s\n' 'glibc 2.35' "$libc" | sort -V | head -n 1)" != "glibc 2.35" ] ||
	once '^flick: modules in other link-map namespaces (dlmopen) are not recorded$'

label="TEXTREL:"
cat >"$work/moved.S" <<'S'
	.data
there:	.quad 0
	.text
	.quad there
	.section .note.GNU-stack, "", @progbits
S
compile "$work/textrel" "$targets/threads.c" $sites "$work/moved.S" -fPIE -pie \
	-Wl,-z,notext
record -a counts -- "$work/textrel"
one_line_error 1 'DT_TEXTREL'

target deny -O2
target threads -O2 $sites
cannot_be() {	# WHAT PATTERN
	label="denied, $1:"
	"$work/deny" "$1" true || return
	rm -rf "$data"
	run "$work/deny" "$1" "$FLICK" record -o "$data" -a counts -- "$work/threads"
	one_line_error 1 "$2"
	[ ! -s "$out" ] || fail "$label the program ran"
}
cannot_be sync 'membarrier, signals and ptrace are denied'
cannot_be both 'cannot make the shared memory: Permission denied'

# Rights that the caller does not have: the loader heeds no LD_PRELOAD.
if ! emulated setuid && [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	place=$(mktemp -d /tmp/flick-test.XXXXXX)	# that others may enter
	trap 'rm -rf "$work" "$place"' EXIT
	chmod 777 "$place"
	cp "$FLICK" "$(dirname "$FLICK")"/libflick.so* "$work/threads" "$place"
	as_nobody() {
		run setpriv --reuid=65534 --regid=65534 --clear-groups \
			"$place/flick" record -o "$place/data" -- "$place/threads"
	}
	chmod 4755 "$place/threads"
	label="set-user-ID:"
	as_nobody
	one_line_error 1 'threads is set-user-ID, so the loader ignores LD_PRELOAD'
	label="set-user-ID of somebody else's, by root:"
	chown 65534 "$place/threads"
	chmod 4755 "$place/threads"
	run "$FLICK" record -o "$place/data" -- "$place/threads"
	one_line_error 1 'threads is set-user-ID, so the loader ignores LD_PRELOAD'
	[ ! -s "$out" ] || fail "$label it has run"
	chown 0:65534 "$place/threads"
	chmod 2755 "$place/threads"
	run "$FLICK" record -o "$place/data" -- "$place/threads"
	one_line_error 1 'threads is set-group-ID'
	label="set-user-ID of one's own:"
	chown 0:0 "$place/threads"
	chmod 4755 "$place/threads"
	run "$FLICK" record -o "$place/data" -- "$place/threads"
	[ "$status" -eq 0 ] || fail "$label status $status"
	chmod 755 "$place/threads"
	if setcap cap_net_raw+ep "$place/threads" 2>/dev/null; then
		label="file capabilities:"
		as_nobody
		one_line_error 1 'LD_PRELOAD'
	fi
fi

# A sled that XRay's own runtime has patched is none that flick knows.
cat >"$work/patched.c" <<'C'
#include <flick.h>
#include <stdio.h>
enum { SUCCESS = 1 };
int __xray_set_handler(void (*)(int32_t, int));
int __xray_patch(void);
__attribute__((noinline, xray_always_instrument)) static void work(void) { __asm__(""); }
static void ignore(int32_t id, int type) { (void)id; (void)type; }
int main(void)
{
	flick *f;
	char why[200];
	uint32_t n;

	if (!__xray_set_handler(ignore) || __xray_patch() != SUCCESS)
		return puts("no XRay") < 0;
	work();
	if (flick_open(&f, NULL))
		return 1;
	n = flick_count(f);
	for (uint32_t id = 0; id < n; id++)
		if (!flick_why(f, id, why, sizeof why) || flick_on(f, id, NULL, NULL) == 0)
			return printf("%u is not refused\n", id) > 0;
	printf("%u: %s\n", n, why);
	flick_close(f);
	return 0;
}
C
if ! emulated xray && clang -fxray-instrument "$work/patched.c" -I"$top/include" \
	-L"$(dirname "$FLICK")" -lflick -Wl,-rpath,"$(dirname "$FLICK")" -o "$work/patched" \
	2>"$work/clang"; then
	label="XRay:"
	run "$work/patched"
	succeeded
	grep -q '^no XRay$' "$out" ||
		grep -q '^[1-9][0-9]*: .*the bytes are not the ones that were there' "$out" ||
		fail "$label no reason"
fi
