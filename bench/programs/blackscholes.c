/*
 * blackscholes.c - prices of European options, by Black and Scholes' formula.
 *
 *	blackscholes OPTIONS RUNS [print]
 *
 * The normal distribution is Abramowitz and Stegun's 26.2.17, a polynomial that
 * is off by less than 7.5e-8. Prints the sum of all prices of the last run;
 * with `print` each option: price today, strike, rate, volatility, years, kind,
 * value.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum kind { CALL, PUT };

struct option {
	double price, strike, rate, volatility, years;
	enum kind kind;
};

/* The density of the normal distribution. */
static double density(double x)
{
	return exp(-x * x / 2) * 0.39894228040143267794;
}

/* The share of it below x. */
static double share_below(double x)
{
	static const double c[] = { 0.319381530, -0.356563782, 1.781477937,
				    -1.821255978, 1.330274429 };
	double k = 1 / (1 + 0.2316419 * fabs(x)), sum = 0;

	for (int i = 4; i >= 0; i--)
		sum = (sum + c[i]) * k;
	sum *= density(x);
	return x < 0 ? sum : 1 - sum;
}

static double value_of(const struct option *o)
{
	double spread = o->volatility * sqrt(o->years);
	double growth = o->rate + o->volatility * o->volatility / 2;
	double d1 = (log(o->price / o->strike) + growth * o->years) / spread;
	double d2 = d1 - spread;
	double later = o->strike * exp(-o->rate * o->years);

	if (o->kind == CALL)
		return o->price * share_below(d1) - later * share_below(d2);
	return later * share_below(-d2) - o->price * share_below(-d1);
}

static double random_between(double from, double to)
{
	static unsigned long long x = 3;

	x = x * 6364136223846793005ull + 1442695040888963407ull;
	return from + (to - from) * ((double)(x >> 11) / 9007199254740992.0);
}

static void make_options(struct option *o, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		o[i].price = random_between(10, 100);
		o[i].strike = o[i].price * random_between(0.7, 1.4);
		o[i].rate = random_between(0.01, 0.1);
		o[i].volatility = random_between(0.05, 0.65);
		o[i].years = random_between(0.05, 2);
		o[i].kind = i % 2 ? PUT : CALL;
	}
}

static void price_all(const struct option *o, double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		values[i] = value_of(&o[i]);
}

static double sum_of(const double *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return sum;
}

static void print_all(const struct option *o, const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("option %.17g %.17g %.17g %.17g %.17g %s %.17g\n", o[i].price,
		       o[i].strike, o[i].rate, o[i].volatility, o[i].years,
		       o[i].kind == CALL ? "call" : "put", values[i]);
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	int runs = argc > 2 ? atoi(argv[2]) : 0;
	struct option *options;
	double *values;

	if (!n || runs < 1) {
		fprintf(stderr, "usage: blackscholes OPTIONS RUNS [print]\n");
		return 2;
	}
	options = calloc(n, sizeof(*options));
	values = calloc(n, sizeof(*values));
	if (!options || !values)
		return 1;
	make_options(options, n);
	while (runs-- > 0)
		price_all(options, values, n);
	if (argc > 3)
		print_all(options, values, n);
	printf("values %.15g\n", sum_of(values, n));
	free(options);
	free(values);
	return 0;
}
