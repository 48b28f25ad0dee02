/*
 * hull.c - the convex hull of points in the plane (quickhull).
 *
 *	hull POINTS RUNS [print]
 *
 * A run makes points anew, in a disc and near its edge, and finds their hull:
 * of what lies outside an edge the farthest point is a corner, and makes two
 * edges of one. Prints how many corners there were and the area; with `print`
 * also each point, and each corner in order, against the clock.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A corner must lie on its own edge, exactly: a product that is not rounded, where the CPU
 * multiplies and adds in one, puts it beside, and it is found for ever. */
#ifdef __FP_FAST_FMA
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif
#endif

struct point {
	double x, y;
};

static struct point *points, *corners;
static size_t n_points, n_corners;

/* Twice the area of a triangle; positive where c is left of the way a to b. */
static double area_of(struct point a, struct point b, struct point c)
{
	return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/* Move those of p[0, n) that are right of a to b to the front. */
static size_t keep_outside(struct point *p, size_t n, struct point a, struct point b)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct point here = p[i];

		if (area_of(a, b, here) >= 0)
			continue;
		p[i] = p[kept];
		p[kept++] = here;
	}
	return kept;
}

static size_t farthest(const struct point *p, size_t n, struct point a, struct point b)
{
	size_t best = 0;
	double least = 0;

	for (size_t i = 0; i < n; i++) {
		double area = area_of(a, b, p[i]);

		if (area < least) {
			least = area;
			best = i;
		}
	}
	return best;
}

static void add_corner(struct point p)
{
	corners[n_corners++] = p;
}

/* The corners behind a and before b; p[0, n) are the points outside a to b. What
 * lies outside the second of the two edges is none of what lies outside the
 * first. */
static void add_between(struct point *p, size_t n, struct point a, struct point b)
{
	struct point far;
	size_t first;

	if (n == 0)
		return;
	far = p[farthest(p, n, a, b)];
	first = keep_outside(p, n, a, far);
	add_between(p, first, a, far);
	add_corner(far);
	add_between(p + first, keep_outside(p + first, n - first, far, b), far, b);
}

static int is_left_of(struct point a, struct point b)
{
	return a.x < b.x || (a.x == b.x && a.y < b.y);
}

static void find_hull(void)
{
	struct point left = points[0], right = points[0];
	size_t below;

	for (size_t i = 1; i < n_points; i++) {
		if (is_left_of(points[i], left))
			left = points[i];
		if (is_left_of(right, points[i]))
			right = points[i];
	}
	n_corners = 0;
	add_corner(left);
	below = keep_outside(points, n_points, left, right);
	add_between(points, below, left, right);
	add_corner(right);
	add_between(points + below,
		    keep_outside(points + below, n_points - below, right, left),
		    right, left);
}

static double random_share(void)
{
	static unsigned long long x = 7;

	x = x * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(x >> 11) / 9007199254740992.0;
}

static struct point random_point(void)
{
	double turn = random_share() * 6.283185307179586, away = random_share();

	away = away < 0.5 ? 2 * away : 1 - (1 - away) * 1e-4;
	return (struct point){ away * cos(turn), away * sin(turn) };
}

static void make_points(void)
{
	for (size_t i = 0; i < n_points; i++)
		points[i] = random_point();
}

static double area(void)
{
	double sum = 0;

	for (size_t i = 2; i < n_corners; i++)
		sum += area_of(corners[0], corners[i - 1], corners[i]);
	return sum / 2;
}

static void print_points(const char *what, const struct point *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%s %.17g %.17g\n", what, p[i].x, p[i].y);
}

int main(int argc, char **argv)
{
	int runs = argc > 2 ? atoi(argv[2]) : 0;
	size_t total = 0;
	double sum = 0;

	n_points = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	if (n_points < 2 || runs < 1) {
		fprintf(stderr, "usage: hull POINTS RUNS [print]\n");
		return 2;
	}
	points = calloc(n_points, sizeof(*points));
	corners = calloc(n_points + 1, sizeof(*corners));
	if (!points || !corners)
		return 1;
	while (runs-- > 0) {
		make_points();
		find_hull();
		total += n_corners;
		sum += area();
	}
	if (argc > 3) {
		print_points("point", points, n_points);
		print_points("corner", corners, n_corners);
	}
	printf("corners %zu area %.15g\n", total, sum);
	free(points);
	free(corners);
	return 0;
}
