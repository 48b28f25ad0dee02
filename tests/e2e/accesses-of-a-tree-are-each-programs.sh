#!/bin/sh
# record --follow -a cache: of a process tree each program's functions have the accesses of all
# its processes, wherever these have it mapped: at addresses of their own, or all at one.
. "$(dirname "$0")/lib"
need "$CC"
[ "$(uname -m)" = x86_64 ] || skip "accesses are told on x86-64"

program() {	# NAME STORES PADDING
	cat >"$work/$1.c" <<END_OF_C
volatile long to[64];
$3
__attribute__((noipa)) void $1(void)
{
	for (int i = 0; i < $2; i++)
		to[i & 63] = i;
}
int main(void)
{
	$1();
	return 0;
}
END_OF_C
	"$CC" -O1 -o "$work/$1" "$work/$1.c" || fail "$1 cannot be compiled"
}
program alpha 1000 ''
program beta 3000 '__attribute__((noipa, used)) static void pad(void) { to[0]++; to[1]++; to[2]++; }'

each_has_its_own() {	# LABEL OPTION RUN...
	label=$1 option=$2
	shift 2
	"$@" "$FLICK" record --follow -a cache $option -P 'alpha!*' -P 'beta!*' -o "$data" \
		sh -c "'$work/alpha'; '$work/beta'; '$work/alpha'; '$work/beta'; :" \
		>"$out" 2>"$err" || fail "$label $option: record"
	"$FLICK" report -a cache --format=csv -f function,stores "$data" >"$work/csv" 2>"$err" ||
		fail "$label $option: report"
	tr -d '"\r' <"$work/csv" | awk -F, 'NR > 1 { n[$1 == "" ? "-" : $1] += $2 }
		END { print n["alpha"] + 0, n["beta"] + 0, n["-"] + 0, n["pad"] + 0 }' >"$work/got"
	[ "$(cat "$work/got")" = "2000 6000 0 0" ] ||
		fail "$label $option: alpha, beta, nobody, pad: $(cat "$work/got")"
}
for option in '' --lines; do
	each_has_its_own "addresses of their own:" "$option" env
	! setarch -R true 2>/dev/null || each_has_its_own "all at one:" "$option" setarch -R
done
exit 0
