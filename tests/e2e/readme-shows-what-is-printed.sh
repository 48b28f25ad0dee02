#!/bin/sh
# The screens in README.md, and its picture, are of the shape of what flick prints of the
# demo today; other columns, functions or sentences are seen.
# timeout: 120
. "$(dirname "$0")/lib"
cd "$top" || exit
build=${FLICK%/flick}
need "$CC"
mkdir "$work/build"
ln -s "$build/flick" "$work/build/flick"
compile "$work/build/demo" "$targets/demo.c" -O2 $sites -DPAGES=2000	# half of its work
screens="env BUILD=$work/build tools/readme-screens"
run $screens --make "$work/screens"
succeeded
grep -q 'Self%' "$work/screens/report" || skip "no samples of the program counter here"
run $screens --check "$work/screens"
succeeded

stale() {	# WHAT VARIABLE FILE COMMAND...: a copy of the file, changed, is said to be stale
	label="$1:" variable=$2 file=$3
	shift 3
	"$@" "$file" >"$work/copy"
	! cmp -s "$file" "$work/copy" || fail "$label nothing is changed"
	run env "$variable=$work/copy" $screens --check "$work/screens"
	[ "$status" -eq 1 ] || fail "$label not seen"
	grep -q 'run tools/readme-screens' "$err" || fail "$label it does not say what to do"
}
stale "a title" README README.md sed 's/  P99  /  P98  /'
stale "a function" README README.md sed 's/  hash_page$/  hash_pages/'
stale "a sentence" README README.md sed 's/self times are CPU time/self times are time/'
stale "the histogram" README README.md sed 's/nsecs     /usecs     /'
stale "a frame" PICTURE docs/flame.svg sed 's/<title>sort_page$/<title>sort_pages/'
stale "the page" PICTURE docs/flame.svg sed 's/search/find/'

# Chance is none: a sample that fell where no calls are counted.
sed 's/^.*  hash_page$/&\n         -  0.997 ms    0.04          -         -         -         -        -         -  demo!0x1020/' \
	README.md >"$work/copy"
! cmp -s README.md "$work/copy" || fail "a sample beside: nothing is changed"
run env README="$work/copy" $screens --check "$work/screens"
label="a sample beside:"
succeeded
sed 's/, without what the scheduler took, of the calls/, of the calls/' README.md >"$work/copy"
! cmp -s README.md "$work/copy" || fail "many switches: nothing is changed"
run env README="$work/copy" $screens --check "$work/screens"
label="many switches:"
succeeded
sed 's/^  ~ to count .*/&\n  ~~ an estimate that may be off by a quarter or more by chance (calls_error says by how much)/' \
	README.md >"$work/copy"
! cmp -s README.md "$work/copy" || fail "a rough estimate: nothing is changed"
run env README="$work/copy" $screens --check "$work/screens"
label="a rough estimate:"
succeeded
