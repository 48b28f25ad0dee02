#!/bin/sh
# Routines in assembly move the stack pointer, and say so to unwinders, each by hand. Here both
# are walked side by side: at each instruction the table's frame is where pushes and pops have
# put it, also where a branch leads. Planted: tables in which each frame is eight bytes off.
set -u
lib=$BUILD/libflick.so

# Rows as `ADDRESS END FRAME`, ascending; of one address the last one holds.
rows()
{
	readelf -wF "$lib" 2>/dev/null | awk '
		/ CIE / { getline; getline; first = $2; next }
		/ FDE / {
			sub(/.*pc=/, "")
			split($0, pc, "[.][.]")
			print pc[1], pc[2], first
		}
		/^[0-9a-f]+ [a-z]/ { print $1, pc[2], $2 }' | LC_ALL=C sort -s -k 1,1
}

walk()			# the names of functions are in $TMP/names
{
	objdump -d --no-show-raw-insn "$lib" | awk -v names="$TMP/names" '
	function number(hex, n, i) {
		sub(/^0x/, "", hex)
		for (i = 1; i <= length(hex); i++)
			n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
		return n
	}
	# The row of the address, found from the last one that was asked for.
	function frame(at, i) {
		i = at >= rows_at[last] ? last : 1
		while (i < n_rows && rows_at[i + 1] <= at)
			i++
		last = i
		return at >= rows_at[i] && at < ends[i] ? rows[i] : ""
	}
	function is_at(told) {
		if (told == "")
			return 1			# C code, or none
		if (told ~ /^rbp/)
			return bp != "" && told == "rbp+" bp
		return sp == "" || told == "rsp+" sp
	}
	function blame(what) {
		print name ": " $0 ": " what " " told ", the stack is at rsp+" sp " rbp+" bp
		bad++
	}
	function begin_from(told) {
		sp = told ~ /^rsp/ ? substr(told, 5) + 0 : ""
		bp = told ~ /^rbp/ ? substr(told, 5) + 0 : ""
		is_known = 1
	}
	FILENAME == names { wanted["<" $1 ">:"] = 1; next }
	FILENAME != "-" {
		rows_at[++n_rows] = number($1)
		ends[n_rows] = number($2)
		rows[n_rows] = $3
		next
	}
	/^[0-9a-f]+ </ { on = $2 in wanted; name = $2; is_known = 0; next }
	!on || !/^ *[0-9a-f]+:/ { next }
	{
		at = $1
		sub(/:$/, "", at)
		told = frame(number(at))
		op = $2
		operands = $3
		n++
	}
	told == "" { next }			# filled up behind the end
	!is_known { begin_from(told) }
	!is_at(told) { blame("the table says") ; begin_from(told) }
	op ~ /^push/ && sp != "" { sp += 8 }
	op ~ /^pop/ && sp != "" { sp -= 8 }
	op == "pop" && operands == "%rbp" { bp = "" }
	(op == "sub" || op == "add") && operands ~ /,%rsp$/ && sp != "" {
		by = number(substr(operands, 2, index(operands, ",") - 2))
		sp += op == "sub" ? by : -by
	}
	op == "lea" && operands ~ /\(%rsp\),%rsp$/ && sp != "" {
		sp -= number(substr(operands, 1, index(operands, "(") - 1))
	}
	op == "and" && operands ~ /,%rsp$/ { sp = "" }
	op == "mov" && operands == "%rsp,%rbp" { bp = sp }
	op == "mov" && operands == "%rbp,%rsp" { sp = bp }
	op ~ /^ret/ && sp != 8 { blame("it returns, and") }
	op ~ /^j/ && operands ~ /^[0-9a-f]+$/ {
		told = frame(number(operands))
		if (!is_at(told))
			blame("it leads to where the table says")
	}
	op ~ /^(ret|jmp|ud)/ { is_known = 0 }
	END { print n + 0 " instructions, " bad + 0 " wrong" }
	' "$TMP/names" "$1" -
}

for o in "$BUILD"/guest/arch/x86_64/tramp.o "$BUILD"/guest/probe/routines.o; do
	nm --defined-only "$o" | awk '$2 ~ /[Tt]/ { print $3 }'
done >"$TMP/names"
rows >"$TMP/rows"
walk "$TMP/rows" >"$TMP/walked"
tail -n 20 "$TMP/walked"
grep -qE '^[0-9]{4,} instructions, 0 wrong$' "$TMP/walked" || exit 1
sed 's/ rsp+16$/ rsp+24/' "$TMP/rows" >"$TMP/planted"
walk "$TMP/planted" | tail -n 1 | grep -qE ' [0-9]{2,} wrong$' ||
	{ echo "rows that are wrong are not seen"; exit 1; }
