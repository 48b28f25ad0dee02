# tools/limits.awk - what tools/limits lets be; for checkers, read with `-f` first,
# with tools/limits before all other files.
#
#	keep(RULE, WHAT, N, SAID, USUAL)	fail, and say SAID, if N is more than the
#			number of the row RULE WHAT, or where there is none than USUAL (0)

FILENAME == "tools/limits" {
	if (NF && !/^#/) {
		limit[$1, $2] = $3
		if ($3 !~ /^[0-9]+$/) {
			print FILENAME ":" FNR ": no number: " $0
			bad = 1
		}
	}
	next
}
function keep(rule, what, n, said, usual,    most)
{
	most = (rule, what) in limit ? limit[rule, what] + 0 : usual + 0
	if (n < most && most > usual)
		print rule " " what ": " n "; tools/limits may be lowered from " most
	if (n <= most)
		return
	print rule " " what ": " n "; stop at " most " (tools/limits)" said
	bad = 1
}
