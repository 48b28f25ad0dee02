# tools/code.awk - what of C files is code; for checkers, read with `-f` before
# their own lines.
#
# It takes every line of input itself and calls what the checker defines:
#
#	begin()			a file begins (FILENAME)
#	declared(TEXT, ENDS)	what stands outside of all braces, up to the
#				`;` or `{` that ENDS it, on one line
#	inside(TEXT)		code between braces, or of a #define
#
# Comments are gone, strings are "", characters 0. flick's own style only: no
# trigraphs, and braces that match whatever the preprocessor chooses.

function code(s,    out, i, c)
{
	out = ""
	while (s != "") {
		if (in_comment) {
			if (!(i = index(s, "*/")))
				break
			in_comment = 0
			s = substr(s, i + 2)
			continue
		}
		if (!match(s, /\/\*|\/\/|"|'/))
			return out s
		out = out substr(s, 1, RSTART - 1)
		c = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		if (c == "//")
			break
		if (c == "/*")
			in_comment = 1
		else if (match(s, c == "'" ? "^([^'\\\\]|\\\\.)*'" : "^([^\"\\\\]|\\\\.)*\"")) {
			out = out (c == "'" ? "0" : "\"\"")
			s = substr(s, RLENGTH + 1)
		}
	}
	return out
}

function end_declaration(ends)
{
	gsub(/[ \t]+/, " ", held)
	sub(/^ /, "", held)
	if (held != "")
		declared(held, ends)
	held = ""
}

FNR == 1 {
	in_comment = in_directive = depth = 0
	held = ""
	begin()
}
{
	line = code($0)
	if (in_directive || line ~ /^[ \t]*#/) {
		if (in_directive || line ~ /^[ \t]*#[ \t]*define/)
			inside(line)
		in_directive = line ~ /\\$/
		next
	}
	while (match(line, depth ? "[{}]" : "[{};]")) {
		c = substr(line, RSTART, 1)
		before = substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + 1)
		if (depth)
			inside(before)
		else {
			held = held before
			end_declaration(c)
		}
		depth += (c == "{") - (c == "}" && depth)
	}
	if (depth)
		inside(line)
	else
		held = held line " "
}
