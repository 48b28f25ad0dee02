#!/bin/sh
# Who asks by backtrace() or _Unwind_Backtrace() where calls return to hears the same places in the
# program's own functions as without flick, though they return into bodies; a panic in Rust
# prints its frames. Where several libraries of a program have an unwinder, each gets its own, and
# one whose contexts are not known to be changed by a store alone is left as it is.
# timeout: 180
. "$(dirname "$0")/lib"
no_emulator programs
need sqlite3 "$CC"
export FLICK_BODIES=1

same() {	# WHAT PROGRAM; OPTIONS behind them
	label=$1 program=$2
	shift 2
	record "$@" -- "$program"
	cmp -s "$work/alone" "$out" || {
		diff "$work/alone" "$out" | cut -c 1-300 | head -n 6
		fail "$label $*: other places"
	}
	grep -q ' bodies: [1-9]' "$err" || fail "$label $*: there are no bodies"
}

for flags in "-O2" "-O0" "-Os -no-pie" "-O2 $landing_pads"; do
	# shellcheck disable=SC2086
	target returns $flags
	"$work/returns" >"$work/alone" || fail "$flags: it ends with $?"
	for how in "-a counts" "-a latency --all" "" "-a paths" "-a cache"; do
		# shellcheck disable=SC2086
		every 3 && same "$flags" "$work/returns" $how
	done
done

# Each of two libraries brings an unwinder of its own, which is no libgcc.
for l in a b; do
	cat >"$work/unwinder-$l.c" <<-END_OF_C
	typedef int (*trace)(void *, void *);
	long _Unwind_GetIP(void *c) { return *(long *)c; }
	int _Unwind_SetIP(void *c, long at) { *(long *)c = at; return 0; }
	int _Unwind_Backtrace(trace each, void *arg)
	{
		long own = 1, at = (long)__builtin_return_address(0);

		each(&own, arg);
		for (at = 100; at < 103; at++)
			each(&at, arg);
		return '$l';
	}
	END_OF_C
	cat >"$work/user-$l.c" <<-'END_OF_C'
	int _Unwind_Backtrace(int (*)(void *, void *), void *);
	long _Unwind_GetIP(void *);
	static int add(void *c, void *sum)
	{
		*(long *)sum = *(long *)sum * 1000 + _Unwind_GetIP(c);
		return 0;
	}
	long use(void)
	{
		long sum = 0;
		int by = _Unwind_Backtrace(add, &sum);

		return sum % 1000000000 * 1000 + by;
	}
	END_OF_C
	compile "$work/libunwinder-$l.so" "$work/unwinder-$l.c" -shared -fPIC
	compile "$work/libuser-$l.so" "$work/user-$l.c" -shared -fPIC -L"$work" \
		"-Wl,--no-as-needed,-lunwinder-$l,--as-needed,-rpath,$work"
done
cat >"$work/users.c" <<'END_OF_C'
#include <dlfcn.h>
#include <stdio.h>

__attribute__((noinline, noipa)) static void say(const char *name, long (*use)(void))
{
	printf("%s: %ld\n", name, use());
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *l = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		long (*use)(void) = l ? (long (*)(void))dlsym(l, "use") : 0;

		if (!use)
			return 1;
		for (int k = 0; k < 3; k++)
			say(argv[i], use);
	}
	return 0;
}
END_OF_C
compile "$work/users" "$work/users.c" -O2
# One that is there from the start is everybody's.
compile "$work/linked" "$work/users.c" -O2 -L"$work" -nodefaultlibs \
	"-Wl,--no-as-needed,-luser-a,-lc,--as-needed,-rpath,$work"
set -- "$work/libuser-b.so" "$work/libuser-a.so" "$work/libuser-b.so"
for program in users linked; do
	"$work/$program" "$@" >"$work/alone" || fail "$program: it ends with $?"
	record -a counts -- "$work/$program" "$@"
	cmp -s "$work/alone" "$out" || fail "another unwinder: not as in $(cat "$work/alone")"
done

command -v rustc >/dev/null || exit 0
cat >"$work/panics.rs" <<'END_OF_RUST'
#[inline(never)]
fn inner(n: usize) -> usize {
    if n > 2 { panic!("too many: {}", n); }
    n + 1
}
#[inline(never)]
fn outer(n: usize) -> usize { inner(n) * 2 }
fn main() { println!("{}", outer(std::env::args().count() + 2)); }
END_OF_RUST
rustc -O -g -o "$work/panics" "$work/panics.rs" 2>"$err" || fail "rustc"
export RUST_BACKTRACE=1
frames() {
	sed -n '/stack backtrace/,/^note/p' "$err"
}
run "$work/panics"
frames >"$work/alone"
grep -q 'panics::inner' "$work/alone" || fail "no frames by itself"
record -a counts -- "$work/panics"
frames >"$work/recorded"
cmp -s "$work/alone" "$work/recorded" || fail "a panic: $(cat "$work/recorded")"
