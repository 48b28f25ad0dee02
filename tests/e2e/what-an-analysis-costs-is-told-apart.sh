#!/bin/sh
# timeout: 300
# flick doctor --cost: every part is there, and the sums are those of the model.
# Which part is how large is a machine's own affair, and not asked here.
. "$(dirname "$0")/lib"
need "$CC" sqlite3 python3

# A sixteenth of the demo, and a program of many ways to end.
sed 's/PAGES 4000/PAGES 250/' "$targets/demo.c" >"$work/demo.c"
compile "$work/demo" "$work/demo.c" -O2 $sites
cat >"$work/ways.c" <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls `work` for each byte of its input and 300,000 times at least. */
__attribute__((noinline)) static void work(volatile int *x)
{
	for (int i = 0; i < 600; i++)
		++*x;
}

void idle(void)
{
}

__attribute__((no_instrument_function)) static off_t grown(const char *path)
{
	int fd = open(path, O_CREAT | O_APPEND | O_WRONLY, 0600);

	return write(fd, "x", 1) == 1 ? lseek(fd, 0, SEEK_END) : 0;
}

__attribute__((no_instrument_function)) int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	volatile int x = 0;
	char byte;

	if (!strcmp(way, "nap"))	/* 30 ms and 60 ms in turn */
		return usleep(grown(argv[2]) % 2 ? 30000 : 60000) || (work(&x), 0);
	for (int i = 0; i < (strcmp(way, "short") ? 300000 : 10); i++)
		work(&x);
	if (fcntl(0, F_GETFD) < 0)	/* it has no input */
		return 7;
	while (read(0, &byte, 1) == 1)
		work(&x);
	if (write(1, "out\n", 4) != 4 || write(2, "err\n", 4) != 4)
		return 1;
	if (!strcmp(way, "grow"))	/* a run more, 100,000 calls more */
		for (off_t n = grown(argv[2]) * 100000; n; n--)
			work(&x);
	if (!strcmp(way, "status"))	/* 0 the first time, then 1 */
		return open(argv[2], O_CREAT | O_EXCL, 0600) < 0;
	if (!strcmp(way, "crash"))
		abort();
	if (!strcmp(way, "fail"))
		return 5;
	return 0;
}
END
compile "$work/ways" "$work/ways.c" -O2 $sites
compile "$work/pads" "$work/ways.c" -O2 -fpatchable-function-entry=5
compile "$work/plain" "$work/ways.c" -O2

cost() {
	run "$FLICK" doctor --cost "$@"
}

# ---- for eyes ---------------------------------------------------------------

label=demo:
cost -v --runs 2 -a graph,tree -- "$work/demo"
succeeded
ends_well
grep -q '^demo: [0-9]* pages' "$out" "$err" && fail "$label its output is not /dev/null"
cp "$out" "$work/demo.out"
for line in '/demo: graph,tree; 2 runs of each kind, [1-9][0-9]* events' \
	'input is /dev/null' '^A  ' '^A+A_i  ' '^A+A_i+A_q  ' '+ read, not' '^E_c  ' \
	'^P+P_c  ' '^P  ' '^A_i  ' '^A_q  ' '^P_c  ' '^(1) ' '^(4) ' '^(5) ' \
	'^(\(7\|10\))' '^(8) ' 'ticks' '\.\.' 'I_ap' \
	'^\(concurrent\|inline\|neither\) is cheaper here: .* x .* x '; do
	grep -q "$line" "$out" || fail "$label no line $line"
done

# ---- for programs -----------------------------------------------------------

cat >"$work/check.py" <<'END'
import json, sys
with open(sys.argv[1]) as f:
    r = json.load(f)
m, p, e = r["measured"], r["parts"], r["model"]
def near(a, b): return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1e-3)
rows = ["alone", "word", "enqueue", "read", "concurrent", "cpu_read",
        "cpu_concurrent", "analysis"]
counts = r["analyses"] == ["counts"]
assert list(m) == rows + ["counted"] * counts, "rows"
for name, row in m.items():
    assert 0 <= row["min"] <= row["median"] <= row["max"], name
    assert near(row["ns_per_event"] * r["events"] / 1e9, row["median"]), name
    assert near(row["ticks_per_event"] * r["ns_per_tick"], row["ns_per_event"]), name
assert near(p["A"], m["alone"]["median"]), "A"
assert near(p["A"] + p["A_i"], m["word"]["median"]), "A_i"
assert near(p["A"] + p["A_i"] + p["A_q"], m["enqueue"]["median"]), "A_q"
assert p["P"] > 0 and p["P_c"] >= 0, "P, P_c"
assert near(p["P"], m["analysis"]["median"]), "P"
assert near(p["P"] + p["P_c"], max(p["P"], m["cpu_concurrent"]["median"])), "P_c"
assert r["threads"] >= 1
assert near(e["E_s"], p["A"] + p["A_i"] + p["P"] / r["threads"]), "(1)"
assert near(e["E_c_application"], p["A"] + p["A_i"] + p["A_q"]), "(2)"
assert near(e["E_c_analysis"], p["P"] + p["P_c"]), "(3)"
assert near(e["E_c"], max(e["E_c_application"], e["E_c_analysis"], e["E_c_cpus"])), "(4)"
assert near(e["gain"], e["E_s"] - e["E_c"]), "(6), (9)"
assert e["gain"] <= e["gain_at_most"] + 1e-6, "(8)"
assert r["condition_holds"] == (e["gain"] >= 0), "(7), (10)"
assert r["dominates"] in ("application", "analysis", "cpus")
if r["dominates"] != "cpus":
    app = e["E_c_application"] >= e["E_c_analysis"]
    assert r["dominates"] == ("application" if app else "analysis"), "(5)"
    assert r["condition"] == ("7" if app else "10"), "(5)"
gain = (m["counted"]["median"] if counts else e["E_s"]) - m["concurrent"]["median"]
cheaper = ("inline" if r["cpus"] == 1 or gain < -r["noise"] else
           "concurrent" if gain > r["noise"] else "neither")
assert r["cheaper"] == cheaper, "verdict"
for word in sys.argv[2:]:
    key, value = word.split("=", 1)
    assert str(r[key]) == value, word + ", not " + str(r[key])
END

consistent() {	# KEY=VALUE...
	python3 "$work/check.py" "$out" "$@" >"$work/why" 2>&1 ||
		fail "$label $(tail -n 1 "$work/why")"
}

label='demo --json:'
cost --json --runs 3 "$work/demo"
succeeded
consistent runs=3 status=0 stdin=null analyses="['latency']"

# What is wrong with a sum is seen.
sed 's/"A_q": /"A_q": 1/' "$out" >"$work/planted"
python3 "$work/check.py" "$work/planted" 2>/dev/null && fail "a planted A_q is not seen"

label='counts:'
cost --runs 2 -a counts -- "$work/demo"
succeeded
grep -q '^E_s  .*inline' "$out" || fail "$label E_s is not measured"
grep -q 'at least' "$out" && fail "$label E_s is measured and no bound"
label='counts --json:'
cost --json --runs 1 -a counts -- "$work/demo"
succeeded
cp "$out" "$work/json"
record -a counts -- "$work/demo"
sql "select sum(calls) from counts" >"$work/calls"
cp "$work/json" "$out"
consistent events="$(cat "$work/calls")"

label='-P:'
cost --json --runs 1 -P work "$work/ways"
succeeded
consistent events=600000

# ---- input --------------------------------------------------------------------

label='a file as input:'
head -c 1000 /dev/zero >"$work/bytes"
timeout 60 "$FLICK" doctor --cost --json --runs 2 "$work/ways" <"$work/bytes" >"$out" 2>"$err"
status=$?
succeeded
consistent events=602000 stdin=file
label='a pipe as input:'
head -c 1000 /dev/zero |
	timeout 60 "$FLICK" doctor --cost --json --runs 2 "$work/ways" >"$out" 2>"$err"
status=$?
succeeded
consistent events=600000 stdin=null
label='no input at all:'
timeout 60 "$FLICK" doctor --cost --json --runs 1 "$work/ways" <&- >"$out" 2>"$err"
status=$?
succeeded
consistent events=600000 stdin=null status=0

# ---- other programs -------------------------------------------------------------

label='status 5 each time:'
cost --json --runs 1 "$work/ways" fail
succeeded
consistent status=5
label='one CPU:'
if taskset -c 0 true 2>/dev/null; then
	run taskset -c 0 "$FLICK" doctor --cost --runs 1 "$work/ways"
	succeeded
	grep -q '^inline is cheaper here: .*one CPU concurrency cannot pay' "$out" ||
		fail "$label the verdict is another"
fi
label='one CPU by --cpu and --target-cpu:'
cpu=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
cost --json --runs 1 --cpu "$cpu" --target-cpu "$cpu" "$work/ways"
succeeded
consistent cpus=1 cheaper=inline
label='pads alone:'
cost --json --runs 1 -a counts "$work/pads"
succeeded
consistent events=300001 "analyses=['counts']"

# Every register under the routines that write to one word, and their long ways.
sed 's/ROUNDS 400/ROUNDS 400000/' "$targets/redzone.c" >"$work/redzone.c"
for flags in "$sites" "-fpatchable-function-entry=5 -DBARE"; do
	label="redzone $flags:"
	compile "$work/redzone" "$work/redzone.c" -O2 $flags -I"$targets"
	cost --json --runs 1 -a counts "$work/redzone"
	succeeded
	consistent status=0
done

label='runs that are not alike:'
cost --runs 2 "$work/ways" grow "$work/grown"
succeeded
! grep -q '^model\|^([0-9]*) ' "$out" || fail "$label a model nobody asked for"
grep -q 'not alike: they made from [0-9]* to [0-9]* events' "$out" || fail "$label not told"
grep -q 'not alike' "$work/demo.out" && fail "$label the demo's are"

# Each kind of run takes 30 ms once and 60 ms once: no difference means anything.
label='all is noise:'
cost --verbose --runs 2 "$work/ways" nap "$work/naps"
succeeded
for line in '^A_i .* within noise$' '^A_q .* within noise$' '^(7) .* is within noise$' \
	'^neither is cheaper here: .* are the same within noise$'; do
	grep -q "$line" "$out" || fail "$label no line $line"
done

# ---- mistakes ---------------------------------------------------------------------

wrong() {	# STATUS PATTERN ARGS...
	expected=$1 pattern=$2
	shift 2
	label="flick doctor $*:"
	run "$FLICK" doctor "$@"
	one_line_error "$expected" "$pattern"
	[ ! -s "$out" ] || fail "$label it prints something"
}

wrong 2 'no program given; usage' --cost
wrong 2 'no program given; usage' --cost -a graph --
wrong 2 '--runs is used with --cost only' --runs 3
wrong 2 '--json is used with --cost only' --json "$work/ways"
wrong 2 'from 1 to' --cost --runs 0 "$work/ways"
wrong 2 'from 1 to' --cost --runs 101 "$work/ways"
wrong 2 'no analysis `nonsense`; there are' --cost -a nonsense "$work/ways"
wrong 2 'did you mean --cost' --cots "$work/ways"
wrong 1 'no such program' --cost "$work/none"
wrong 1 'no probe sites; compile it' --cost "$work/plain"
wrong 1 'did you mean `work`' --cost -P wrok "$work/ways"
wrong 1 'calls cannot be timed; use -a counts' --cost "$work/pads"
wrong 1 'no function is left to record after `-U idle`' --cost -U work -U idle "$work/ways"
wrong 1 'reached no probe' --cost -P idle "$work/ways"
# A busy machine may keep a short program from its CPU for long; not ten times.
for i in 1 2 3 4 5 6 7 8 9 10; do
	run "$FLICK" doctor --cost "$work/ways" short
	[ $status -eq 0 ] || break
done
label='too short:'
one_line_error 1 'too short to measure'
wrong 1 'status 0 in one run and with 1 in another' --cost "$work/ways" status "$work/mark"
wrong 1 'ended by signal 6' --cost "$work/ways" crash

label='--json to a full disk:'
"$FLICK" doctor --cost --json --runs 1 "$work/ways" >/dev/full 2>"$err"
status=$?
: >"$out"
one_line_error 1 'cannot write the output: No space'
label='--json to nobody:'
{ "$FLICK" doctor --cost --json --runs 1 "$work/ways" 2>"$err"; say $? >"$work/status"; } | :
read -r status <"$work/status"
one_line_error 1 'cannot write the output: Broken pipe'
