#!/bin/sh
# tests/mutants/run and tools/check-mutants see a fault that no test sees, one
# whose place is gone, and an entry that is none.
. "$ROOT/tests/tools/tree.inc"
unset BUILD TEST_LOGS MUTANTS

mkdir -p tests/mutants
cp "$ROOT/tests/mutants/run" "$ROOT/tests/mutants/list.awk" tests/mutants
cp "$ROOT/tests/run" tests
put src/sum.c <<'END'
int more(int a);

int sum(int a, int b)
{
	return a + b;
}

int more(int a)
{
	return sum(a, 1);
}
END
put tests/unit/sum.c <<'END'
int sum(int, int);
int main(void) { return sum(2, 2) != 4; }
END
put Makefile <<'END'
build/tests/unit/sum: src/sum.c tests/unit/sum.c
	mkdir -p build/tests/unit && $(CC) -w -o $@ $^
END
echo 'grep -q "sum(a, 1)" "$ROOT/src/sum.c"' | put tests/e2e/text.sh

# The list, without the entry of the line given.
list()
{
	cat >tests/mutants/some.list <<'END'
# Two that are seen.
fault	sum of three
file	src/sum.c
in	sum
-	return a + b;
+	b++;
+	return a + b;
tests	unit/sum

fault	more by two
file	src/sum.c
-sum(a, 1)
+sum(a, 2)
tests	unit/sum e2e/text

fault	the order of a sum
file	src/sum.c
-return a + b
+return b + a
same	It is the same in either order.
END
	cat >>tests/mutants/some.list
}

ends()
{
	grep -qxF "$1" said && return
	echo "no line '$1' in:"
	cat said
	exit 1
}

list </dev/null
check="$ROOT/tools/check-mutants ."
clean "each place is there"
check=tests/mutants/run
clean "each fault is seen"
ends 'src/sum.c: sum of three: killed by unit/sum'
ends 'src/sum.c: more by two: killed by e2e/text'
ends '2 planted, 2 killed, 0 survived, 0 stale: 100.0 % killed; 1 said to change nothing; 0 minutes'
MUTANTS_FOR=0 sees '; 2 left: run it again' "none were begun"
clean "the rest is tried"
ends 'src/sum.c: sum of three: killed by unit/sum'
grep -q 'return a + b' src/sum.c || { echo "the tree itself was changed"; exit 1; }

list <<'END'

fault	more by three
file	src/sum.c
in	more
-1)
+3)
tests	unit/sum
END
sees 'src/sum.c: more by three: SURVIVED' "a fault that no test sees"
ends '3 planted, 2 killed, 1 survived, 0 stale: 66.7 % killed; 1 said to change nothing; 0 minutes'
MUTANTS='sum of three' clean "the others are not asked for"
ends '1 planted, 1 killed, 0 survived, 0 stale: 100.0 % killed; 0 said to change nothing; 0 minutes'

list <<'END'

fault	this is no C
file	src/sum.c
-return a + b
+return a +
tests	unit/sum
END
MUTANTS='no C' sees 'src/sum.c: this is no C: STALE: does not build' "a fault that does not build"

# entry TEXT WHY: an entry (of stdin) that both see.
entry()
{
	list
	check="$ROOT/tools/check-mutants ."
	sees "$1" "$2"
	check=tests/mutants/run
	sees "$1" "$2"
}
echo '# Nothing.' >tests/mutants/that.list
entry 'some.list:22: the old text stands 0 times in src/sum.c' stale <<'END'

fault	gone
file	src/sum.c
-return a - b
+return a
tests	unit/sum
END
entry 'no empty line before' "two entries in one" <<'END'

fault	one
file	src/sum.c
-sum(a, 1)
+sum(a, 3)
tests	unit/sum
fault	and another
file	src/sum.c
tests	unit/sum
END
entry 'stands 0 times in sum of src/sum.c' stale <<'END'

fault	elsewhere
file	src/sum.c
in	sum
-sum(a, 1)
+sum(a, 2)
tests	unit/sum
END
entry 'stands 2 times in src/sum.c' stale <<'END'

fault	twice
file	src/sum.c
-return
+return 0 *
tests	unit/sum
END
entry 'some.list:22: there is no test unit/difference' 'a test that is not there' <<'END'

fault	untested
file	src/sum.c
in	sum
-return
+return 0 *
tests	unit/difference
END
entry 'either `tests` or `same`' 'neither test nor sentence' <<'END'

fault	mute
file	src/sum.c
in	sum
-return
+return 0 *
END

cp src/sum.c whole.c
echo 'int sum(' >>src/sum.c
list </dev/null
sees 'the tree does not build' "a tree that is broken without a fault"
cp whole.c src/sum.c
sed -i 's/4/5/' tests/unit/sum.c
sees 'without a fault: unit/sum fails' "a test that fails without a fault"
