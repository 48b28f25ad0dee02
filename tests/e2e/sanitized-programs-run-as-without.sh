#!/bin/sh
# A program that a sanitizer is in prints and finds what it does without flick, and its
# calls are counted. So is it where only what the recorded program starts has one.
. "$(dirname "$0")/lib"
need sqlite3 gcc clang

# What a sanitizer says, without numbers that differ from run to run.
findings() {
	grep -E '^SUMMARY|runtime error|WARNING: |ERROR: ' "$1" |
		sed -E 's/==[0-9]+==//; s/pid[ =][0-9]+//; s/0x[0-9a-f]+//g'
}

same() {	# PROGRAM MISTAKE OPTIONS
	run "$1" "$2"
	! grep -q 'error while loading shared libraries' "$err" || skip "no runtime of sanitizers"
	cp "$out" "$work/plain" && findings "$err" >"$work/found" && plain=$status
	TRUTH_THREADS= record $3 -- "$1" "$2"
	succeeded $plain
	cmp -s "$work/plain" "$out" || fail "$label other output"
	findings "$err" | cmp -s - "$work/found" || fail "$label other findings"
}

for CC in gcc clang; do
	for kind in address thread undefined leak memory; do
		[ "$CC-$kind" != gcc-memory ] || continue	# clang's alone
		every 3 || [ $CC-$kind = gcc-address ] || continue
		target sanitized -O1 $sites -fsanitize=$kind
		mv "$work/sanitized" "$work/$CC-$kind"
		label="$CC, $kind:"
		same "$work/$CC-$kind" well "-a counts"
		exact
		for mistake in well $kind; do
			same "$work/$CC-$kind" $mistake ""
			same "$work/$CC-$kind" $mistake "-a latency --all"
		done
		[ -s "$work/found" ] || fail "$label the sanitizer finds nothing"
	done
done

# Nor is a child refused, and the user's own options stay.
CC=gcc
label="a child:"
cat >"$work/child" <<END
#!/bin/sh
echo "\${ASAN_OPTIONS%%:verify*}"
exec "$work/gcc-address" well
END
chmod +x "$work/child"
export ASAN_OPTIONS=exitcode=9
TRUTH_THREADS= record --wait -a counts -- "$work/child"
succeeded
exact
grep -qx 'exitcode=9' "$out" || fail "$label ASAN_OPTIONS are not the user's"
label="the user's options:"
same "$work/gcc-address" address ""
[ "$plain" = 9 ] || fail "$label they do not count"
