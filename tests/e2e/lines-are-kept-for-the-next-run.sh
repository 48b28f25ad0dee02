#!/bin/sh
# Where a large program's functions begin in its sources is kept, and its next run tells the
# same lines, of whatever it calls then; another build of it has its own. Where nothing can
# be kept they are told all the same.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"

# LINES: empty ones before each function, so lines differ by build. Of 1100 functions those
# that the argument says are called: all, or every second one.
make_program() {	# LINES FLAGS...
	awk -v lines="$1" 'BEGIN {
		for (i = 0; i < 1100; i++) {
			for (l = 0; l < lines; l++)
				print ""
			print "__attribute__((noinline)) int f" i "(int x) {\n	return x * " i ";\n}"
		}
		print "int main(int argc, char **argv)\n{\n	int sum = 0, all = argc > 1;"
		for (i = 0; i < 1100; i++)
			print (i % 2 ? "	if (all)\n	" : "") "	sum += f" i "(all);"
		print "	return sum == 1;\n}"
	}' >"$work/many.c"
	shift
	compile "$work/many" "$work/many.c" -O1 $sites "$@"
}

# Each called function, with what the compiler was told of it.
check() {	# LABEL FUNCTIONS ARGUMENTS...
	label=$1 n=$2
	shift 2
	record -a counts -- "$work/many" "$@"
	succeeded
	awk '/^__attribute__/ { split($3, name, "("); print name[1] " " FNR }' "$work/many.c" |
		sort >"$work/truth"
	sql "select name, line from functions where name glob 'f[0-9]*' and
		file = '$work/many.c'" | sort >"$work/told"
	[ "$(wc -l <"$work/told")" = "$n" ] || fail "$label: $(wc -l <"$work/told") lines"
	[ -z "$(comm -13 "$work/truth" "$work/told")" ] || fail "$label: $(comm -13 "$work/truth" "$work/told" | head -3)"
}

kept() {
	stat -c '%i %z' "$XDG_CACHE_HOME"/flick/lines.* 2>/dev/null
}

make_program 1 -Wl,--build-id
HOME=/proc/none XDG_CACHE_HOME=/proc/none check "no place to keep it" 1100 all
check "the first run" 550
first=$(kept)
[ "$first" ] || fail "nothing is kept"
[ "$(stat -c %a "$XDG_CACHE_HOME"/flick/lines.*)" = 600 ] || fail "others may read or write it"
check "the next one, which calls more" 1100 all
first=$(kept)
check "the third" 1100 all
[ "$(kept)" = "$first" ] || fail "what is kept was not believed, and made again"

make_program 2 -Wl,--build-id
check "another build" 1100 all
[ "$(kept)" != "$first" ] || fail "another build: the lines of the old one are kept"
check "another build, again" 1100 all

make_program 3 -Wl,--build-id
objcopy --only-keep-debug "$work/many" "$work/many.debug" 2>/dev/null || exit 0
strip -g "$work/many"
rm "$XDG_CACHE_HOME"/flick/lines.*
check "without lines" 0 all
[ ! "$(kept)" ] || fail "it is kept that there are none: they may come"
