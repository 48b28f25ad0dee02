#!/bin/sh
# tests/run counts each test once, in every way a test can end.
. "$ROOT/tests/tools/tree.inc"
BUILD=$TMP/build
check="$ROOT/tests/run"
PATIENCE=1
export BUILD PATIENCE
unset TEST_LOGS TRIES

# A test NAME of one line of shell.
claim()
{
	printf '#!/bin/sh\n%s\n' "$2" | put "tests/$1.sh"
}

claim good 'echo fine'
claim skipped 'echo first; echo skip: no such machine; exit 77'
claim tap 'printf "1..3\nok 1 - a\nok 2 # SKIP b\nok 3 - c\n"'
claim bad 'echo the reason; exit 3'
claim broken 'printf "1..3\nok 1 - a\nnot ok 2 - b\n"; exit 1'
claim cut 'printf "1..3\nok 1 - a\n"'
claim lying 'printf "1..1\nok 1 - a\n"; exit 1'
claim slow '# timeout: 1
sleep 60'
claim own '[ -d "$TMP" ] && [ -n "$FLICK$ROOT$CC" ] && echo "$TMP" >"$BUILD/own"'
claim leaves 'sleep 4711 & echo $! >"$BUILD/left"'
claim single '# alone
test -z "$(ls "$BUILD/busy" 2>/dev/null)"'
claim busy 'mkdir "$BUILD/busy" && touch "$BUILD/busy/x" && sleep 1 && rm -r "$BUILD/busy"'

ends()
{
	grep -qxF "$1" said && return
	echo "no line '$1' in:"
	cat said
	exit 1
}

check="$ROOT/tests/run tests/good.sh tests/skipped.sh tests/tap.sh"
clean "nothing failed"
[ "$(tail -n 1 said)" = "3 passed, 0 failed, 2 skipped" ] || { cat said; exit 1; }
ends 'ok good'
ends 'ok tap'
ends 'skip skipped: no such machine'

check="$ROOT/tests/run tests/skipped.sh"
sees '0 passed, 0 failed, 1 skipped' "nothing passed"
check="$ROOT/tests/run"
sees '0 passed, 0 failed, 0 skipped' "no test at all"

check="$ROOT/tests/run tests/bad.sh tests/broken.sh tests/cut.sh tests/lying.sh
	tests/slow.sh tests/missing.sh tests/good.sh"
sees '4 passed, 8 failed, 0 skipped' "each way to fail"
ends 'FAIL bad: exit status 3'
ends '    | the reason'
ends 'FAIL broken: exit status 1'
ends 'FAIL slow: killed, its limit is 1 s'
ends '    | there is no test tests/missing.sh'
[ "$(cat build/test-logs/bad.log)" = "the reason" ] || exit 1

# Once more, alone, is told: what passes then, what fails again, and not what is broken as a
# whole.
claim first 'test -e "$BUILD/again" && exit; touch "$BUILD/again"; echo too soon; exit 1'
check="$ROOT/tests/run tests/first.sh tests/good.sh"
rm -f build/again
sees '1 passed, 1 failed, 0 skipped' "one try is all, if no more are asked for"
rm -f build/again
export TRIES=2
clean "the second try passes"
ends 'FAIL first: exit status 1'
ends '    | too soon'
ends 'ok first'
ends 'passed only when it was tried again, alone: first'
[ "$(tail -n 1 said)" = "2 passed, 0 failed, 0 skipped" ] || { cat said; exit 1; }
check="$ROOT/tests/run tests/bad.sh tests/good.sh"
sees '1 passed, 1 failed, 0 skipped' "who fails twice has failed"
for i in 1 2 3 4 5 6 7 8 9 10; do
	claim bad$i "exit 1"
done
rm -f build/again
check="$ROOT/tests/run tests/first.sh tests/bad1.sh tests/bad2.sh tests/bad3.sh tests/bad4.sh
	tests/bad5.sh tests/bad6.sh tests/bad7.sh tests/bad8.sh tests/bad9.sh tests/bad10.sh"
sees '0 passed, 11 failed, 0 skipped' "many failures are no chance"
unset TRIES

PATIENCE=2
check="$ROOT/tests/run tests/slow.sh"
sees '0 passed, 1 failed, 0 skipped' "a limit is longer where that is said"
ends 'FAIL slow: killed, its limit is 2 s'

check="$ROOT/tests/run tests/single.sh tests/own.sh tests/leaves.sh tests/busy.sh"
clean "a directory of its own, nothing left behind, alone"
[ -e "$(cat build/own)" ] && { echo "own directory is still there"; exit 1; }
# Killed means dead or waiting for somebody to reap it.
left=/proc/$(cat build/left)/status
if [ -e "$left" ] && ! grep -q '^State:.Z' "$left"; then
	echo "what a test left running still runs"
	exit 1
fi
