#!/bin/sh
# What the scan of a large program has found is kept, and its next run has the same
# sites of the same functions; of a file that is damaged, somebody else's, or of another
# program, nothing is believed. Where it cannot be kept nothing is said, and nothing is
# left in another user's home.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" cmp

# TIMES: main calls each function so often; then it becomes its first argument.
# odd: functions of an odd number have inner() in them, the others outer(); even: the
# others inner(). Both files have the same calls at the same places.
make_program() {	# TIMES odd|even FLAGS...
	awk -v times="$1" -v odd="$([ "$2" = odd ] && echo 1 || echo 0)" 'BEGIN {
		print "#include <unistd.h>"
		print "#define BODY static inline __attribute__((always_inline))"
		print "BODY int inner(int x) { return x / 3 + 1; }"
		print "BODY int outer(int x) { return x / 3 + 2; }"
		for (i = 0; i < 1100; i++)
			print "__attribute__((noinline)) int f" i "(int x)" \
			      "{ return " (i % 2 == odd ? "inner" : "outer") "(x) * " i "; }"
		print "static int (*const all[])(int) = {"
		for (i = 0; i < 1100; i++)
			print "	f" i ","
		print "};\nint main(int argc, char **argv)\n{\n	int sum = 0;"
		print "	for (int i = 0; i < " times " * 1100; i++)"
		print "		sum += all[i % 1100](i);"
		print "	if (argc > 1)\n		execv(argv[1], argv + 1);"
		print "	return sum == 1;\n}"
	}' >"$work/many.c"
	shift 2
	compile "$work/many" "$work/many.c" -O0 $sites "$@"
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

# Which file it is: a number may be given again.
inode() {
	stat -c '%i %z' "$cache"/found.* 2>/dev/null
}

make_program 3 odd -Wl,--build-id -pie
XDG_CACHE_HOME=/proc/none HOME=/proc/none recorded "no place to keep it"
cp "$work/now" "$work/plain"
[ "$(grep -c "^f[0-9]* 3$" "$work/plain")" = 1100 ] || fail "not each called three times: $(tail -3 "$work/plain")"
[ "$(grep -c '|inner$' "$work/plain")" -ge 550 ] || fail "no inlined bodies"
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

make_program 4 odd -Wl,--build-id -pie
recorded "another build"
[ "$(grep -c '^f[0-9]* 4$' "$work/now")" = 1100 ] || fail "another build: calls"
cp "$work/now" "$work/plain"
same "another build, again"
label="-P f7:"
record -P f7 -- "$work/many"
succeeded
[ "$(sql "select group_concat(name || calls) from $(rows latency) where calls > 0")" = f74 ] ||
	fail "$label calls"

make_program 4 odd -Wl,--build-id -no-pie
recorded "at a fixed place"
cp "$work/now" "$work/plain"
same "at a fixed place, again"

# A build id, a size and a time that two files share.
id="-g0 -Wl,--build-id=0x0123456789abcdef"
make_program 4 even $id -pie
touch -d @1000000000 "$work/many"
cp -p "$work/many" "$work/even"
XDG_CACHE_HOME=/proc/none HOME=/proc/none recorded "even"
cp "$work/now" "$work/plain"
make_program 4 odd $id -pie
touch -d @1000000000 "$work/many"
cp -p "$work/many" "$work/odd"
[ "$(stat -c '%s %Y' "$work/odd")" = "$(stat -c '%s %Y' "$work/even")" ] || fail "of another size: $(stat -c '%s %Y' "$work/odd" "$work/even")"
recorded "the same build id"
cmp -s "$work/now" "$work/plain" && fail "the same build id: the two do not differ"
recorded "the same build id, kept"
cp -p "$work/even" "$work/many"
same "another file of the same build id"
cp -p "$work/odd" "$work/many"
recorded "the same build id, again"
if ! emulated exec; then
	label="a file that the program becomes:"
	record -a counts --wait -- "$work/many" "$work/even"
	succeeded
	sqlite3 "$data/results.db" "select kind, s.offset, provider, jump, f.name
		from sites s join functions f on f.id = s.function
		join modules m on m.id = s.module
		where m.path like '%/even' order by s.offset" >"$work/now"
	grep '|' "$work/plain" | cmp - "$work/now" || fail "$label other sites"
fi

# What the program's own code may have written.
rm -f "$cache"/found.*
libraries= target scribble -O1 $sites -fno-exceptions -std=gnu11 -I"$top/src" -I"$top/include"
label="told by the program:"
record -a counts -- "$work/scribble" found
succeeded
[ ! -e "$(echo "$cache"/found.*)" ] || fail "$label kept"

# ---- where it cannot be kept ----

rm -rf "$XDG_CACHE_HOME"
recorded "a full disk, before"
cp "$work/now" "$work/plain"
rm -rf "$XDG_CACHE_HOME"
mkdir "$XDG_CACHE_HOME"
if mount -t tmpfs -o size=16k,mode=700 flick-test "$XDG_CACHE_HOME" 2>/dev/null; then
	trap 'umount "$XDG_CACHE_HOME"; rm -rf "$work"' EXIT
	same "a full disk"
	[ ! -e "$(echo "$cache"/found.*)" ] || fail "a part is kept on a full disk"
	umount "$XDG_CACHE_HOME"
	trap 'rm -rf "$work"' EXIT
fi

# As under sudo: the home of another.
[ "$(id -u)" = 0 ] || exit 0
mkdir -p "$work/home/.cache"
chown -R 65534 "$work/home"
HOME=$work/home XDG_CACHE_HOME= same "another's home"
HOME=/proc/none XDG_CACHE_HOME=$work/home/kept same "another's XDG_CACHE_HOME"
rmdir "$work/home/.cache"
HOME=$work/home XDG_CACHE_HOME= same "another's empty home"
[ -z "$(find "$work/home" -mindepth 1)" ] || fail "another's home: $(find "$work/home")"
