#!/bin/sh
# What the scan of a large program has found is kept, and its next run has the same
# sites of the same functions; of a file that is damaged, somebody else's, or of another
# build, nothing is believed. Where it cannot be kept nothing is said.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" cmp

make_program() {	# TIMES: main calls each function so often
	awk -v times="$1" 'BEGIN {
		print "static inline __attribute__((always_inline)) int inner(int x) { return x / 3 + 1; }"
		for (i = 0; i < 1100; i++)
			print "__attribute__((noinline)) int f" i "(int x)" \
			      "{ return inner(x) * " i "; }"
		print "int main(void)\n{\n	int sum = 0;"
		print "	for (int i = 0; i < " times "; i++) {"
		for (i = 0; i < 1100; i++)
			print "		sum += f" i "(i);"
		print "	}\n	return sum == 1;\n}"
	}' >"$work/many.c"
	compile "$work/many" "$work/many.c" -O2 $sites -Wl,--build-id "$2"
}

cache=$XDG_CACHE_HOME/flick

# Sites and calls as they are without anything kept, into $work/plain.
results() {	# FILE
	sqlite3 "$data/results.db" "select kind, s.offset, provider, jump, f.name
		from sites s join functions f on f.id = s.function order by s.offset" >"$1"
	sql "select name, calls from $(rows counts) order by name" >>"$1"
}

recorded() {	# LABEL [OPTION...]
	label=$1
	shift
	record -a counts "$@" -- "$work/many"
	succeeded
	[ ! -s "$out" ] || fail "$label: the program printed"
	grep -qv '^cost:\|^events:' "$err" && fail "$label: $(cat "$err")"
	results "$work/now"
}

same() {	# LABEL
	recorded "$1"
	cmp "$work/plain" "$work/now" || fail "$1: other sites or calls"
}

inode() {
	ls -i "$cache"/found.* 2>/dev/null | sed 's/^ *\([0-9]*\) .*/\1/'
}

make_program 3 -pie
XDG_CACHE_HOME=/proc/none HOME=/proc/none recorded "no place to keep it"
cp "$work/now" "$work/plain"
[ "$(grep -c "^f[0-9]* 3$" "$work/plain")" = 1100 ] || fail "not each called three times: $(tail -3 "$work/plain")"
[ "$(grep -c '|inner$' "$work/plain")" -ge 1100 ] || fail "no inlined bodies"
[ ! -e "$cache" ] || fail "it was kept all the same"

same "the first run"
first=$(inode)
[ "$first" ] || fail "nothing was kept"
[ "$(stat -c %a "$cache"/found.*)" = 600 ] || fail "others may read or write it"
same "the second"
[ "$(inode)" = "$first" ] || fail "what is kept was not believed, and made again"

replaced() {	# LABEL; $cache/found.* has just been changed
	changed=$(inode)
	same "$1"
	now=$(inode)
	[ "$now" ] && [ "$now" != "$changed" ] || fail "$1: believed"
	same "after: $1"
	[ "$(inode)" = "$now" ] || fail "after: $1: not kept"
}

file=$(echo "$cache"/found.*)
chmod g+w "$file"
replaced "others may write it"
truncate -s -8 "$file"
replaced "cut short"
printf '\001' | dd of="$file" bs=1 seek=10004 conv=notrunc 2>/dev/null
replaced "a byte is another"
: >"$file"
replaced "empty"
mv "$file" "$work/moved"
ln -s "$work/moved" "$file"
replaced "a link"
rm "$file"
mkfifo -m 600 "$file"
replaced "a pipe"

make_program 4 -pie
recorded "another build"
[ "$(grep -c '^f[0-9]* 4$' "$work/now")" = 1100 ] || fail "another build: calls"
cp "$work/now" "$work/plain"
same "another build, again"

make_program 4 -no-pie
recorded "at a fixed place"
cp "$work/now" "$work/plain"
same "at a fixed place, again"
label="-P f7:"
record -P f7 -- "$work/many"
succeeded
[ "$(sql "select group_concat(name || calls) from $(rows latency) where calls > 0")" = f74 ] ||
	fail "$label calls"
