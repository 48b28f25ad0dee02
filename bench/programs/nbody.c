/*
 * nbody.c - bodies that pull each other, in three dimensions (Barnes and Hut).
 *
 *	nbody BODIES STEPS [THETA [print]]
 *
 * Each step sorts the bodies into a tree of eighths of space; a part of it that
 * is further away than its width / THETA pulls as one body. THETA 0 is every
 * pair. Prints the energy at the end and the sum of all coordinates; with
 * `print` where each body is and how it moves.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0.001
#define SOFTENING 1e-4			/* squared: close bodies do not fly off */
#define HALF_WIDTH 64.0			/* of the space; who leaves it is not pulled */
#define DEPTH_MAX 40			/* below it bodies share a cell */

struct vec {
	double x, y, z;
};

struct body {
	struct vec at, v, pull;
	double mass;
};

struct cell {
	struct vec middle, centre;	/* of space, of mass */
	double half, mass;
	struct body *body;		/* a leaf's */
	struct cell *part[8];
	int is_leaf;
};

static struct body *bodies;
static size_t n_bodies;
static struct cell *cells;
static size_t n_cells, room_cells;
static double theta = 0.5;

/* ---- vectors --------------------------------------------------------------- */

static struct vec vec_add(struct vec a, struct vec b)
{
	return (struct vec){ a.x + b.x, a.y + b.y, a.z + b.z };
}

static struct vec vec_sub(struct vec a, struct vec b)
{
	return (struct vec){ a.x - b.x, a.y - b.y, a.z - b.z };
}

static struct vec vec_scale(struct vec a, double k)
{
	return (struct vec){ a.x * k, a.y * k, a.z * k };
}

static double vec_dot(struct vec a, struct vec b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* ---- the tree ------------------------------------------------------------------ */

static struct cell *make_cell(struct vec middle, double half)
{
	struct cell *c;

	if (n_cells == room_cells) {
		fprintf(stderr, "nbody: too many cells\n");
		exit(1);
	}
	c = &cells[n_cells++];
	memset(c, 0, sizeof(*c));
	c->middle = middle;
	c->half = half;
	c->is_leaf = 1;
	return c;
}

static int part_of(const struct cell *c, struct vec at)
{
	return (at.x >= c->middle.x) | (at.y >= c->middle.y) << 1 |
	       (at.z >= c->middle.z) << 2;
}

static struct vec middle_of_part(const struct cell *c, int part)
{
	double q = c->half / 2;

	return vec_add(c->middle, (struct vec){ part & 1 ? q : -q, part & 2 ? q : -q,
						part & 4 ? q : -q });
}

static struct cell *enter_part(struct cell *c, struct vec at)
{
	int i = part_of(c, at);

	if (!c->part[i])
		c->part[i] = make_cell(middle_of_part(c, i), c->half / 2);
	return c->part[i];
}

static void add_mass(struct cell *c, const struct body *b)
{
	double mass = c->mass + b->mass;
	struct vec sum = vec_add(vec_scale(c->centre, c->mass), vec_scale(b->at, b->mass));

	c->centre = vec_scale(sum, 1 / mass);
	c->mass = mass;
}

/* The leaf has a body: it goes one deeper. */
static void split(struct cell *c)
{
	struct cell *to = enter_part(c, c->body->at);

	to->body = c->body;
	add_mass(to, c->body);
	c->body = NULL;
	c->is_leaf = 0;
}

static void insert(struct cell *c, struct body *b, int depth)
{
	while (!c->is_leaf || (c->body && depth < DEPTH_MAX)) {
		if (c->is_leaf)
			split(c);
		add_mass(c, b);
		c = enter_part(c, b->at);
		depth++;
	}
	c->body = b;
	add_mass(c, b);
}

static int is_inside(const struct body *b)
{
	return fabs(b->at.x) < HALF_WIDTH && fabs(b->at.y) < HALF_WIDTH &&
	       fabs(b->at.z) < HALF_WIDTH;
}

static struct cell *build_tree(void)
{
	struct cell *root;

	n_cells = 0;
	root = make_cell((struct vec){ 0, 0, 0 }, HALF_WIDTH);
	for (size_t i = 0; i < n_bodies; i++)
		if (is_inside(&bodies[i]))
			insert(root, &bodies[i], 0);
	return root;
}

/* ---- forces -------------------------------------------------------------------- */

static double inverse_cube(double square)
{
	return 1 / (square * sqrt(square));
}

static struct vec pull_of(struct vec way, double square, double mass)
{
	return vec_scale(way, mass * inverse_cube(square + SOFTENING));
}

static int is_far(const struct cell *c, double square)
{
	double width = 2 * c->half;

	return width * width < theta * theta * square;
}

static struct vec walk(const struct cell *c, const struct body *b)
{
	struct vec way = vec_sub(c->centre, b->at), sum = { 0, 0, 0 };
	double square = vec_dot(way, way);

	if (c->body == b)
		return sum;
	if (c->is_leaf || is_far(c, square))
		return pull_of(way, square, c->mass);
	for (int i = 0; i < 8; i++)
		if (c->part[i])
			sum = vec_add(sum, walk(c->part[i], b));
	return sum;
}

static void kick(struct body *b, double dt)
{
	b->v = vec_add(b->v, vec_scale(b->pull, dt));
}

static void drift(struct body *b, double dt)
{
	b->at = vec_add(b->at, vec_scale(b->v, dt));
}

static void find_pulls(void)
{
	const struct cell *root = build_tree();

	for (size_t i = 0; i < n_bodies; i++)
		bodies[i].pull = walk(root, &bodies[i]);
}

/* Leapfrog: half a kick, a drift, the other half. */
static void step(void)
{
	for (size_t i = 0; i < n_bodies; i++) {
		kick(&bodies[i], STEP / 2);
		drift(&bodies[i], STEP);
	}
	find_pulls();
	for (size_t i = 0; i < n_bodies; i++)
		kick(&bodies[i], STEP / 2);
}

/* ---- start and end ---------------------------------------------------------------- */

static double random_share(void)
{
	static unsigned long long x = 42;

	x = x * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(x >> 11) / 9007199254740992.0;
}

static struct vec random_vec(double size)
{
	double x = random_share(), y = random_share(), z = random_share();

	return vec_scale((struct vec){ x - 0.5, y - 0.5, z - 0.5 }, size);
}

static void make_bodies(void)
{
	for (size_t i = 0; i < n_bodies; i++)
		bodies[i] = (struct body){ .at = random_vec(4), .v = random_vec(0.5),
					   .mass = 1.0 / (double)n_bodies };
}

static double pair_energy(const struct body *a, const struct body *b)
{
	struct vec way = vec_sub(a->at, b->at);

	return -a->mass * b->mass / sqrt(vec_dot(way, way) + SOFTENING);
}

/* Of the motion, and of the first few bodies in the field of all. */
static double energy(void)
{
	double e = 0;

	for (size_t i = 0; i < n_bodies; i++)
		e += bodies[i].mass * vec_dot(bodies[i].v, bodies[i].v) / 2;
	for (size_t i = 0; i < n_bodies && i < 16; i++)
		for (size_t j = i + 1; j < n_bodies; j++)
			e += pair_energy(&bodies[i], &bodies[j]);
	return e;
}

static double sum_of_places(void)
{
	struct vec sum = { 0, 0, 0 };

	for (size_t i = 0; i < n_bodies; i++)
		sum = vec_add(sum, bodies[i].at);
	return sum.x + sum.y + sum.z;
}

static void print_bodies(void)
{
	for (size_t i = 0; i < n_bodies; i++) {
		const struct body *b = &bodies[i];

		printf("body %.17g %.17g %.17g %.17g %.17g %.17g\n", b->at.x, b->at.y,
		       b->at.z, b->v.x, b->v.y, b->v.z);
	}
}

int main(int argc, char **argv)
{
	int steps = argc > 2 ? atoi(argv[2]) : -1;

	n_bodies = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	if (argc > 3)
		theta = atof(argv[3]);
	if (!n_bodies || steps < 0) {
		fprintf(stderr, "usage: nbody BODIES STEPS [THETA [print]]\n");
		return 2;
	}
	room_cells = n_bodies * 24 + 64;
	bodies = calloc(n_bodies, sizeof(*bodies));
	cells = calloc(room_cells, sizeof(*cells));
	if (!bodies || !cells)
		return 1;
	make_bodies();
	find_pulls();
	while (steps-- > 0)
		step();
	if (argc > 4)
		print_bodies();
	printf("energy %.15g places %.15g\n", energy(), sum_of_places());
	free(cells);
	free(bodies);
	return 0;
}
