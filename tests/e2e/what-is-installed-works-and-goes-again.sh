#!/bin/sh
# what-is-installed-works-and-goes-again.sh - make install, and make uninstall.
. "$(dirname "$0")/lib"
need make

to=$work/root
put() {
	make -s -C "$top" "$1" BUILD="${BUILD#"$top/"}" DESTDIR="$to" >"$out" 2>&1 ||
		fail "make $1: $(cat "$out")"
}

"$CC" -w -O1 $sites "$targets/recursion.c" -o "$work/app" || fail "no program"
put install
prefix=$(dirname "$(dirname "$(find "$to" -name flick -path '*/bin/*')")")
(cd "$work" && FLICK_LIB= "$prefix/bin/flick" record -o data ./app) >"$out" 2>&1 ||
	fail "what is installed does not record: $(cat "$out")"
for file in include/flick.h include/flick/patch.h share/man/man1/flick-record.1 \
	share/doc/flick/LICENSE share/doc/flick/examples/self.c \
	share/bash-completion/completions/flick; do
	[ -s "$prefix/$file" ] || fail "$file is not installed"
done
PATH=$prefix/bin:$PATH bash -c '
	. "$1/share/bash-completion/completions/flick"
	COMP_WORDS=(flick rec) COMP_CWORD=1; _flick; echo "${COMPREPLY[@]}"
	COMP_WORDS=(flick record --tar) COMP_CWORD=2; _flick; echo "${COMPREPLY[@]}"
	COMP_WORDS=(flick record --text a) COMP_CWORD=3; _flick; echo "${COMPREPLY[@]}"
	' bash "$prefix" >"$out"
printf 'record\n--target-cpu\nalias\n' | diff - "$out" || fail "wrong completions"

put uninstall
left=$(find "$to" ! -type d)
[ -z "$left" ] || fail "uninstall leaves $left"
