#!/bin/sh
# source.sh NAME: fetch and unpack one of Debian's source packages.
#
# Prints the directory of the source, build/real/src/NAME-VERSION. Uses the
# machine's own package sources, with `deb` turned into `deb-src` in a private
# copy: nothing under /etc or /var is touched. What was fetched once stays.
# Exit 77 and a reason when it cannot be had.
set -eu

name=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
real=${FLICK_REAL:-$top/build/real}
apt=$real/apt
src=$real/src
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

found() {
	find "$src" -maxdepth 1 -type d -name "$name-[0-9]*" 2>/dev/null |
		sort | tail -n 1
}

skip() {
	echo "skip: $*" >&2
	exit 77
}

# The stanzas and lines of this distribution's own suites, as sources.
write_sources() {
	mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
	for f in /etc/apt/sources.list.d/*.sources; do
		[ -e "$f" ] || continue
		awk -v RS= -v ORS='\n\n' -v suite="$suite" \
			'$0 ~ "Suites:[^\n]*[ \t]" suite' "$f" |
			sed 's/^Types:.*/Types: deb-src/' \
			>"$apt/parts/$(basename "$f")"
	done
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
		sed -n "/[ \t]$suite[ \t-]/s/^deb[ \t]/deb-src /p" \
		>"$apt/parts/lines.list" || true
}

private_apt() {
	apt-get -qq -o Dir::Etc::sourcelist=/dev/null \
		-o Dir::Etc::sourceparts="$apt/parts" \
		-o Dir::State::lists="$apt/lists" \
		-o Dir::Cache="$apt/cache" \
		-o APT::Sandbox::User="$(id -un)" \
		-o Acquire::Retries=1 -o Acquire::http::Timeout=20 "$@"
}

if [ -z "$(found)" ]; then
	for tool in apt-get dpkg-source awk; do
		command -v $tool >/dev/null || skip "$tool is not installed"
	done
	mkdir -p "$src"
	write_sources
	private_apt update >"$real/apt.log" 2>&1 ||
		skip "the package sources cannot be reached ($real/apt.log)"
	# The newest version, or, where a mirror lacks it, the release's own.
	(cd "$src" && { private_apt source "$name" ||
		private_apt source "$name/$suite"; } >>"$real/apt.log" 2>&1) ||
		skip "no source package $name ($real/apt.log)"
fi
found
