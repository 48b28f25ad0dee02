#!/bin/sh
# what-is-installed-works-and-goes-again.sh - make install, and make uninstall, to wherever
# PREFIX, LIBDIR and DESTDIR say: everything is there, knows it, works there and when the
# whole is moved, and goes.
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator exec
need make pkg-config ldd

# What knows its places is made anew: in a copy, others use the original.
from=${BUILD:-$top/build}
mkdir "$work/build"
cp -a "$from/guest" "$from/reader" "$from"/libflick.* "$from/flick" "$work/build"
printf '#!/bin/sh\necho ran >>"%s"\n' "$work/ldconfig" >"$work/build/ldconfig"
chmod +x "$work/build/ldconfig"
to=$work/root
put() {
	rm -f "$work/ldconfig"
	PATH=$work/build:$PATH make -s -C "$top" "$@" BUILD="$work/build" >"$out" 2>&1 ||
		fail "make $*: $(cat "$out")"
}

"$CC" -w -O1 $sites "$targets/recursion.c" -o "$work/app" || fail "no program"
works() {	# PREFIX, where it is
	(cd "$work" && rm -rf data && FLICK_LIB= "$1/bin/flick" record -o data ./app) >"$out" 2>&1 ||
		fail "$label what is installed does not record: $(cat "$out")"
}
holds() {	# PREFIX LIBDIR FILE...: where they are, and what pkg-config says of them
	prefix=$1 libs=$2
	shift 2
	for file in bin/flick include/flick.h include/flick/patch.h \
		share/man/man1/flick-record.1 share/doc/flick/LICENSE \
		share/doc/flick/examples/self.c share/bash-completion/completions/flick \
		share/zsh/site-functions/_flick; do
		[ -s "$to$prefix/$file" ] || fail "$label $prefix/$file is not installed"
	done
	for file in libflick.so libflick.so.0 libflick.a pkgconfig/flick.pc; do
		[ -s "$to$libs/$file" ] || fail "$label $libs/$file is not installed"
	done
	others=$(find "${to:-$prefix}" ! -type d ! -path "$to$prefix/*" ! -path "$to$libs/*")
	[ -z "$others" ] || fail "$label installed elsewhere: $others"
	said=$(PKG_CONFIG_PATH=$to$libs/pkgconfig pkg-config --variable=libdir flick)
	[ "$said" = "$libs" ] || fail "$label flick.pc has libdir $said"
	grep -aqF "nor in $libs; set FLICK_LIB" "$to$prefix/bin/flick" ||
		fail "$label flick looks for its library elsewhere"
}
goes() {	# MAKE'S ARGUMENTS
	put uninstall "$@"
	left=$(find "$to" ! -type d -o -name '*flick*')
	[ -z "$left" ] || fail "$label uninstall leaves $left"
}

for how in "PREFIX=/usr" "PREFIX=/opt/here LIBDIR=/opt/here/lib/x86_64-linux-gnu" \
	"PREFIX=/usr LIBDIR=/other/lib"; do
	label="$how:"
	set -- $how
	at=${1#*=} for_libs=${2:-LIBDIR=$at/lib}
	put install $how DESTDIR="$to"
	holds "$at" "${for_libs#*=}"
	[ ! -e "$work/ldconfig" ] || fail "$label ldconfig ran for what is below DESTDIR"
	[ "$at" = /usr ] && [ $# -gt 1 ] || works "$to$at"
	goes $how DESTDIR="$to"
done

# configure writes what is said; without --libdir it follows PREFIX.
label="configure:"
mkdir -p "$work/tree/src/arch/$(uname -m)"
cp "$top/configure" "$work/tree"
for how in "--prefix=/opt/here=\$(PREFIX)/lib" \
	"--prefix=/opt/here --libdir=/opt/here/lib64=/opt/here/lib64"; do
	"$work/tree/configure" ${how%=*} CC="$CC" >"$out" 2>&1 || fail "$label ${how%=*}"
	grep -qxF "LIBDIR = ${how##*=}" "$work/tree/config.mk" || fail "$label ${how%=*}: other LIBDIR"
	grep -qxF "PREFIX = /opt/here" "$work/tree/config.mk" || fail "$label ${how%=*}: other PREFIX"
done

# Each file is of a package, or said to be in none.
label="packages:"
multi=usr/lib/$("$CC" -dumpmachine)
put install PREFIX=/usr LIBDIR="/$multi" DESTDIR="$to"
for list in "$top"/debian/*.install "$top/debian/not-installed"; do
	for what in $(sed "s|usr/lib/\*|$multi|" "$list"); do
		rm -rf "$to"/$what
	done
done
left=$(find "$to" ! -type d)
[ -z "$left" ] || fail "$label in none are $left"

# In place: the loader is told, and programs are built as flick.pc says.
label="in place:"
to=
prefix=$work/place
put install PREFIX="$prefix"
holds "$prefix" "$prefix/lib"
works "$prefix"
[ "$(id -u)" != 0 ] || grep -q ran "$work/ldconfig" || fail "$label ldconfig did not run"
built() {	# FLAGS...: for the library
	"$CC" -w $sites "$prefix/share/doc/flick/examples/self.c" -o "$work/self" \
		$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags "$@" flick |
		sed "s/-lflick/$link/") >"$out" 2>&1 || fail "$label $*: $(cat "$out")"
	run "$work/self"
	succeeded
}
link="-lflick -Wl,-rpath,$(say "$prefix/lib" | sed 's|/|\\/|g')" built --libs
ldd "$work/self" | grep -q "$prefix/lib/libflick.so.0" || fail "$label another library"
link="-l:libflick.a" built --libs --static
! ldd "$work/self" | grep -q libflick || fail "$label it is not in the program"
to=$prefix
goes PREFIX="$prefix"
