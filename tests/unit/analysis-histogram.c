/*
 * The histogram keeps every value within 1/32, its ends exactly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/histogram.h"

static bool add(struct fl_histogram *h, uint64_t v)
{
	return fl_hist_add(h, v, 1);
}

static void buckets_follow_one_another(void **unused)
{
	unsigned last = 0;

	(void)unused;
	for (uint64_t v = 0; v < 1 << 20; v++) {
		unsigned o = fl_hist_octave(v);
		unsigned bucket = o * FL_HIST_SUB + fl_hist_sub(v, o);

		assert_true(bucket == last || bucket == last + 1);
		last = bucket;
	}
	assert_int_equal(fl_hist_octave(UINT64_MAX), FL_HIST_OCTAVES - 1);
	assert_int_equal(fl_hist_sub(UINT64_MAX, FL_HIST_OCTAVES - 1), 31);
}

static void one_value_is_within_its_error(void **unused)
{
	(void)unused;
	for (uint64_t v = 1; v < (uint64_t)1 << 62; v = v * 3 + 1) {
		struct fl_histogram h = { 0 };
		double q;

		assert_true(add(&h, v / 4));
		assert_true(add(&h, v));
		assert_true(add(&h, v * 2));
		q = (double)fl_hist_quantile(&h, 0.5);
		assert_true(q <= (double)v * 65 / 64 && q >= (double)v * 63 / 64);
		fl_hist_free(&h);
	}
}

static void small_values_and_ends_are_exact(void **unused)
{
	struct fl_histogram h = { 0 };

	(void)unused;
	for (uint64_t v = 1; v <= 50; v++)
		assert_true(add(&h, v));
	assert_true(add(&h, 1000003));
	assert_int_equal(fl_hist_quantile(&h, 0.5), 26);
	assert_int_equal(fl_hist_quantile(&h, 0.0), 1);
	assert_int_equal(fl_hist_quantile(&h, 1.0), 1000003);
	assert_int_equal(h.min, 1);
	assert_int_equal(h.max, 1000003);
	fl_hist_free(&h);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of ten, P99 is the tenth: no middle of a bucket. */
static void the_last_of_few_is_the_largest(void **unused)
{
	struct fl_histogram h = { 0 };

	(void)unused;
	for (uint64_t i = 0; i < 10; i++)
		assert_true(add(&h, 5110000 + 2100 * i));
	assert_int_equal(fl_hist_quantile(&h, 0.99), 5128900);
	fl_hist_free(&h);
}

static void quantiles_agree_with_sorting(void **unused)
{
	enum { N = 10000 };
	uint64_t *v = malloc(N * sizeof(*v));
	struct fl_histogram h = { 0 };

	(void)unused;
	srand(7);
	for (int i = 0; i < N; i++) {
		v[i] = (uint64_t)rand() >> (rand() % 20);
		assert_true(add(&h, v[i]));
	}
	qsort(v, N, sizeof(*v), compare);
	for (int p = 1; p < 100; p++) {
		double want = (double)v[(N * p + 99) / 100 - 1];
		double got = (double)fl_hist_quantile(&h, p / 100.0);

		assert_true(got >= want * 63 / 64 && got <= want * 65 / 64);
	}
	fl_hist_free(&h);
	free(v);
}

static void every_value_is_in_a_bucket(void **unused)
{
	struct fl_histogram h = { 0 };
	uint64_t n = 0;

	(void)unused;
	for (uint64_t v = 0; v < 5000; v++)
		assert_true(add(&h, v * v * v));
	for (unsigned o = 0; o < FL_HIST_OCTAVES; o++)
		for (unsigned s = 0; h.octave[o] && s < FL_HIST_SUB; s++)
			n += h.octave[o][s];
	assert_int_equal(n, 5000);
	assert_int_equal(h.n, 5000);
	fl_hist_free(&h);
}

static void merging_with_nothing_changes_nothing(void **unused)
{
	struct fl_histogram some = { 0 }, none = { 0 };

	(void)unused;
	assert_true(add(&some, 40));
	assert_true(fl_hist_merge(&some, &none));
	assert_int_equal(some.min, 40);
	assert_int_equal(some.n, 1);
	assert_true(fl_hist_merge(&none, &some));
	assert_int_equal(none.min, 40);
	assert_int_equal(none.max, 40);
	fl_hist_free(&some);
	fl_hist_free(&none);
}

/* Halves that were gathered apart are the whole. */
static void merging_is_adding(void **unused)
{
	struct fl_histogram whole = { 0 }, half[2] = { { 0 }, { 0 } };

	(void)unused;
	for (uint64_t v = 1; v < 3000; v++) {
		assert_true(add(&whole, v * v));
		assert_true(add(&half[v % 3 == 0], v * v));
	}
	assert_true(fl_hist_merge(&half[0], &half[1]));
	assert_int_equal(half[0].n, whole.n);
	assert_int_equal(half[0].min, whole.min);
	assert_int_equal(half[0].max, whole.max);
	for (int p = 1; p < 100; p++)
		assert_int_equal(fl_hist_quantile(&half[0], p / 100.0),
				 fl_hist_quantile(&whole, p / 100.0));
	fl_hist_free(&whole);
	fl_hist_free(&half[0]);
	fl_hist_free(&half[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_follow_one_another),
		cmocka_unit_test(one_value_is_within_its_error),
		cmocka_unit_test(small_values_and_ends_are_exact),
		cmocka_unit_test(the_last_of_few_is_the_largest),
		cmocka_unit_test(quantiles_agree_with_sorting),
		cmocka_unit_test(every_value_is_in_a_bucket),
		cmocka_unit_test(merging_is_adding),
		cmocka_unit_test(merging_with_nothing_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
