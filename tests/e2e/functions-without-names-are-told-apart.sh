#!/bin/sh
# A stripped file has no names, but tables for unwinding say where functions begin: each
# has a row, MODULE!0xOFFSET, with probes and without. What it exports has its name.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC" nm strip readelf
cat >"$work/bare.c" <<'END'
#include <time.h>

#define BARE __attribute__((noinline, no_instrument_function))

/* Until the thread has had so much CPU time more. */
#define SPEND(ms) do { \
	struct timespec t; \
	unsigned long end, now; \
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); \
	end = t.tv_sec * 1000ul + t.tv_nsec / 1000000 + ms; \
	do { \
		for (volatile int i = 0; i < 100000; i++) \
			; \
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); \
		now = t.tv_sec * 1000ul + t.tv_nsec / 1000000; \
	} while (now < end); \
} while (0)

static BARE void hidden(void) { SPEND(300); }
static BARE void other(void) { SPEND(200); }
__attribute__((noinline)) static void probed(void) { SPEND(100); }
BARE void exported(void) { SPEND(150); }

void begin(void)
{
	hidden();
	other();
	probed();
	exported();
}
END
say 'void begin(void); int main(void) { begin(); return 0; }' >"$work/main.c"
compile "$work/libbare.so" "$work/bare.c" -O1 $sites -shared -fPIC
libraries="$work/libbare.so -Wl,-rpath,$work"
compile "$work/main" "$work/main.c" -O1 $sites
for f in hidden other probed; do
	at=$(nm "$work/libbare.so" | sed -n "s/^0*\([0-9a-f]*\) t $f\$/\1/p")
	eval "$f='libbare.so!0x$at'"
done
strip "$work/libbare.so" || fail strip

self_ms() {	# FUNCTION
	sql "select coalesce(sum(self_ns), 0) / 1000000 from $(rows latency) where name = '$1'"
}

record -- "$work/main"
succeeded
for pair in "$hidden 300" "$other 200" "$probed 100" "exported 150"; do
	ms=$(self_ms "${pair% *}") want=${pair#* }
	[ "$ms" -gt $((want * 6 / 10)) ] && [ "$ms" -lt $((want * 14 / 10)) ] ||
		fail "${pair% *} takes $ms ms, not $want"
done
[ "$(sql "select count(*) from $(rows latency) where name = '$probed'")" = 1 ] ||
	fail "what has a probe has two rows"
[ "$(sql "select calls from $(rows latency) where name = '$probed'")" = 1 ] ||
	fail "$probed was not called once"
label=list:
run "$FLICK" list "$work/libbare.so"
succeeded
grep -q " $probed\$" "$out" || fail "$label no $probed"
label="-P $probed:"
record -a counts -P "$probed" -- "$work/main"
succeeded
[ "$(sql "select name from $(rows counts)")" = "$probed" ] || fail "$label not this one alone"

# Damaged tables name nothing, and end nobody.
label=damaged:
cp "$work/libbare.so" "$work/whole.so"
at=$(readelf -SW "$work/libbare.so" |
	sed -n 's/.* \.eh_frame_hdr *PROGBITS *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')
for byte in 3 4 8 9 10 13 14; do
	cp "$work/whole.so" "$work/libbare.so"
	printf '\377' | dd of="$work/libbare.so" bs=1 seek=$((0x$at + byte)) conv=notrunc 2>/dev/null
	record -- "$work/main"
	succeeded
done
