#!/bin/sh
# build.sh bzip2|bzip2-noinline|pbzip2|perl: a real program with sites.
#
# Prints the path of the built program, made under build/real on first use.
# Exit 77 and a reason when its source or compiler is missing.
set -eu

what=$1
here=$(cd "$(dirname "$0")" && pwd)
real=${FLICK_REAL:-$(cd "$here/../.." && pwd)/build/real}
sites=-finstrument-functions

need() {
	command -v "$1" >/dev/null || { echo "skip: no $1" >&2; exit 77; }
}

# The library's files and the program's; main last.
bzip2_files="blocksort huffman crctable randtable compress decompress bzlib"

build_bzip2() {	# FLAGS...
	src=$(sh "$here/source.sh" bzip2)
	need gcc
	for f in $bzip2_files bzip2; do
		gcc -O2 -g -D_FILE_OFFSET_BITS=64 "$@" \
			-c "$src/$f.c" -o "$dir/$f.o"
	done
	(cd "$dir" && gcc -o bzip2 ./*.o)
}

# pbzip2 with bzip2's library inside, both instrumented.
build_pbzip2() {
	bz=$(sh "$here/source.sh" bzip2)
	src=$(sh "$here/source.sh" pbzip2)
	need g++
	for f in $bzip2_files; do
		gcc -O2 -g $sites -c "$bz/$f.c" -o "$dir/$f.o"
	done
	g++ -O2 -g -std=gnu++11 $sites -D_FILE_OFFSET_BITS=64 \
		-DUSE_STACKSIZE_CUSTOMIZATION -I"$bz" -pthread \
		"$src/pbzip2.cpp" "$src/BZ2StreamScanner.cpp" \
		"$src/ErrorContext.cpp" "$dir"/*.o -o "$dir/pbzip2" 2>"$dir/log"
}

build_perl() {
	src=$(sh "$here/source.sh" perl)
	need make
	cp -a "$src/." "$dir"
	(cd "$dir" && unset PERL5LIB PERL5OPT &&
		sh ./Configure -des -Dcc=gcc -Doptimize=-O2 \
			-Accflags="$sites" -Uversiononly -Dusedevel &&
		make && make test_prep) >"$real/perl.log" 2>&1 || {
		echo "perl did not build: $real/perl.log" >&2
		exit 1
	}
}

case $what in
bzip2|bzip2-noinline) program=bzip2 ;;
pbzip2) program=pbzip2 ;;
perl) program=perl ;;
*) echo "usage: build.sh bzip2|bzip2-noinline|pbzip2|perl" >&2; exit 2 ;;
esac
dir=$real/$what
if [ ! -e "$dir/.done" ]; then
	rm -rf "$dir"
	mkdir -p "$dir"
	case $what in
	bzip2) build_bzip2 $sites ;;
	bzip2-noinline) build_bzip2 -fno-inline $sites ;;
	pbzip2) build_pbzip2 ;;
	perl) build_perl ;;
	esac
	: >"$dir/.done"
fi
echo "$dir/$program"
