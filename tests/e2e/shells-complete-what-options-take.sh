#!/bin/sh
# Completion in bash and zsh: commands, options, and the values of options, all of them as
# flick has them in its tables: behind a space, a `=`, a letter, a comma.
. "$(dirname "$0")/lib"
need bash zsh "$CC"
target recursion -O1 $sites
cd "$work" || exit 1
mkdir bin
ln -s "$FLICK" bin/flick
PATH=$work/bin:$PATH

in_bash() {	# WORD...: what the last one can become
	bash -c '. "$0/tools/completion/flick"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_flick
		printf "%s\n" "${COMPREPLY[@]}"' "$top" "$@"
}
# zsh completes in an editor; here its parts say what they were given.
in_zsh() {
	zsh -fc 'top=$1; shift
		words=("$@") CURRENT=$# PREFIX=${@[$#]}
		compset() { PREFIX=${PREFIX#${~2}}; }
		compadd() { while [[ $1 == -* ]]; do [[ $1 == -- ]] && { shift; break }; shift; done
			print -l -- ${(M)@:#$PREFIX*}; }
		_describe() { compadd -- ${${(P)4}%%:*}; }
		_files() { print "files$1"; }
		. $top/tools/completion/_flick' zsh "$top" "$@"
}
become() {	# WANTED WORD...
	want=$1
	shift
	for shell in bash zsh; do
		got=$(in_$shell "$@" 2>"$err" | sort | tr '\n' ' ')
		[ "$got" = "$want " ] || fail "$shell: $* becomes $got, not $want"
	done
}

become "record replay report" flick re
become "--target-cpu" flick record --tar
become "--demangle --depth" flick replay --de
become "alias" flick record --text a
become "glob regex" flick list ./recursion --match ""
become "latency" flick report -a la
become "membarrier" flick count --sync m
become "json text" flick selftest --format ""
become "full" flick dump --demangle f
become "wait" flick latency --sync w
become "lse" flick count --exclusive ls
become "avg" flick live --sort a
[ "$(in_bash flick report --format = c)" = csv ] || fail "bash: not behind ="
[ "$(in_zsh flick report --format=c)" = csv ] || fail "zsh: not behind ="
[ "$(in_bash flick record -a latency,tr)" = latency,tree ] || fail "bash: not behind a comma"
[ "$(in_zsh flick record -a latency,tr)" = tree ] || fail "zsh: not behind a comma"

# Formats are all that --help lists; columns are those of the recording.
for command in report dump; do
	"$FLICK" $command --help | sed -n '/^Formats:/,/^$/s/^  \([a-z]*\) .*/\1/p' >want
	"$FLICK" $command --values --format | diff want - || fail "$command: other formats"
done
"$FLICK" record --help | sed -n '/^Analyses/,/^$/s/^  \([a-z-]*\) .*/\1/p' >want
"$FLICK" record --values -a | diff want - || fail "record: other analyses"
run "$FLICK" record --all ./recursion
succeeded
become "p50 p90 p99" flick report -s p
[ "$(in_bash flick report -f total,s)" = "$(printf 'total,self\ntotal,sum')" ] ||
	fail "bash: not these columns: $(in_bash flick report -f total,s)"

# Else files; directories where one is wanted.
touch file1
mkdir dir1
[ "$(in_bash flick list fil)" = file1 ] || fail "bash: no file"
[ "$(in_zsh flick list fil)" = files ] || fail "zsh: no file"
[ "$(in_bash flick record -o di)" = dir1 ] || fail "bash: no directory"
[ "$(in_zsh flick record -o di)" = files-/ ] || fail "zsh: no directory"
[ "$(in_bash flick record -d fil)" = file1 ] || fail "bash: no file for what takes anything"

# Functions of the program on the line; where there is none, nothing.
functions() {	# WANTED WORD...: with the program behind what is completed
	want=$1
	shift
	got=$(bash -c '. "$0/tools/completion/flick"
		COMP_WORDS=("$@" ./recursion) COMP_CWORD=$(($# - 1))
		_flick
		printf "%s\n" "${COMPREPLY[@]}"' "$top" "$@" | sort | tr '\n' ' ')
	[ "$got" = "$want " ] || fail "bash: $* becomes $got, not $want"
}
functions fib flick record -P fi
functions fib flick count fi
functions fib flick count --sync membarrier fi
[ -z "$(in_bash flick record -P fil)$(in_bash flick count fil)" ] || fail "bash: files for functions"
[ "$(in_bash flick record ./recursion -P fi)" = fib ] || fail "bash: no function"
[ "$(in_zsh flick record ./recursion -P fi)" = fib ] || fail "zsh: no function"
[ "$(in_bash flick count fib -- fil)" = file1 ] || fail "bash: no file for a program"
