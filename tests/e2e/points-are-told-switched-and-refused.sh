#!/bin/sh
# A point is a row of every report, named by how far it is in its function; records with time
# have one each; flick ctl switches it while the program runs, however long it was off; what
# can be none is refused with the reason, in a line, and `flick list` says the same.
# timeout: 120
. "$(dirname "$0")/lib"
. "$(dirname "$0")/steps-lib"
need sqlite3 objdump pgrep
[ "$(uname -m)" = x86_64 ] || skip "there are no points on this CPU"
target steps -O1
program=$work/steps

# The N-th instruction of a function, from 0; the last one without.
at() {
	objdump -d --no-show-raw-insn "$program" |
		awk -v f="<$1>:" -v n="${2:--1}" '$2 == f { in_it = 1; next } !NF { in_it = 0 }
			in_it && NF > 1 { a[k++] = $1 }
			END { print n < 0 ? a[k - 1] : a[n] }' | sed 's/://'
}
ret=$(at a) second=$(at a 1) data_at=$(nm "$program" | awk '$3 == "sum" { print $1 }')
start_of_a=$(at a 0)
inside=$(printf 'a+0x%x' $((0x$ret - 0x$start_of_a)))
middle=$(printf '%x' $((0x$second + 1)))
plt=$(objdump -d -j .plt --no-show-raw-insn "$program" | awk '/^ +[0-9a-f]+:/ { print $1; exit }')
plt=${plt%:}

is() {	# TABLE NAME N
	got=$(sql "select calls from $(rows "$1") where name = '$2'")
	[ "$got" = "$3" ] || fail "$label $2 was met $got times, not $3"
}

for how in "-a counts" "-a latency --all" ""; do
	label="$how:"
	case $how in
	*counts) table=counts ;;
	*) table=latency ;;
	esac
	start $how -P "steps!0x$ret" -P b
	step c 1000
	step loop			# from several threads
	ctl stage off "$inside"
	ctl commit
	step a 5000
	ctl stage on "$inside"
	ctl commit
	say quit >&8
	exec 8>&- 9<&-
	wait "$recorder" || fail "$label record: $(cat "$err")"
	got=$(sql "select calls from $(rows $table) where name = '$inside'")
	[ "${got:-0}" -ge 1000 ] || fail "$label $inside was met ${got:-0} times"
done

label="exactly:"
start -a counts -P "steps!0x$ret" -P c -P a
step c 10
ctl stage off "$inside"
ctl commit
step c 100
ctl stage on "$inside"
ctl commit
step c 1000
finish
is counts "$inside" 1010
is counts c 1110
is counts a 1110

# Each in the trace, with its time; none is a call.
start --all --trace -P "steps!0x$ret" -P a
step a 200
finish
"$FLICK" report "$data" >"$out" || fail "report"
grep -q " 200 .* $inside\$" "$out" || fail "$inside is not shown"
[ "$(sql "select calls, coalesce(total_ns, 0) from $(rows latency) where name = '$inside'")" = "200 0" ] ||
	fail "$inside has a time"
is latency a 200

label="by windows:"
start --rate=50% -P "steps!0x$ret" -P a
step a 3000
finish
is latency "$inside" 3000

# The start of a function names the function, as before.
start -a counts -P "steps!0x$start_of_a"
step a 70
finish
is counts a 70
[ "$(sql "select count(*) from sites where kind = 'point'")" = 0 ] || fail "an entry is a point"

is_none() {	# OFFSET REASON OPTIONS...
	offset=$1
	reason=$2
	shift 2
	printf 'quit\n' >"$work/quit"
	"$FLICK" record -o "$data" "$@" -P "${program##*/}!0x$offset" "$program" \
		<"$work/quit" >"$out" 2>"$err"
	grep -q "$reason" "$err" || fail "0x$offset is not refused"
	[ "$(grep -c '^flick:' "$err")" = 1 ] || fail "0x$offset: more than a line"
	"$FLICK" list "$@" "$program" "${program##*/}!0x$offset" >"$out" 2>/dev/null
	grep -q "no: .*$reason" "$out" || fail "list: 0x$offset is not refused"
}

# FLE_NOINSN, FLE_NOTEXT, FLE_START, FLE_SITES
is_none "$middle" "no instruction of a function begins here"
is_none "$plt" "no instruction of a function begins here"
is_none "$data_at" "does not lie in executable memory"
is_none "$(at _start 1)" "begins here: nobody has called it"
target steps -O1 $sites
is_none "$(at a 2)" "the compiler left sites in the module"
printf 'quit\n' | "$FLICK" record --provider=body -o "$data" -P "steps!0x$(at a 2)" "$program" \
	>"$out" 2>"$err" || fail "with a body there is none"
