#!/bin/sh
# Where each call is recorded glue puts the record itself, behind a fence where that is asked
# for; elsewhere none does. Who attaches and wants the fence gets glue that has one, though
# that of an earlier recording has none.
. "$(dirname "$0")/lib"
x86_target recording-glue
target recording-glue -O1 -D_GNU_SOURCE

# What the program has found: at least so many, and of these so many with a fence.
found() {		# WHAT LEAST FENCED
	awk -v least="$2" -v fenced="$3" '{ n[$1] = $2 }
		END { exit !(n["itself"] >= least && n["fenced"] == (fenced == "all" ? n["itself"] : 0) &&
			     (least || !n["itself"])) }' "$out" ||
		fail "$1: $(tr '\n' ' ' <"$out")"
}

record -a latency --all -P work -- "$work/recording-glue"
succeeded && found "--all" 2 none
record -a latency --all --precise -P work -- "$work/recording-glue"
succeeded && found "--precise" 2 all
record -a counts --all -P work -- "$work/recording-glue"
succeeded && found "counts" 0 none
record -P work -- "$work/recording-glue"
succeeded && found "by default" 0 none

mkfifo "$work/in"
"$work/recording-glue" wait <"$work/in" >"$work/found" &
pid=$!
exec 3>"$work/in"
for fence in "" --precise; do
	rm -rf "$data"
	run "$FLICK" record -p $pid -d 0.2 -o "$data" -a latency --all $fence -P work
	[ $status -eq 0 ] || fail "record -p $fence: status $status"
done
exec 3>&-
wait $pid || fail "the program ended with $?"
awk '{ n[$1] = $2 } END { exit !(n["fenced"] >= 2) }' "$work/found" ||
	fail "attached: $(tr '\n' ' ' <"$work/found")"
