#!/bin/sh
# Who cannot be attached to is told in one line, with what to do, and runs on: a static
# program, one of 32 bits, one that has musl, one in another mount, pid or user namespace, one
# that is stopped, traced, under a seccomp filter, a zombie, without its first thread, a
# thread, one that is not there, a child of vfork() and who waits for it, one whose only thread runs
# on a stack of its own, one that has another root, and the process that flick has beside a program.
# Where the system lets nobody make a namespace, or has no musl, that is left out.
# waits
. "$(dirname "$0")/lib"
no_emulator ptrace
need "$CC" unshare strace pgrep
cat >"$work/waits.c" <<'END'
#include <unistd.h>
volatile int n;
int other(void)
{
	return n++;
}
int main(void)
{
	for (;;)
		pause();
}
END
compile "$work/waits" "$work/waits.c" -O1
compile "$work/static" "$work/waits.c" -O1 -static
cat >"$work/bits.c" <<'END'
void _start(void)
{
	for (;;)
		__asm__ volatile("int $0x80" : : "a"(29) : "memory");	/* pause */
}
END
cat >"$work/parent.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
static void *wait_there(void *arg)
{
	printf("%ld\n", (long)syscall(SYS_gettid));
	fflush(stdout);
	for (;;)
		pause();
	return arg;
}
int main(void)
{
	pthread_t t;
	int child = fork();

	if (!child)
		_exit(0);
	printf("%d\n", child);
	pthread_create(&t, NULL, wait_there, NULL);
	pthread_join(t, NULL);
}
END
compile "$work/parent" "$work/parent.c" -O1 -D_GNU_SOURCE
cat >"$work/elsewhere.c" <<'END'
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>
static void wait_there(void)
{
	for (;;)
		pause();
}
int main(int argc, char **argv)
{
	static ucontext_t from, to;

	if (argc == 1 && !vfork())
		wait_there();
	getcontext(&to);
	to.uc_stack.ss_size = 65536;
	to.uc_stack.ss_sp = malloc(to.uc_stack.ss_size);
	makecontext(&to, wait_there, 0);
	return swapcontext(&from, &to);
}
END
compile "$work/elsewhere" "$work/elsewhere.c" -O1 -D_GNU_SOURCE
target deny -O2
cat >"$work/outlived.c" <<'END'
#include <pthread.h>
#include <unistd.h>
static void *wait_there(void *arg)
{
	for (;;)
		pause();
	return arg;
}
int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_there, NULL);
	pthread_exit(NULL);
}
END
compile "$work/outlived" "$work/outlived.c" -O1

refused() {	# PID SENTENCE [OPTION]
	run "$FLICK" record -p "$1" -d 0.1 -o "$data" ${3:-}
	[ $status -eq 1 ] || fail "$2: status $status"
	[ "$(wc -l <"$err")" -eq 1 ] || fail "$2: more than a line: $(cat "$err")"
	grep -q -e "$2" "$err" || fail "$2: $(cat "$err")"
	[ ! -e "$data" ] || fail "$2: results of nothing are kept"
}

# Once it runs the program, whatever began it.
begin() {	# PROGRAM COMMAND...
	want=$1
	shift
	"$@" &
	pid=$!
	for i in $(seq 200); do
		[ "$(readlink /proc/$pid/exe)" = "$want" ] && return 0
		[ -e /proc/$pid/exe ] || break
		sleep 0.01
	done
	wait $pid 2>/dev/null
	return 1
}

end() {
	kill -KILL $pid
	wait $pid 2>/dev/null
}

runs_on() {
	case $(awk '{ print $3 }' /proc/$pid/stat) in
	[SR]) ;;
	*) fail "$1: it does not run on" ;;
	esac
}

begin "$work/static" "$work/static" || fail "the static one does not run"
refused $pid 'linked statically' --all
runs_on static
end
begin "$work/waits" unshare -m "$work/waits" && {
	refused $pid 'another mount namespace'
	runs_on mount
	end
}
unshare -p -f "$work/waits" 2>/dev/null &
outer=$!
until pid=$(pgrep -P $outer -x waits); do
	kill -0 $outer 2>/dev/null || break
done
[ "$pid" ] && {
	refused $pid 'another pid namespace'
	runs_on pid
	kill -KILL $pid
}
wait $outer 2>/dev/null
begin "$work/waits" unshare -U "$work/waits" && {
	refused $pid 'another user namespace'
	runs_on user
	end
}
begin "$work/waits" "$work/waits" || fail "it does not run"
kill -STOP $pid
while [ "$(awk '{ print $3 }' /proc/$pid/stat)" != T ]; do :; done
refused $pid 'is stopped'
kill -CONT $pid
runs_on stopped
end
refused $pid 'there is no process'

# Of 32 bits, without a C library, as a compiler for both needs another set of libraries.
case $(uname -m) in x86_64)
	"$CC" -m32 -O1 -nostdlib -static -fno-pie -no-pie -o "$work/bits" "$work/bits.c" ||
		fail "$CC -m32"
	if begin "$work/bits" "$work/bits"; then
		refused $pid 'of 32 bits'
		runs_on "32 bits"
		end
	else
		# A kernel may be made without them (126: the shell could not execute it).
		"$work/bits" 2>/dev/null
		[ $? -eq 126 ] || fail "the one of 32 bits does not run"
	fi ;;
esac

if command -v musl-gcc >/dev/null; then
	musl-gcc -O1 -o "$work/other" "$work/waits.c" || fail "musl-gcc"
	"$work/other" &
	pid=$!
	while ! grep -q '/libc.so$\|ld-musl' /proc/$pid/maps; do :; done
	refused $pid 'the C library musl' --all
	runs_on musl
	end
	musl-gcc -O1 -static -o "$work/other-static" "$work/waits.c" || fail "musl-gcc -static"
	begin "$work/other-static" "$work/other-static" || fail "musl, static, does not run"
	refused $pid 'linked statically' --all
	runs_on "musl, static"
	end
fi

begin "$work/elsewhere" "$work/elsewhere" coroutine || fail "it does not run"
while ! grep -q '^State:.*S' /proc/$pid/status; do :; done
refused $pid 'stacks of the program.s own (coroutines), whose ends flick does not know'
runs_on "a coroutine"
end
begin "$work/elsewhere" "$work/elsewhere" || fail "it does not run"
while ! grep -q '^State:.*D' /proc/$pid/status; do :; done
parent=$pid
pid=$(child_of $parent)
refused $pid "has the memory of process $parent, which has started it (vfork)"
runs_on "a child of vfork()"
refused $parent 'waits for a child that it has started by vfork()'
kill -KILL $parent
end

mkdir "$work/root"
for file in $(ldd "$work/waits" | grep -o '/[^ ]*'); do
	cp --parents -L "$file" "$work/root"
done
cp "$work/waits" "$work/root"
begin "$work/root/waits" chroot "$work/root" /waits && {
	while ! grep -q '^State:.*S' /proc/$pid/status; do :; done
	refused $pid 'has another root directory (chroot): flick needs /.* and /proc there'
	runs_on chroot
	end
}

# Its command line is the program's.
begin "$work/waits" "$work/waits" || fail "it does not run"
"$FLICK" record -p $pid -a counts -P other -o "$work/other.data" >"$work/first" 2>&1 &
recorder=$!
until watch=$(pgrep -f "^$work/waits\$" | grep -vx $pid); do
	kill -0 $recorder || fail "no recording: $(cat "$work/first")"
	sleep 0.01
done
refused $watch 'is flick.s own, beside a program that it records'
kill -TERM $recorder
wait $recorder || fail "the recording has failed: $(cat "$work/first")"
runs_on "a recorded one"
end

# A filter is not asked what it lets through: a call that it ends a thread for ends the program.
begin "$work/waits" "$work/deny" perf "$work/waits" && {
	refused $pid 'under seccomp'
	runs_on seccomp
	end
}

begin "$work/waits" "$work/waits" || fail "it does not run"
strace -o "$work/trace" -p $pid 2>/dev/null &
tracer=$!
while [ "$(sed -n 's/^TracerPid:.//p' /proc/$pid/status)" -eq 0 ]; do
	kill -0 $tracer 2>/dev/null || break
done
if kill -0 $tracer 2>/dev/null; then
	refused $pid 'is traced by process'
	"$FLICK" record -p $pid -d 0.1 -a counts -P other -o "$data" >"$out" 2>"$err" &
	recorder=$!
	sleep 0.3
	kill $tracer
	wait $recorder || fail "who is traced for a moment: $(cat "$err")"
	rm -rf "$data"
	wait $tracer 2>/dev/null
	runs_on traced
fi
end

"$work/outlived" &
pid=$!
while [ "$(awk '{ print $3 }' /proc/$pid/stat)" != Z ]; do :; done
refused $pid 'its main thread has ended: the kernel shows nothing of such a one'
end

mkfifo "$work/from"
"$work/parent" >"$work/from" &
parent=$!
exec 8<"$work/from"
read -r child <&8
read -r thread <&8
while [ "$(awk '{ print $3 }' /proc/$child/stat)" != Z ]; do :; done
refused $child 'has ended; only its parent'
refused $thread "is a thread of process $parent; use -p $parent"
pid=$parent
runs_on thread
end
exec 8<&-
