#!/bin/sh
# The function by which the loader says that its list changes is not one that can be armed:
# the program has its environment, and constructors run once, in their order.
# Nor is a library stored to that has gone, of which nobody was told.
# Found before: modules were to stay, and to tell the loader so called their constructors,
# the C library's with no environment; and what was met in a library had its text changed
# when that was not there any more.
. "$(dirname "$0")/lib"
need "$CC" readelf dd
cat >"$work/begun.c" <<'END_OF_CODE'
#include <stdio.h>
#include <stdlib.h>
static int n;
__attribute__((constructor)) static void begin(void)
{
	const char *told = getenv("TOLD");
	printf("constructor %d, %s\n", ++n, told ? told : "no environment");
}
int begun(void)
{
	return n;
}
END_OF_CODE
cat >"$work/asks.c" <<'END_OF_CODE'
#include <stdio.h>
#include <stdlib.h>
int begun(void);
int main(int argc, char **argv)
{
	const char *told = getenv("TOLD");
	printf("main %d %s, %d constructors, %s\n", argc, argv[1], begun(),
	       told ? told : "no environment");
	return 0;
}
END_OF_CODE

compile "$work/libbegun.so" "$work/begun.c" -O2 $sites -shared -fPIC
libraries="-L$work -lbegun -Wl,-rpath,$work"
compile "$work/asks" "$work/asks.c" -O2 $sites

# A copy of the loader: behind the function's `ret` are no NOPs (x86-64), or its return is
# another instruction (AArch64: br x30).
case $(uname -m) in
x86_64) behind=1 bytes='\314\314\314\314\314\314\314' ;;
aarch64) behind=0 bytes='\300\003\037\326' ;;
esac
loader=$(readelf -lW "$work/asks" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
cp -L "$("$CC" -print-sysroot)$loader" "$work/ld.so" || skip "no $loader"
at=$(readelf -W --dyn-syms "$work/ld.so" | awk '$8 ~ /^_dl_debug_state@/ { print $2 }')
text=$(readelf -WS "$work/ld.so" | sed 's/^ *\[ *[0-9]*\]//' | awk '$1 == ".text" { print $3, $4 }')
[ -n "$at" ] && [ -n "$text" ] || skip "this loader has another function"
# shellcheck disable=SC2059
printf "$bytes" | dd of="$work/ld.so" bs=1 conv=notrunc 2>"$err" \
	seek=$((0x$at - 0x${text% *} + 0x${text#* } + behind)) || fail "the loader is not changed"

compile "$work/asks" "$work/asks.c" -O2 $sites -Wl,--dynamic-linker="$work/ld.so"
export TOLD=environment
run "$work/asks" word
succeeded
cp "$out" "$work/alone"
grep -q '^main 2 word, 1 constructors, environment$' "$out" || fail "alone it runs otherwise"
for how in "-a counts" "-a latency --all"; do
	label="$how:"
	record $how -- "$work/asks" word
	succeeded
	cmp -s "$out" "$work/alone" || fail "$label other output than alone"
	grep -q '^events: [1-9][0-9]* produced, .* 0 lost[,;]' "$err" || fail "$label no events"
done

cat >"$work/goes.c" <<'END_OF_CODE'
#include <dlfcn.h>
#include <flick.h>
#include <stdio.h>
static int is_said(flick *f, enum flick_state to)
{
	return flick_stage(f, "*", to) >= 0 && flick_commit(f) >= 0;
}
static int comes_and_goes(flick *f, const char *path, enum flick_state to)
{
	void *lib = dlopen(path, RTLD_NOW);
	int (*begun)(void) = lib ? (int (*)(void))dlsym(lib, "begun") : NULL;
	return begun && begun() == 1 && is_said(f, to) && begun() == 1 && !dlclose(lib) &&
		is_said(f, to == FLICK_ON ? FLICK_OFF : FLICK_ON) && is_said(f, FLICK_ON);
}
int main(int argc, char **argv)
{
	flick *f;
	for (int i = 0; i < 3; i++) {
		if (flick_open(&f, NULL) || !is_said(f, FLICK_ON))
			return argc + 2;
		for (int k = 0; k < 3; k++)
			if (!comes_and_goes(f, argv[1], k & 1 ? FLICK_OFF : FLICK_ON))
				return 2;
		flick_close(f);
	}
	return puts("ok") < 0;
}
END_OF_CODE
label="a library that goes:"
libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"
compile "$work/goes" "$work/goes.c" -O2 $sites -I"$top/include" \
	-Wl,--dynamic-linker="$work/ld.so"
run "$work/goes" "$work/libbegun.so"
succeeded
grep -qx ok "$out" || fail "$label does not say ok"
