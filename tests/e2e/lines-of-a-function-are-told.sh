#!/bin/sh
# `flick report --annotate FUNCTION` says which source lines had the time, of samples that stood
# in the function and in its second body alike, also where debug information has no table of the
# addresses of its units, as clang's and rustc's. Without debug information, and where the file
# was changed since, or an older one was put in its place, addresses are shown; each lies in its
# function; a file that only its rights or links have changed of is the one it was. Beside a line stands its text, as the source has it now; beside an address the
# instruction, as objdump has it.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 gcc nm objcopy objdump script

cat >"$work/lines.c" <<'C'
volatile long sink;
__attribute__((noinline)) long work(long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s += i * i;
	for (long i = 1; i < n; i++)
		s += n / i;			/* dear */
	return s;
}
__attribute__((noinline)) long other(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;			/* in memory */
	return n;
}
int main(void)
{
	for (int i = 0; i < 600; i++)
		sink += work(100000 + i) + other(10000 + i);
	return 0;
}
C
cp "$work/lines.c" "$work/l.c"
build() {	# FLAGS...
	gcc -O1 "$@" -o "$work/lines" "$work/l.c" || fail "it does not compile"
}
line_of() {	# TEXT
	grep -n "$1" "$work/l.c" | cut -d: -f1
}
share_of() {	# LINE: percent of work's time that its loop's last two lines have, of csv
	"$FLICK" report --annotate work --format=csv -f self,samples,line "$data" | tr -d "\r" |
		awk -F, -v at="$work/l.c:$1" 'NR > 1 { all += $1; if ($3 == at) n += $1 }
			END { printf "%d", all ? 100 * n / all : 0 }'
}

build -g
dear=$(line_of dear)
for how in "" "-U work" "-a latency,counts"; do
	label="default $how:"
	# shellcheck disable=SC2086
	record $how -- "$work/lines"
	succeeded
	run "$FLICK" report --annotate work "$data"
	succeeded
	grep -Eq '^ +Self +Self% +Samples +Source +Code$' "$out" ||
		fail "$label titles: $(cat "$out")"
	grep -q 'CPU time of lines of work, from [0-9]* samples' "$out" ||
		fail "$label nothing says what it rests on"
	awk '/^ +==/ { getline; print }' "$out" |
		grep -Eq "/l.c:$dear +s \+= n / i; +/\* dear \*/\$" ||
		fail "$label it is not the division that has most: $(cat "$out")"
	! grep -q 'is newer than' "$out" || fail "$label the source is as old: $(cat "$out")"
	! grep -q 'not known\|no line' "$out" || fail "$label lines are missing: $(cat "$out")"
	share=$(share_of "$dear")
	[ "$share" -ge 40 ] || fail "$label the division has $share percent"
	[ -z "$how" ] && in_bodies=$share
	[ "$how" != "-U work" ] || in_itself=$share
done
[ $((in_bodies - in_itself)) -lt 15 ] && [ $((in_itself - in_bodies)) -lt 15 ] ||
	fail "the division has $in_bodies percent in bodies, $in_itself without one"

label="shares:"
all=$("$FLICK" report --annotate work -f self%,line "$data" | sed '1,/^ *==/d' |
	awk '{ n += $1 } END { printf "%.0f", n }')
[ "$all" = 100 ] || fail "$label they come to $all percent"

# A path that has no room is cut in front: what is left has the line's number.
label="on a terminal:"
env -u COLUMNS TERM=xterm NO_COLOR=1 script -qec \
	"stty cols 60; '$FLICK' report --annotate work --no-pager '$data'" /dev/null \
	</dev/null >"$work/screen"
grep -q "^ .*  \.\.\..*l\.c:$dear  *s += n / i;" "$work/screen" ||
	fail "$label $(cat "$work/screen")"

label="a newer source:"
touch -d '+1 hour' "$work/l.c"
run "$FLICK" report --annotate work "$data"
succeeded
grep -q '/l\.c is newer than the program: lines may have moved in it' "$out" &&
	grep -q "/l.c:$dear  *s += n / i;" "$out" || fail "$label $(cat "$out")"
label="a shorter source:"
sed 3q "$work/lines.c" >"$work/l.c"
run "$FLICK" report --annotate work "$data"
succeeded
grep -q "/l.c:$dear *\$" "$out" || fail "$label $(cat "$out")"
# Compilers take a NUL for a blank, and so does the table: what is behind it is there.
label="a source with other bytes:"
sed 's|[/][*] dear [*]/|/*@dear */|' "$work/lines.c" | tr @ '\000' | sed 's/$/\r/' >"$work/l.c"
run "$FLICK" report --annotate work "$data"
succeeded
grep -q "/l.c:$dear  *s += n / i; /[*] dear [*]/\$" "$out" || fail "$label $(cat "$out")"
label="no source:"
mv "$work/l.c" "$work/elsewhere"
run "$FLICK" report --annotate work "$data"
succeeded
grep -Eq '^ +Self +Self% +Samples +Source$' "$out" && grep -q "/l.c:$dear\$" "$out" &&
	! grep -q 'is newer' "$out" || fail "$label $(cat "$out")"
mkfifo "$work/l.c"
run "$FLICK" report --annotate work "$data"
succeeded
rm "$work/l.c"
cp "$work/lines.c" "$work/l.c"

label="several:"
run "$FLICK" report --annotate '*o*r*' "$data"
succeeded
grep -Eq '^ +Self +Self% +Samples +Source +Function +Code$' "$out" || fail "$label titles: $(cat "$out")"
grep -q "/l.c:$(line_of 'in memory') .*other  *sink += i; /[*] in memory" "$out" ||
	fail "$label no other: $(cat "$out")"
"$FLICK" report --annotate '[wo]*' -s line -f line --format=csv "$data" | tr -d '\r' |
	sed '1d; s/,.*//' >"$work/sorted"
grep -q ':[0-9]$' "$work/sorted" && grep -q ':[0-9][0-9]$' "$work/sorted" &&
	sort -C -t: -k1,1 -k2,2n "$work/sorted" || fail "$label in order: $(cat "$work/sorted")"
[ -z "$(uniq -d "$work/sorted")" ] || fail "$label a line twice: $(cat "$work/sorted")"
all=$(sql 'select sum(self_ns) from places')
[ "$all" = "$(sql 'select sum(self_ns) from latency')" ] || fail "$label other self times"

label="each place:"
record -- "$work/lines"
for f in work other; do
	set -- $(nm -S "$work/lines" | awk -v f=$f '$4 == f { print $1, $2 }')
	outside=$(sql "select count(*) from places p join functions f on f.id = p.function
		where f.name = '$f' and (address < $((0x$1)) or address >= $((0x$1 + 0x$2)))")
	[ "$outside" = 0 ] || fail "$label $outside addresses of $f are not in it"
done

run "$FLICK" report -a places -P other "$data"
succeeded
grep -Eq '^ +Self +Self% +Samples +Address$' "$out" && grep -Eq ' 0x[0-9a-f]+$' "$out" ||
	fail "$label no addresses: $(cat "$out")"

# A process that ends at once is told by the bodies of another.
label="of two processes:"
record --follow -- sh -c "$work/lines; $work/lines"
all=$(sql 'select sum(samples) from places')
unknown=$(sql 'select total(samples) from places where address = 0')
[ "${unknown%.*}" -lt $((all / 20)) ] ||
	fail "$label of $unknown samples of $all no place is known"
share=$(share_of "$dear")
[ "$share" -ge 40 ] || fail "$label the division has $share percent"

label="of the same build:"			# as perf links what it has recorded
cp -p "$work/lines" "$work/same"
sleep 1.1			# when the recording ended is told in seconds
ln "$work/lines" "$work/link"
chmod g-x "$work/lines"
run "$FLICK" report --annotate work "$data"
succeeded
! grep -q "has changed" "$out" && grep -q "/l.c:$dear " "$out" || fail "$label $(cat "$out")"
label="changed since:"
build -g -O2
run "$FLICK" report --annotate work "$data"
succeeded
grep -q "/lines has changed since" "$out" && grep -Eq ' 0x[0-9a-f]+$' "$out" ||
	fail "$label $(cat "$out")"
label="the same again:"
mv "$work/same" "$work/lines"
run "$FLICK" report --annotate work "$data"
! grep -q "has changed" "$out" && grep -q "/l.c:$dear " "$out" || fail "$label $(cat "$out")"
label="an older recording:"			# knew no build ids
sqlite3 "$data/results.db" 'alter table modules drop column build_id'
run "$FLICK" report --annotate work "$data"
succeeded
grep -q "/lines has changed since" "$out" || fail "$label $(cat "$out")"

label="changed since, without a build id:"
build -g -Wl,--build-id=none
record -- "$work/lines"
run "$FLICK" report --annotate work "$data"
! grep -q "has changed" "$out" && grep -q "/l.c:$dear " "$out" || fail "$label $(cat "$out")"
touch -d '+1 hour' "$work/lines"
run "$FLICK" report --annotate work "$data"
succeeded
grep -q "/lines has changed since" "$out" && grep -Eq ' 0x[0-9a-f]+$' "$out" ||
	fail "$label $(cat "$out")"

label="no table of units:"
build -g -Wl,--build-id=none
objcopy --remove-section=.debug_aranges "$work/lines" || fail "$label it cannot be removed"
record -- "$work/lines"
share=$(share_of "$dear")
[ "$share" -ge 40 ] || fail "$label the division has $share percent"

label="an older one is put there:"
touch -d '-1 hour' "$work/lines"
sleep 1.1			# when the recording ended is told in seconds
cp -p "$work/lines" "$work/older" && mv "$work/older" "$work/lines"
run "$FLICK" report --annotate work "$data"
succeeded
grep -q "/lines has changed since" "$out" || fail "$label $(cat "$out")"

label="without -g:"
build -g0
record -- "$work/lines"
run "$FLICK" report --annotate work "$data"
succeeded
! grep -q 'l\.c:' "$out" || fail "$label it has lines: $(cat "$out")"
grep -q 'of [1-9][0-9]* the file tells no line, but an address (compile with -g)' "$out" ||
	fail "$label nothing says why: $(cat "$out")"
# Of the same instruction the two disassemblers may differ in a suffix.
objdump -d --no-show-raw-insn "$work/lines" | sed -n 's/^ *\([0-9a-f]*\):\t\([a-z0-9]*\).*/0x\1 \2/p' \
	>"$work/objdump"
"$FLICK" report --annotate work -f line,code --format=csv "$data" |
	sed -n 's/^\(0x[0-9a-f]*\),"*\([a-z0-9]*\).*/\1 \2/p' >"$work/insns"
[ -s "$work/insns" ] || fail "$label no instruction: $(cat "$out")"
other=$(awk 'NR == FNR { is[$1] = $2; next } !($1 in is) || index($2, is[$1]) != 1' \
	"$work/objdump" "$work/insns")
[ -z "$other" ] || fail "$label other instructions than objdump's: $other"

label="it is gone:"
mv "$work/lines" "$work/elsewhere"
run "$FLICK" report --annotate work "$data"
succeeded
grep -q "/lines has changed since, or is gone: " "$out" && grep -Eq ' 0x[0-9a-f]+$' "$out" ||
	fail "$label $(cat "$out")"
mv "$work/elsewhere" "$work/lines"

# The build is told that ran, not the one that was put in its place meanwhile.
label="built anew while it runs:"
sed 's/^int main(void)$/int rename(const char *, const char *);\nint main(int argc, char **argv)/
	/int main/,$ s/^{$/{\n	if (argc > 1)\n		rename(argv[1], argv[0]);/' \
	"$work/lines.c" >"$work/l.c"
build -g -falign-functions=64
mv "$work/lines" "$work/next"
build -g
record -- "$work/lines" "$work/next"
succeeded
run "$FLICK" report --annotate work "$data"
succeeded
[ ! -e "$work/next" ] || fail "$label it was not"
grep -q "/lines has changed since" "$out" || fail "$label $(cat "$out")"

run "$FLICK" report --annotate wrk "$data"
one_line_error 1 'no function of places matches .wrk.; did you mean .work.?'
run "$FLICK" report --annotate work -P work "$data"
one_line_error 2 '--annotate shows what samples tell: it cannot be used with --only .-P.: name'
# Lines of functions would stand in a second column of the same name.
run "$FLICK" report --annotate work --lines "$data"
one_line_error 2 '--annotate shows what samples tell: it cannot be used with --lines'
run "$FLICK" report --annotate work --diff "$data" "$data"
one_line_error 2 '--annotate cannot be used with --diff'

label="damaged:"
sqlite3 "$data/results.db" "update places set address = -1;
	update columns set type = 'text' where result = 'places' and name = 'samples'" ||
	fail "$label it cannot be"
run "$FLICK" report --annotate work "$data"
[ $status -le 2 ] || fail "$label status $status"

label="every call:"
record --all -a counts -- "$work/lines"
run "$FLICK" report --annotate work "$data"
one_line_error 1 'has no result .places.: '
