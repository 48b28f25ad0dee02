# table.awk - results.json as a table: -v form=text or -v form=markdown, then
# the files names and results.json. Every line of `names` gives a row.

function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

# The value of a key in one of our own one-line objects.
function field(line, key,	rest) {
	if (!match(line, "\"" key "\":"))
		return ""
	rest = substr(line, RSTART + RLENGTH)
	if (rest ~ /^"/) {
		rest = substr(rest, 2)
		return substr(rest, 1, index(rest, "\"") - 1)
	}
	match(rest, /^[-+.0-9eE]+/)
	return substr(rest, 1, RLENGTH)
}

# 12345.678 as 12,346; small numbers with the digits that say something.
function number(v,	s) {
	v += 0
	if (v >= 1000 || v <= -1000) {
		s = sprintf("%.0f", v)
		while (match(s, /[0-9][0-9][0-9][0-9](,|$)/))
			s = substr(s, 1, RSTART) "," substr(s, RSTART + 1)
		return s
	}
	return v >= 100 || v <= -100 ? sprintf("%.0f", v) : sprintf("%.2f", v)
}

# Of `<= N`, `>= N` and `+- N`, where N may be passed on neither side. `N x NAME`: N times
# the median of that row.
function reaches(value, goal,	limit, name) {
	limit = substr(goal, 4) + 0
	if (match(goal, / x /)) {
		name = substr(goal, RSTART + 3)
		limit *= field(result[name], "value")
	}
	if (goal ~ /^\+-/)
		return value <= limit && value >= -limit
	return goal ~ /^<=/ ? value <= limit : value >= limit
}

# A goal that the spread crosses is neither met nor missed.
function verdict(r, goal,	lo, hi) {
	if (goal == "-" || (match(goal, / x /) && result[substr(goal, RSTART + 3)] == ""))
		return "-"
	lo = reaches(field(r, "lo") + 0, goal)
	hi = reaches(field(r, "hi") + 0, goal)
	if (lo != hi || (!lo && field(r, "lo") * field(r, "hi") < 0 && goal ~ /^\+-/))
		return "within noise"
	return lo ? "met" : "missed"
}

function put_head(section) {
	if (form == "text") {
		printf "%s%-32s %10s %-15s %-19s %5s %-12s %-9s %s\n",
			n_sections++ ? "\n" : "", section, "median", "unit",
			"10 % .. 90 %", "runs", "paper", "goal", "verdict"
		return
	}
	printf "%s### %s\n\n", n_sections++ ? "\n" : "", title[section]
	print "| name | what | median | unit | 10 % .. 90 % | runs | paper | goal | verdict | command |"
	print "|---|---|---:|---|---|---:|---|---|---|---|"
}

function put_row(name, what, bench, paper, goal,	r, spread, reached) {
	r = result[name]
	if (r == "" || field(r, "skipped") != "") {
		put_skipped(name, what, bench, paper, goal, \
			r == "" ? "bench/run did not run it" : field(r, "skipped"))
		return
	}
	reached = field(r, "reached")
	if (reached != "" && form == "markdown")
		what = what " (" number(reached) "/s reached)"
	spread = number(field(r, "lo")) " .. " number(field(r, "hi"))
	if (form == "text")
		printf "%-32s %10s %-15s %-19s %5d %-12s %-9s %s%s\n", name,
			number(field(r, "value")), field(r, "unit"), spread,
			field(r, "runs"), paper, goal,
			verdict(r, goal),
			reached == "" ? "" : "  at " number(reached) "/s"
	else
		printf "| %s | %s | %s | %s | %s | %d | %s | %s | %s | `bench/run %s` |\n",
			name, what, number(field(r, "value")), field(r, "unit"),
			spread, field(r, "runs"), paper, goal,
			verdict(r, goal), bench
}

function put_skipped(name, what, bench, paper, goal, reason) {
	if (form == "text")
		printf "%-32s not measured: %s\n", name, reason
	else
		printf "| %s | %s | not measured: %s | | | | %s | %s | - | `bench/run %s` |\n",
			name, what, reason, paper, goal, bench
}

BEGIN {
	title["toggle"] = "Switching probes"
	title["victim"] = "What the thread that runs the probes pays meanwhile"
	title["patch"] = "Changing code: flick/patch.h, and the paper's protocols on the same code"
	title["histogram"] = "How the cost of one switch is distributed (paper 1, Figure 11)"
	title["throughput"] = "Calls through a site while it is switched (Figures 12 and 13)"
	title["balance"] = "How evenly two targets are met: calls of the one over calls of the other"
	title["threads"] = "Many threads through a site that is switched (Figure 14)"
	title["invoke"] = "Meeting a probe"
	title["init"] = "Setting probes up"
	title["start"] = "Starting to record a large program: what that adds to its run"
	title["record"] = "Recording a call"
	title["channel"] = "A word through a ring, from one core to another"
	title["size"] = "The same by size of ring, 16 chunks each"
	title["paths"] = "Each path through each function counted, of programs as Debian has them"
	title["cache"] = "An access in simulated caches, beside the program: 32 KB of 4 ways, 512 KB of 8"
	title["analysis"] = "The same analysis beside the program and in its thread: mean of all programs"
	title["programs"] = "The same, program by program"
	title["profiler"] = "The sampling profiler on real programs (paper 1, Table 3)"
	title["bzip2"] = "bzip2 -O2 on 30 MB of shared libraries"
	title["sampling"] = "A call graph of a part of the time: bzip2 (paper 2, Figure 11)"
	title["truth"] = "Self times against perf's of the program alone"
	title["calls"] = "Calls against counts of every call"
	title["ticks"] = "Times of functions whose times are known"
	title["cost"] = "The cost that flick says against the slowdown"
}
/^#/ || /^$/ { next }
FILENAME ~ /names$/ { lines[++n_lines] = $0; next }
/^{"name":/ { result[field($0, "name")] = $0 }
/^"machine":/ { machine = $0 }
END {
	if (form == "markdown")
		printf "Machine: %s, %s CPUs, Linux %s, TSC %s MHz, %s; %s.\n\n",
			field(machine, "cpu"), field(machine, "cpus"),
			field(machine, "kernel"), field(machine, "tsc_mhz"),
			field(machine, "compiler"), field(machine, "date")
	for (i = 1; i <= n_lines; i++) {
		split(lines[i], f, "|")
		if (only && trim(f[3]) != only)
			continue
		if (trim(f[1]) != section)
			put_head(section = trim(f[1]))
		put_row(trim(f[2]), trim(f[4]), trim(f[3]), trim(f[5]), trim(f[6]))
	}
}
