#!/bin/sh
# A shell has no sites; what it becomes by exec has.
. "$(dirname "$0")/lib"
no_emulator programs
need sqlite3 "$CC"
target recursion -O2 $sites
printf '#!/bin/sh\nexec "$1"\n' >"$work/script"
chmod +x "$work/script"

check() {
	label="$*:"
	record $compilers -a counts --wait -- "$@"
	succeeded
	exact
	lossless
	ends_well
	record $compilers -a counts --wait -P nonsense -- "$@"
	[ "$status" -eq 1 ] || fail "$label status $status for a wrong pattern"
	grep -q ^count "$out" || fail "$label nothing else that it becomes was waited for"
	tail -n 1 "$err" | grep -q 'matches `nonsense`;' || fail "$label it is not said"
}

check sh -c "exec $work/recursion"
check env "$work/recursion"
check "$work/script" "$work/recursion"

label="never:"
record $compilers --wait -- sh -c 'echo done'
[ "$status" -eq 1 ] || fail "$label status $status"
grep -q '^done$' "$out" || fail "$label it did not run"
grep -q 'never became' "$err" || fail "$label it is not said"
