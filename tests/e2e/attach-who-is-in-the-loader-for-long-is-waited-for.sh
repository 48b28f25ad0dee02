#!/bin/sh
# record -p of a program in which a thread is in the loader for long, as in a constructor of a library:
# who is waited for is said, and the wait ends when it comes out, with -d, or by Ctrl-C. Ended, it has
# changed nothing of the program. It was waited for without a word, in the program, and -d and Ctrl-C
# did not end it.
#
# timeout: 120
# waits
. "$(dirname "$0")/lib"
no_emulator ptrace
need "$CC"
. "$here/attach-lib"
cat >"$work/slow.c" <<'END'
#include <unistd.h>
extern volatile int out;
__attribute__((constructor)) static void wait(void)
{
	write(1, "in\n", 3);
	while (!out)
		usleep(1000);
	write(1, "out\n", 4);
}
END
cat >"$work/loads.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
volatile int out, in, over;
static volatile long sum;
static void on_signal(int sig)
{
	*(sig == SIGUSR1 ? &in : sig == SIGUSR2 ? &out : &over) = 1;
}
__attribute__((noipa)) static void work(int i) { sum += i; }

static void *load(void *file)
{
	while (!in)
		usleep(1000);
	return dlopen(file, RTLD_NOW);
}

int main(int argc, char **argv)
{
	void *library = NULL;
	sigset_t set;
	pthread_t t;

	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	signal(SIGTERM, on_signal);
	in = !strcmp(argv[2], "main");
	if (in && !(library = load(argv[1])))
		return puts(dlerror()) < 0;
	if (!in)
		pthread_create(&t, NULL, load, argv[1]);
	sigemptyset(&set);		/* else it waits for who traces main */
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	while (!over)
		work(usleep(1000));
	if (library || !pthread_join(t, &library))
		puts(library ? "fine" : dlerror());
	return !library;
}
END
compile "$work/slow.so" "$work/slow.c" -O2 -shared -fPIC
compile "$work/loads" "$work/loads.c" -O2 -rdynamic
program=loads
trap 'kill -KILL $pid 2>/dev/null; rm -rf "$work"' EXIT

says() {	# LINE
	read -r line <&8
	[ "$line" = "$1" ] || fail "$label it says $line, not $1"
}

enter() {	# main|thread
	begin "$work/slow.so" "$1"
	[ "$1" = main ] || kill -USR1 $pid
	[ "$line" = in ] || says in
	mappings=$(wc -l <"/proc/$pid/maps")
}

# recorder OPTION...	until it says who it waits for
waits() {
	rm -rf "$data"
	: >"$err"
	"$FLICK" record -p $pid -o "$data" -a counts -P work "$@" >"$out" 2>"$err" &
	recorder=$!
	until grep -q "is in the loader" "$err"; do
		kill -0 $recorder 2>/dev/null || fail "$label it does not wait: $(cat "$err")"
		sleep 0.01
	done
}

ends_it() {
	wait $recorder
	status=$?
	left
}

left() {
	[ $status -eq 1 ] || fail "$label status $status"
	grep -q 'was in the loader until the wait ended; nothing of it has changed' "$err" ||
		fail "$label it is not said"
	[ "$(wc -l <"$err")" -eq 2 ] || fail "$label not two lines"
	[ ! -e "$data" ] || fail "$label results of nothing are kept"
}

comes_out() {
	kill -USR2 $pid
	says out
	[ "$1" != main ] || says ready
}

for who in main thread; do
	label="$who, -d:"
	enter $who
	waits -d 1.1
	ends_it
	label="$who, Ctrl-C:"
	waits
	kill -INT $recorder 2>/dev/null		# which a shell has such ignore
	kill -TERM $recorder
	ends_it
	now=$(wc -l <"/proc/$pid/maps")
	[ "$now" -eq "$mappings" ] || fail "$label $now mappings, not $mappings"
	[ "$(ls /proc/$pid/task | wc -l)" -eq $threads ] || fail "$label a thread more"
	"$work/same-text" $pid || fail "$label its code is not as it was"
	label="$who, out:"
	waits
	comes_out $who
	threads=$(ls /proc/$pid/task | wc -l)
	until [ -e "/proc/$pid/exe" ] && "$FLICK" ctl -p $pid status >"$work/status" 2>&1 &&
		! grep -q 'is on yet' "$work/status"; do
		kill -0 $recorder || fail "$label it does not begin: $(cat "$err")"
		sleep 0.01
	done
	kill -TERM $recorder
	wait $recorder || fail "$label status $?"
	finish
done

# It comes in front of flick's own thread, which is on its way.
label="in front:"
killer=${BUILD:-$top/build}/tests/flick-kill-at
[ -x "$killer" ] || exit 0
FLICK_LIB=$(readlink -f "$(dirname "$FLICK")/libflick.so.0")
export FLICK_LIB FLICK_KILL_ONCE="$work/once"
begin "$work/slow.so" thread
: >"$FLICK_KILL_ONCE"
rm -rf "$data"
FLICK_KILL_AT=attach.seized FLICK_KILL_STOP=$pid FLICK_KILL_SIGNAL=10 \
	run "$killer" record -p $pid -d 1.1 -a counts -o "$data" -P work
[ ! -e "$FLICK_KILL_ONCE" ] || fail "$label it did not come there"
left
says in
comes_out thread
threads=1			# and the loading one has ended
is_as_it_was
for=0.1 attach -a counts -P work
is_as_it_was
finish
