#!/bin/sh
# Programs of this system, as they are: the compiler makes the same code of C++, git finds the
# same in a repository, ripgrep and fd the same files, with every function of theirs on.
# timeout: 900
. "$(dirname "$0")/lib"
need sqlite3 git g++

# same FILE COMMAND...: what it prints, and FILE, which it makes or which is empty, are as without
same() {
	made=$1
	shift
	limit=600
	label="${1##*/}:"
	run "$@"
	[ "$status" -eq 0 ] || fail "$label fails without flick"
	mv "$out" "$work/plain"
	cp "$made" "$work/plain.made"
	for how in "-a counts" "--all" ""; do
		label="${1##*/} $how:"
		record $how -- "$@"
		[ "$status" -eq 0 ] || fail "$label status $status"
		cmp -s "$work/plain" "$out" || { : >"$out"; fail "$label the output differs"; }
		cmp -s "$work/plain.made" "$made" || fail "$label makes something else"
		[ "$(sql "select count(distinct function) from sites
			where provider = 'body' and wanted and not refusal")" -ge 100 ] ||
			fail "$label has no probes"
		conserved
	done
}

: >"$work/none"
cat >"$work/t.cc" <<'END'
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

int f(std::vector<int> &v)
{
	std::map<std::string, int> m;

	std::sort(v.begin(), v.end());
	for (int i : v)
		m[std::to_string(i)] += i;
	if (m.empty())
		throw std::runtime_error("none");
	return (int)m.size();
}
END
g++ -E -o "$work/t.ii" "$work/t.cc" || skip "g++ does not preprocess"
compiler=$(g++ -print-prog-name=cc1plus)
"$compiler" -quiet -fpreprocessed -O2 "$work/t.ii" -o "$work/t.s" || skip "there is no cc1plus"
same "$work/t.s" "$compiler" -quiet -fpreprocessed -O2 "$work/t.ii" -o "$work/t.s"

repository=$work/repository
git init -q "$repository"
cp -r "$top/src" "$top/docs" "$repository"
git -C "$repository" add .
git -C "$repository" -c user.name=flick -c user.email=flick@localhost commit -q -m all
same "$work/none" git -C "$repository" fsck --full --strict

! command -v rg >/dev/null ||
	same "$work/none" rg -j 1 --sort path -n 'fl_[a-z]*_open' "$repository/src"
! command -v fdfind >/dev/null || same "$work/none" fdfind -j 1 '\.c$' "$repository"
for tool in rg fdfind; do
	command -v $tool >/dev/null || say "without $tool, which is not installed"
done
