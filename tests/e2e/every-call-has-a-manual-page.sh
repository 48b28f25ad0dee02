#!/bin/sh
# Each function that a header declares is in the NAME section of one page of
# man/, and a page of its own name leads there. Each error that a header or a
# page names is a line of errors.def. The pages are well-formed.
. "$(dirname "$0")/lib"
: "${BUILD:=$top/build}"
need gcc nm mandoc groff

# What inline functions are made of; programs do not call these.
inside="flick_channel_enter flick_channel_publish
	flick_cursor_turn flick_cursor_follow flick_in_order"

# What the headers below $1 declare: prototypes and inline functions.
declared() {
	for h in "$1"/*.h "$1"/flick/*.h; do
		"$CC" -E -P -I"$1" "$h" || fail "$h"
	done | tr '\n' ' ' | awk '
	{
		for (i = 1; i <= length($0); i++) {
			c = substr($0, i, 1)
			if (c == "{")
				depth++
			else if (c == "}" && --depth == 0)
				c = ";"
			if (depth == 0)
				printf "%s", c == ";" ? "\n" : c
		}
	}' | grep -v '^ *typedef' |
		sed -n 's/^[^(]*\(flick_[a-z0-9_]*\) *(.*/\1/p' | sort -u
}

# The names of page $1, but for those of commands.
names_of() {
	sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \(flick_[a-z0-9_]*\).*/\1/p' "$1"
}

check_names() {	# MAN INCLUDE: complaints, one a line
	declared "$2" >"$work/all"
	printf '%s\n' $inside | sort | comm -23 "$work/all" - >"$work/declared"
	for page in "$1"/flick_*.3; do
		names_of "$page"
	done | sort >"$work/named"
	uniq -d "$work/named" | sed 's/$/: in the NAME of two pages/'
	sort -u "$work/named" | comm -23 "$work/declared" - |
		sed 's/$/: in no NAME section/'
	sort -u "$work/named" | comm -13 "$work/declared" - |
		sed 's/$/: documented, and not declared/'
	while read -r name; do
		[ -s "$1/$name.3" ] || { say "$name: no page"; continue; }
		page=$(sed -n '1s|^\.so man3/||p' "$1/$name.3")
		page=$1/${page:-$name.3}
		[ -s "$page" ] && names_of "$page" | grep -qx "$name" ||
			say "$name.3: leads to no page about it"
	done <"$work/declared"
}

check_errors() {	# MAN INCLUDE
	sed -n 's/^FLICK_ERR(\([A-Z0-9]*\),.*/FLICK_E_\1/p' "$2/flick/errors.def" |
		sort -u >"$work/errors"
	say FLICK_E_NONE | sort -u -o "$work/errors" "$work/errors" -
	grep -oh 'FLICK_E_[A-Z0-9]*' "$1"/*.[1-8] "$2"/*.h "$2"/flick/*.h |
		grep -vx FLICK_E_ | sort -u | comm -13 "$work/errors" - |
		sed 's/$/: no such error/'
}

check_form() {	# MAN
	for page in "$1"/flick_*.3; do
		grep -q '^\.so ' "$page" && continue
		mandoc -T lint -W warning "$page"
		groff -ww -mandoc -Tutf8 "$page" 2>&1 >"$work/formatted"
	done
}

check() {
	check_names "$1" "$2"
	check_errors "$1" "$2"
	check_form "$1"
}

check "$top/man" "$top/include" >"$out" 2>&1
[ ! -s "$out" ] || fail "manual pages"
[ "$(wc -l <"$work/declared")" -ge 30 ] || fail "few functions found in the headers"
# Who attaches looks these up from outside (agent/attach.c).
printf 'flick_attach\nflick_attached\nflick_nobody\nflick_recorders\nflick_region\nflick_speaks\n' |
	sort -u - "$work/all" -o "$work/all"
nm -D --defined-only "$BUILD/libflick.so" | awk '$3 ~ /^flick_/ { sub(/@.*/, "", $3); print $3 }' |
	sort -u | comm -23 - "$work/all" >"$out"
[ ! -s "$out" ] || fail "exported, and not declared"

# Planted: each complaint is made where it should be.
planted() {	# CHECK COMPLAINT FILE SED-SCRIPT
	rm -rf "$work/man" "$work/include"
	cp -rL "$top/man" "$top/include" "$work"	# links, in another CPU's build
	sed -i "$4" "$work/$3"
	"check_$1" "$work/man" "$work/include" >"$out" 2>&1
	grep -q "$2" "$out" || fail "planted, and not seen: $2"
}
planted names 'flick_patch_why: in no NAME' man/flick_patch.3 '/^\.Nm flick_patch_why/d'
planted names 'flick_nothing: documented' man/flick_patch.3 's/^\.Nm flick_patch_why/.Nm flick_nothing/'
planted names 'flick_call_on.3: leads to no' man/flick_call_on.3 's/patch/open/'
planted names 'flick_call_on: no page' man/flick_call_on.3 d
planted names 'flick_more: in no NAME' include/flick/patch.h 's/^int flick_patch(/int flick_more(void);&/'
planted errors 'FLICK_E_INSNN: no such' man/flick_patch.3 's/FLICK_E_INSN/&N/'
planted errors 'FLICK_E_BUZY: no such' include/flick/patch.h 's/FLICK_E_BUSY/FLICK_E_BUZY/'
planted form flick_patch.3: man/flick_patch.3 's/^\.Ss Tactics/.Sss Tactics/'
