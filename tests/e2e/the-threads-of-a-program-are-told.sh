#!/bin/sh
# `flick report -a by_thread` says which thread had the time, by its name, as it was when the
# thread had ended, too, however short it was; it comes to all self times. `--thread` shows the
# functions of one, or of all that a glob names: of those of one name each function is one row.
# A recording of one thread has no such result, and the report says so.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 gcc

# Each thread spins for as many milliseconds as it is told, of its own time.
cat >"$work/threads.c" <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int turns;

static long own_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#define SPIN(name)						\
	__attribute__((noinline)) void name(long ms)		\
	{							\
		long begin = own_ms();				\
								\
		while (own_ms() - begin < ms)			\
			for (int i = 0; i < 100000; i++)	\
				turns++;			\
	}
SPIN(of_pool)
SPIN(of_timer)
SPIN(of_main)

static void *pool(void *ms)
{
	pthread_setname_np(pthread_self(), "pool/thread");
	of_pool((long)ms);
	return NULL;
}

/* It has ended before anybody looks. */
static void *brief(void *named)
{
	if (named)
		pthread_setname_np(pthread_self(), "brief");
	of_pool(1);
	return NULL;
}

static void create_brief(void)
{
	pthread_t t;

	for (long i = 0; i < 300; i++) {
		pthread_create(&t, NULL, brief, (void *)(i % 3));
		pthread_join(t, NULL);
	}
	for (int i = 0; i < 50; i++) {
		if (!fork()) {
			of_main(2);
			_exit(0);
		}
		wait(NULL);
	}
}

static void *timer(void *ms)
{
	of_timer(10);
	pthread_setname_np(pthread_self(), "a\ntimer");
	of_timer((long)ms - 10);
	printf("%d\n", gettid());
	return NULL;
}

/* No argument: one thread. One: several, for so many times as long if it is a number. Two: brief
 * ones. */
int main(int argc, char **argv)
{
	long times = argc > 1 && atoi(argv[1]) ? atoi(argv[1]) : 1;
	pthread_t t[3];

	if (argc > 2) {
		create_brief();
		return 0;
	}
	if (argc > 1) {
		pthread_create(&t[0], NULL, pool, (void *)(100 * times));
		pthread_create(&t[1], NULL, pool, (void *)(200 * times));
		pthread_create(&t[2], NULL, timer, (void *)(400 * times));
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
	}
	of_main(200);
	return 0;
}
C
gcc -O1 -g -pthread -o "$work/threads" "$work/threads.c" || fail "it does not compile"

near() {	# WHAT NUMBER LEAST MOST
	[ "${2:-0}" -ge "$3" ] && [ "${2:-0}" -le "$4" ] || fail "$label $1: $2, not $3 to $4"
}

label="-a by_thread:"
record -- "$work/threads" all
succeeded
tid=$(cat "$out")
near "threads" "$(sql 'select count(*) from by_thread')" 4 4
near "ms of the timer" "$(sql "select self_ns / 1000000 from by_thread where tid = $tid")" 320 440
near "ms of the pool" "$(sql "select sum(self_ns) / 1000000 from by_thread
	where thread = 'pool/thread'")" 230 340
near "threads of the pool that had half as much, or more" "$(sql "select count(*) from by_thread
	where thread = 'pool/thread' and self_ns > 60e6")" 2 2
near "ms of main" "$(sql "select self_ns / 1000000 from by_thread where thread = 'threads'")" 150 230
all=$(sql 'select sum(self_ns) from by_thread')
near "self times of functions" "$(sql 'select sum(self_ns) from latency')" "$all" "$all"
wrong=$(sql "select count(*) from by_thread t where self_ns <> (select sum(self_ns)
	from thread_functions f where f.tid = t.tid)")
near "threads whose functions have another time" "$wrong" 0 0
run "$FLICK" report -a by_thread "$data"
succeeded
grep -Eq '^ +Self +Self% +Samples +Tid +Thread$' "$out" || fail "$label titles: $(cat "$out")"
grep -q 'CPU time of threads, from [0-9]* samples of the program counter' "$out" ||
	fail "$label nothing says what it rests on"
awk '/^ +==/ { getline; print }' "$out" | grep -q " $tid  a.*timer$" ||
	fail "$label it is not the timer that has most: $(cat "$out")"

label=--thread:
run "$FLICK" report --thread "$tid" "$data"
succeeded
awk '/^ +==/ { getline; print $NF }' "$out" | grep -qx of_timer || fail "$label by tid: $(cat "$out")"
grep -Eq '^ +Self +Self% +Samples +Function$' "$out" || fail "$label titles: $(cat "$out")"
grep -q 'of_main\|of_pool' "$out" && fail "$label others' functions: $(cat "$out")"
for glob in pool/thread 'pool*'; do
	run "$FLICK" report --thread "$glob" "$data"
	succeeded
	[ "$(grep -c ' of_pool$' "$out")" = 1 ] || fail "$label of two threads: $(cat "$out")"
	grep -qF "CPU time of $glob, from" "$out" || fail "$label whose time it is: $(cat "$out")"
done
near "ms of both" "$("$FLICK" report --thread 'pool*' --format=csv -f self "$data" |
	awk -F, '{ n += $1 } END { printf "%d", n / 1e6 }')" 230 340
joined=$("$FLICK" report --thread 'pool*' --format=csv -f samples,tid,function "$data" |
	tr -d '\r' | grep ',of_pool')
[ "${joined#*,}" = ",of_pool,$work/threads" ] || [ "${joined#*,}" = ,of_pool ] ||
	fail "$label two threads have one number: $joined"
near "samples of both" "${joined%%,*}" $(sql "select sum(samples), sum(samples)
	from thread_functions t join functions f on f.id = t.function
	where thread = 'pool/thread' and f.name = 'of_pool'" | tr '|' ' ')
run "$FLICK" report --thread '*' "$data"
succeeded
grep -Eq '^ +Self +Self% +Samples +Thread +Function$' "$out" || fail "$label of all: $(cat "$out")"
run "$FLICK" report --thread pool/thred "$data"
one_line_error 1 'no thread of this recording matches .pool/thred.; did you mean .pool/thread.?'
run "$FLICK" report --thread "$tid" -a latency "$data"
one_line_error 2 '--thread shows what samples tell: it cannot be used with --analysis'
run "$FLICK" report --thread "$tid" --diff "$data" "$data"
one_line_error 2 '--thread cannot be used with --diff'
run "$FLICK" report --thread "$tid" -r 0~1ms "$data"
one_line_error 2 '--thread shows what samples tell: it cannot be used with --time-range'
run "$FLICK" report --program threads --thread "$tid" "$data"
one_line_error 2 '--program shows what samples tell: it cannot be used with --thread'
run "$FLICK" report -a by_thread --diff "$data" "$data"
succeeded
grep -Eq ' pool/thread$' "$out" || fail "$label compared: $(cat "$out")"

label="damaged:"
sqlite3 "$data/results.db" "update thread_functions set thread = NULL where tid = $tid;
	update columns set type = 'text' where result = 'thread_functions' and name = 'samples'" ||
	fail "$label it cannot be"
for of in "$tid" '*'; do
	run "$FLICK" report --thread "$of" "$data"
	[ $status -le 2 ] || fail "$label status $status"
done

label="one thread:"
record -- "$work/threads"
succeeded
run "$FLICK" report -a by_thread "$data"
one_line_error 1 'has no result .by_thread.: recordings of several threads have it'
run "$FLICK" report --thread threads "$data"
one_line_error 1 'has no result .thread_functions.: recordings of several threads have it'
run "$FLICK" record -a by_thread -o "$data" -- "$work/threads"
one_line_error 2 'needs no -a: recordings without one have it'

# What flick has beside a program comes of it, and its time is none of the program's.
label=--follow:
record --follow -- sh -c "$work/threads; $work/threads"
succeeded
near "samples of flick's own" "$(sql "select count(*) from by_thread where thread like 'flick%'")" 0 0
near "processes" "$(sql "select count(*) from by_thread where thread = 'threads'")" 2 2

# The kernel tells the names of threads that have ended before they are looked at; others have
# that of who created them, which may never have run long enough for a sample.
label="brief ones:"
record --follow -- "$work/threads" brief ones
succeeded
near "ms of those with a name" "$(sql "select sum(self_ns) / 1000000 from by_thread
	where thread = 'brief'")" 60 400
near "ms of those without" "$(sql "select sum(self_ns) / 1000000 from by_thread
	where thread = 'threads'")" 60 400
near "threads without a name" "$(sql "select count(*) from by_thread
	where thread not in ('brief', 'threads')")" 0 0

# Threads that were there before have their names, too.
label=-p:
"$work/threads" 8 >"$work/tid" &
pid=$!
run "$FLICK" record -p $pid -o "$data"
succeeded
wait $pid
near "threads of the pool" "$(sql "select count(*) from by_thread
	where thread = 'pool/thread'")" 2 2
near "ms of the timer" "$(sql "select self_ns / 1000000 from by_thread
	where tid = $(cat "$work/tid")")" 1000 3500
