#!/bin/sh
# The programs of bench/programs, whose output the benches compare, against
# other ways to the same result: the hull by its definition, bodies by every
# pair, options by put-call parity and an integral.
. "$(dirname "$0")/lib"
need awk

own() {	# PROGRAM ARGS...
	compile "$work/$1" "$top/bench/programs/$1.c" -O2
	run "$work/$@"
	[ "$status" -eq 0 ] || fail "$* status $status"
}

judge() {	# NAME AWK-PROGRAM [FILE]
	wrong=$(LC_ALL=C awk "$2" ${3-} "$out") || fail "$1: awk"
	[ -z "$wrong" ] || fail "$1: $wrong"
}

# Every corner is a point and turns left; no point is right of an edge.
for n in 2 3 10 400; do
	own hull $n 3 print
	judge "hull of $n" '
	BEGIN { m = 0 }
	$1 == "point" { px[++n] = $2; py[n] = $3; is[$2, $3] = 1 }
	$1 == "corner" { cx[m] = $2; cy[m++] = $3 }
	function area(i, x, y,	j) {
		j = (i + 1) % m
		return (cx[i] - x) * (cy[j] - y) - (cx[j] - x) * (cy[i] - y)
	}
	END {
		if (n != '$n' || m < 2) { print n " points, " m " corners"; exit }
		for (i = 0; i < m; i++) {
			if (!((cx[i], cy[i]) in is)) print "corner " i " is no point"
			if (m > 2 && area(i, cx[(i + 2) % m], cy[(i + 2) % m]) <= 0)
				print "no left turn at " i
			for (k = 1; k <= n; k++)
				if (area(i, px[k], py[k]) < -1e-12)
					print "point " k " is outside edge " i
		}
	}'
done

# Leapfrog over every pair, from the same start.
own nbody 40 0 0 print
mv "$out" "$work/start"
own nbody 40 20 0 print
judge nbody '
function pulls(	i, j, dx, dy, dz, s, f) {
	for (i = 1; i <= n; i++) {
		ax[i] = ay[i] = az[i] = 0
		for (j = 1; j <= n; j++) {
			dx = x[j] - x[i]; dy = y[j] - y[i]; dz = z[j] - z[i]
			s = dx * dx + dy * dy + dz * dz + 1e-4
			f = 1 / n / (s * sqrt(s))
			ax[i] += f * dx; ay[i] += f * dy; az[i] += f * dz
		}
	}
}
function kick(	i) {
	for (i = 1; i <= n; i++) {
		vx[i] += ax[i] * 0.0005; vy[i] += ay[i] * 0.0005; vz[i] += az[i] * 0.0005
	}
}
function drift(	i) {
	for (i = 1; i <= n; i++) {
		x[i] += vx[i] * 0.001; y[i] += vy[i] * 0.001; z[i] += vz[i] * 0.001
	}
}
function far(a, b) { return a - b > 1e-9 || b - a > 1e-9 }
FILENAME == ARGV[1] && $1 == "body" {
	x[++n] = $2; y[n] = $3; z[n] = $4; vx[n] = $5; vy[n] = $6; vz[n] = $7
	next
}
FILENAME == ARGV[2] && FNR == 1 {
	pulls()
	for (step = 0; step < 20; step++) { kick(); drift(); pulls(); kick() }
}
FILENAME == ARGV[2] && $1 == "body" {
	k++
	if (far(x[k], $2) || far(y[k], $3) || far(z[k], $4) || far(vx[k], $5))
		print "body " k " is elsewhere"
}
END { if (n != 40 || k != 40) print n " and " k " bodies" }' "$work/start"

# A tree that takes far cells as one is near the truth, and is not it.
mv "$out" "$work/pairs"
own nbody 40 20 0.5 print
judge "nbody with a tree" '
$1 == "body" && FILENAME == ARGV[1] { x[FNR] = $2; next }
$1 == "body" { d = $2 - x[FNR]; sum += d * d }
END { if (sum == 0 || sum > 1e-4) print "off by " sum }' "$work/pairs"

# A put by its call; the normal distribution by Simpson.
own blackscholes 60 2 print
judge blackscholes '
function bell(x) { return exp(-x * x / 2) / sqrt(8 * atan2(1, 1)) }
function below(x,	i, h, s) {
	h = x / 200
	for (i = 0; i < 200; i += 2)
		s += bell(i * h) + 4 * bell((i + 1) * h) + bell((i + 2) * h)
	return 0.5 + s * h / 3
}
$1 == "option" {
	n++
	spread = $5 * sqrt($6)
	d = (log($2 / $3) + ($4 + $5 * $5 / 2) * $6) / spread
	later = $3 * exp(-$4 * $6)
	value = $2 * below(d) - later * below(d - spread)
	if ($7 == "put")
		value += later - $2
	if (value - $8 > 1e-4 || $8 - value > 1e-4)
		print "option " n " is worth " value ", not " $8
}
END { if (n != 60) print n " options" }'
