/*
 * fuzz/text - what people and files say in words: name patterns, globs, names to be
 * demangled, made simple, cut and printed.
 *
 * timeout: 600
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "fuzz.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static FILE *to;
	char *text, *half, *plain, *simple;
	struct fl_pattern p;

	if (n > 1 << 12)
		return 0;
	to = to ? to : fopen("/dev/null", "w");
	text = strndup((const char *)data, n);
	half = text + strlen(text) / 2;
	if (!fl_pattern_parse(&p, text))
		fl_pattern_takes(&p, "/lib/libc.so.6", half, n);
	if (strlen(half) < 64)		/* many stars take long, and are one's own */
		fl_glob(half, strlen(half), text);
	plain = fl_symbols_plain(text);
	if (plain && strlen(plain) > 16 << 10)
		abort();
	free(plain);
	simple = fl_name_simple(text);
	if (!simple || strlen(simple) > strlen(text))
		abort();
	free(simple);
	fl_print_plain(to, text);
	if (n && fl_print_cut(to, text, data[0]) > (data[0] > 16 ? data[0] : 16) && data[0])
		abort();
	fl_json_string(to, text);
	free(text);
	return 0;
}
