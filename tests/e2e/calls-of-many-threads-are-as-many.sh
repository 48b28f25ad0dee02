#!/bin/sh
# Threads that outnumber the CPUs, by default: what they counted before their function was
# counted in windows alone stands for itself, however late the reader, who has no CPU to
# himself either, comes to know of them. It was two to nine times as many calls as there were.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/threads.c" <<'END'
#include <pthread.h>
enum { THREADS = 30, CALLS = 60000000 };
static __thread volatile long sink;
__attribute__((noipa)) static void tiny(void) { sink++; }
static void *run(void *unused)
{
	for (int i = 0; i < CALLS; i++)
		tiny();
	return unused;
}
int main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
libraries=-pthread compile "$work/threads" "$work/threads.c" -O2
far=
for i in 1 2 3; do			# one may be: by when the reader has a CPU
	record -- "$work/threads"
	succeeded
	calls=$(sql "select calls / 1000000 from latency l join functions f on f.id = l.function
		where f.name = 'tiny'")
	[ "${calls:-0}" -ge 1000 ] && [ "$calls" -le 3000 ] ||
		far="$far ${calls:-no}"
done
case $far in " "*" "*) fail "of 1800 million calls it says$far" ;; esac
exit 0
