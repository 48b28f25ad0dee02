#!/bin/sh
# tools/setup installs what is missing, and where it may not, names it.
. "$ROOT/tests/tools/tree.inc"
setup=$ROOT/tools/setup
check="$setup demo"
wanted=$("$setup" demo --list)

# A command NAME in front of the real one: one line of shell.
fake()
{
	printf '#!/bin/sh\n%s\n' "$2" | put "bin/$1"
	chmod +x "bin/$1"
}
PATH=$TMP/bin:$PATH
export TMP

# Installed is what stands in the file `have`.
fake dpkg-query 'while read -r p; do echo "$p installed"; done <"$TMP/have"'
fake apt-get 'echo "$*" >>"$TMP/called"; case $* in *install*) exit 1 ;; esac'
fake id 'echo 0'

echo "$wanted" | tr ' ' '\n' >have
clean "nothing is missing"
[ -s said ] && { echo "must say nothing"; cat said; exit 1; }
[ -e called ] && { echo "must not call apt-get"; exit 1; }

grep -v libdw-dev have >less && mv less have
sees 'needed packages: libdw-dev' "apt-get fails"
[ "$(grep -c install called)" = 2 ] || { cat called; exit 1; }

rm called
fake apt-get 'echo "$*" >>"$TMP/called"'
clean "apt-get works"
grep -q 'install .*libdw-dev$' called || { cat called; exit 1; }
grep -q update called && { echo "must not fetch the lists"; exit 1; }

rm called
fake id 'echo 1000'
fake sudo 'exit 1'
sees 'sudo does not let us install; needed packages: libdw-dev' "no rights"
[ -e called ] && { echo "must not call apt-get"; exit 1; }

fake sudo '[ "$1" = -n ] && exit; shift 2; exec "$@"'
clean "sudo works"
grep -q 'install .*libdw-dev$' called || { cat called; exit 1; }

"$setup" nothing 2>/dev/null && { echo "an unknown word must fail"; exit 1; }
exit 0
