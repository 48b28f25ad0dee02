/*
 * unit/session-made: names of code that a program has made, by /tmp/perf-PID.map: of two lines
 * for one place the later one holds, what is no line is left, and a file is read if it can be
 * trusted.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "session/samples/made.h"

static char path[64];

static int name_path(void **unused)
{
	(void)unused;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	return 0;
}

static int remove_map(void **unused)
{
	(void)unused;
	unlink(path);
	return 0;
}

static void write_map(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* The name of one address of this process; "": none. */
static const char *name_of(uint64_t address)
{
	static char name[8192];
	struct fl_made_place place = { .address = address, .pid = getpid() };

	assert_int_equal(fl_made_name(&place, 1), 0);
	snprintf(name, sizeof(name), "%s", place.name ? place.name : "");
	free(place.name);
	return name;
}

static void each_place_has_the_last_line_of_it(void **unused)
{
	(void)unused;
	write_map("1000 100 first\n1100 80 JS:*f g.js:1:2\n1080 100 second\r\n"
		  "fffffffffffff000 1000 last page\n0x2000 0x10 prefixed\n");
	assert_string_equal(name_of(0xfff), "");
	assert_string_equal(name_of(0x1000), "first");
	assert_string_equal(name_of(0x107f), "first");
	assert_string_equal(name_of(0x1080), "second");
	assert_string_equal(name_of(0x117f), "second");
	assert_string_equal(name_of(0x1180), "");
	assert_string_equal(name_of(UINT64_MAX), "last page");
	assert_string_equal(name_of(0), "");
	assert_string_equal(name_of(0x200f), "prefixed");
	assert_string_equal(name_of(0x2010), "");
}

static void what_is_no_line_is_left(void **unused)
{
	char *text;

	(void)unused;
	write_map("\n1000\n1000 10\n1000 10 \n1000  \nxyz 10 a\n1000 zz a\n1000 10\tb\n-\n"
		  "2000 10 two words");		/* its end is missing */
	assert_string_equal(name_of(0x1000), "");
	assert_string_equal(name_of(0x2000), "two words");
	/* A long line is one line: nothing in its middle is taken for another one. */
	assert_true(asprintf(&text, "1000 10 %09000d\n3000 10 next\n", 7) > 0);
	memcpy(text + 4095, "4000 10 x", 9);
	write_map(text);
	free(text);
	assert_int_equal(strlen(name_of(0x1000)), 4095 - 8);
	assert_string_equal(name_of(0x4000), "");
	assert_string_equal(name_of(0x3000), "next");
}

static void places_have_the_map_of_their_process(void **unused)
{
	struct fl_made_place places[] = {
		{ .address = 0x1010, .pid = getpid(), .of = 0 },
		{ .address = 0x1000, .pid = getppid(), .of = 1 },
		{ .address = 0x1000, .pid = getpid(), .of = 2 },
		{ .address = 0x0500, .pid = getpid(), .of = 3 },
	};
	const char *names[ARRAY_LEN(places)];

	(void)unused;
	write_map("1000 10 a\n1010 10 b\n");
	assert_int_equal(fl_made_name(places, ARRAY_LEN(places)), 0);
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		names[places[i].of] = places[i].name;
	assert_string_equal(names[0], "b");
	assert_null(names[1]);
	assert_string_equal(names[2], "a");
	assert_null(names[3]);
	free(places[0].name);
	for (size_t i = 1; i < ARRAY_LEN(places); i++)
		free(places[i].name);
}

static void who_cannot_be_trusted_is_not_read(void **unused)
{
	char other[80];

	(void)unused;
	write_map("1000 10 a\n");
	assert_string_equal(name_of(0x1000), "a");
	assert_int_equal(chmod(path, 0666), 0);
	assert_string_equal(name_of(0x1000), "");
	assert_int_equal(chmod(path, 0644), 0);
	if (!geteuid()) {			/* nobody's, of a process of root's */
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_string_equal(name_of(0x1000), "");
		assert_int_equal(chown(path, 0, 0), 0);
	}
	snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_string_equal(name_of(0x1000), "");
	unlink(path);
	unlink(other);
	assert_int_equal(mkfifo(path, 0600), 0);	/* nobody waits for who writes */
	assert_string_equal(name_of(0x1000), "");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_string_equal(name_of(0x1000), "");
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_place_has_the_last_line_of_it, remove_map),
		cmocka_unit_test_teardown(what_is_no_line_is_left, remove_map),
		cmocka_unit_test_teardown(places_have_the_map_of_their_process, remove_map),
		cmocka_unit_test_teardown(who_cannot_be_trusted_is_not_read, remove_map),
	};

	return cmocka_run_group_tests(tests, name_path, NULL);
}
