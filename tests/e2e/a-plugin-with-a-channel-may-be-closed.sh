#!/bin/sh
# A library with libflick.a in it puts words and is closed; then signals come, at which the
# kernel looks for the sequence that the thread was in last. Without the library's staying
# it crashes at the first.
. "$(dirname "$0")/lib"
BUILD=${BUILD:-$top/build}

cat >"$work/plugin.c" <<'END'
#include <flick/channel.h>
#include <stdlib.h>

int put_words(int n)
{
	struct flick_channel_opt o = { .size = sizeof(o), .mode = FLICK_EXHAUSTIVE };
	size_t bytes = (flick_channel_bytes(&o) + 63) / 64 * 64;
	void *memory = aligned_alloc(64, bytes);
	struct flick_channel *c;

	if (!memory || flick_channel_init(memory, bytes, &o, &c) || flick_channel_produce(c))
		return 1;
	for (int i = 1; i <= n; i++)
		flick_channel_put64(c, (uint64_t)i);
	return 0;
}
END
cat >"$work/host.c" <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>

static void nothing(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, nothing);
	for (int i = 0; i < 50; i++) {
		void *plugin = dlopen(argv[argc - 1], RTLD_NOW);
		int (*put)(int) = plugin ? (int (*)(int))dlsym(plugin, "put_words") : NULL;

		if (!put || put(100) || dlclose(plugin))
			return 1;
		raise(SIGUSR1);
	}
	puts("ok");
	return 0;
}
END
for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	$CC -O2 -w -fPIC -shared -I"$top/include" "$work/plugin.c" "$BUILD/libflick.a" \
		-o "$work/plugin.so" && $CC -O2 -w "$work/host.c" -ldl -o "$work/host" ||
		fail "$CC: it does not build"
	run "$work/host" "$work/plugin.so"
	[ "$status" -eq 0 ] && grep -qx ok "$out" || fail "$CC: status $status"
done
