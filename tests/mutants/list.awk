# list.awk - read lists of planted faults (*.list; what they hold: tests/README.md).
#
#	awk -v task=check  -f list.awk LIST...	say what is wrong with an entry
#	awk -v task=list   -f list.awk LIST...	`N TAB file TAB fault TAB tests` each
#	awk -v task=plant -v n=N -f list.awk LIST...	the file of entry N, planted
#
# Run in the tree the entries are of. Exit status 1: something is wrong; of
# `plant`: the old text does not occur exactly once.

function complain(what)
{
	print begun_in ":" begun ": " what
	bad = 1
}

function text_of(path,    line, text)
{
	if (path == last_path)
		return last_text
	text = ""
	while ((getline line < path) > 0)
		text = text line "\n"
	close(path)
	last_path = path
	return last_text = text
}

# Where the body of function `name` begins and ends: from a line that starts in the
# first column, holds `name(` and is no declaration, to the next `}` there.
function find_function(text, name,    n, i, line, skipped)
{
	at = end = 0
	n = split(text, line, "\n")
	for (i = 1; i <= n && !end; i++) {
		if (!at && line[i] ~ /^[a-zA-Z_]/ && index(line[i], name "(") &&
		    line[i] !~ /[;\\]$/)
			at = skipped + 1
		skipped += length(line[i]) + 1
		if (at && line[i] ~ /^[}]/)
			end = skipped
	}
}

# How often the old text stands where the entry says; sets where, the first.
function occurrences(text,    n, i, from)
{
	at = 1
	end = length(text)
	if (body != "")
		find_function(text, body)
	where = from = at
	text = end ? substr(text, at, end - at + 1) : ""
	while ((i = index(text, old))) {
		if (!n++)
			where = from + i - 1
		from += i
		text = substr(text, i + 1)
	}
	return n + 0
}

function is_there(path,    line, there)
{
	there = (getline line < path) >= 0
	close(path)
	return there
}

function check_tests(    i, n, name)
{
	n = split(tests, name, " ")
	for (i = 1; i <= n; i++)
		if (!is_there("tests/" name[i] ".c") && !is_there("tests/" name[i] ".sh") &&
		    !(name[i] ~ /^tools\/check-/ && is_there(name[i])))
			complain("there is no test " name[i])
}

function check(    n)
{
	if (file == "" || fault == "" || old == "")
		complain("an entry has `fault`, `file`, `-` lines")
	if ((tests == "") == (same == ""))
		complain("an entry has either `tests` or `same`")
	if (same != "" && same !~ /^[A-Z].*\.$/)
		complain("`same` is followed by a sentence")
	if (old == new)
		complain("the new text is the old")
	if (!is_there(file)) {
		complain("there is no " file)
		return
	}
	n = occurrences(text_of(file))
	if (n != 1)
		complain("the old text stands " n " times in " (body != "" ? body " of " : "") file)
	check_tests()
}

function plant(    text)
{
	text = text_of(file)
	if (occurrences(text) != 1) {
		bad = 1
		return
	}
	printf "%s%s%s", substr(text, 1, where - 1), new, substr(text, where + length(old))
	planted = 1
}

function end_entry()
{
	if (!begun)
		return
	entries++
	if (task == "check")
		check()
	else if (task == "list")
		print entries "\t" file "\t" fault "\t" tests
	else if (entries == n)
		plant()
	file = body = fault = tests = same = old = new = ""
	begun = olds = news = 0
}

function rest_of(    s)
{
	s = $0
	sub(/^[a-z]+[ \t]+/, "", s)
	return s
}

FNR == 1 { end_entry() }
/^#/ { next }
/^[ \t]*$/ { end_entry(); next }
!begun { begun = FNR; begun_in = FILENAME }
/^-/ { old = old (olds++ ? "\n" : "") substr($0, 2); next }
/^\+/ { new = new (news++ ? "\n" : "") substr($0, 2); next }
$1 == "fault" && fault != "" { complain("no empty line before the next entry") }
$1 == "fault" { fault = rest_of(); next }
$1 == "file" { file = rest_of(); next }
$1 == "in" { body = rest_of(); next }
$1 == "tests" { tests = rest_of(); next }
$1 == "same" { same = rest_of(); next }
{ complain("what is `" $1 "`?") }
END {
	end_entry()
	if (task == "plant" && !planted)
		bad = 1
	if (task == "check" && !entries) {
		print "no entries"
		bad = 1
	}
	exit bad
}
