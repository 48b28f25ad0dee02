#!/bin/sh
# What `flick ctl` speaks to stays where a recorder was killed. The next one removes it, if the
# program has gone, too, and nobody listens; what others have there it leaves.
. "$(dirname "$0")/lib"
need "$CC"
target recursion -O1 $sites
mkdir -m 700 "$work/run"
export XDG_RUNTIME_DIR="$work/run"
sockets=$work/run/flick

cat >"$work/wait.c" <<'END'
#include <unistd.h>
__attribute__((noinline)) static void once(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	once();
	while (argc > 1 && access(argv[1], F_OK))
		usleep(1000);
	return 0;
}
END
compile "$work/wait" "$work/wait.c" -O1 $sites
begin() {	# FILE that ends the program
	"$FLICK" record -o "$data.$1" -- "$work/wait" "$work/$1" >/dev/null 2>&1 &
	recorder=$!
	for i in $(seq 200); do
		[ "$(ls "$sockets" 2>/dev/null | wc -l)" -le "$2" ] || return 0
		sleep 0.05
	done
	fail "$1: nobody can ask it"
}

begin killed 0
left=$(ls "$sockets")
kill -KILL $recorder
wait $recorder 2>/dev/null
: >"$work/killed"
for i in $(seq 200); do
	kill -0 "$left" 2>/dev/null || break
	sleep 0.05
done
! kill -0 "$left" 2>/dev/null || skip "nobody reaps what has no parent"
: >"$sockets/123456789"
begin lives 2
lives=$(ls "$sockets" | grep -vx -e "$left" -e 123456789)
touch -d '1 hour ago' "$sockets"/*
run "$FLICK" record -o "$data" -- "$work/recursion"
succeeded
[ ! -e "$sockets/$left" ] || fail "that of the killed one is there"
[ -e "$sockets/$lives" ] || fail "that of one that lives is gone"
[ -e "$sockets/123456789" ] || fail "what is no socket is gone"
: >"$work/lives"
wait $recorder
