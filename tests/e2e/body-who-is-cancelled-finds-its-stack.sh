#!/bin/sh
# A thread that is cancelled where a body has moved the stack pointer, to tell accesses or paths,
# comes to its cleanup with the stack where the function has it: it was misaligned, and the
# cleanup's locals lay elsewhere. Ends as without flick. The cleanup is come to by chance, which
# is two of three times. By `-a cache` nearly all is code that a body has aside: from there
# threads come to it, too.
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator windows
x86_target cancelled
need "$CC"
export FLICK_BODIES=1

target cancelled -O2 -fexceptions
for how in "-a cache" "-a paths" "-a counts" ""; do
	# shellcheck disable=SC2086
	record $how -- "$work/cancelled"
	succeeded
	[ "$(cat "$out")" = "wrong 0" ] || fail "$how: $(cat "$out")"
	cleaned=$(sed -n 's/^clean //p' "$err")
	[ "$how" != "-a cache" ] || least=200
	[ "${cleaned:-0}" -ge "${least:-10}" ] || fail "$how: of 400 threads $cleaned cleaned up"
	least=
done
