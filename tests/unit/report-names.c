/*
 * A function is shown by a simple name, which is the way to it and its own name, and
 * in full where another function would be called the same; a long one is cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/report.h"

static void expect(const char *name, const char *want)
{
	char *simple = fl_name_simple(name);

	assert_string_equal(simple, want);
	free(simple);
}

static void arguments_and_parameters_are_left_out(void **unused)
{
	(void)unused;
	expect("std::map<int, std::string, std::less<int>, std::allocator<std::pair<int const, "
	       "std::string> > >::operator[](int const&)", "std::map::operator[]");
	expect("void foo<int>(int)", "foo");
	expect("unsigned long bar<std::vector<int> >(std::vector<int> const&) const", "bar");
	expect("int const& A<(Color)1>::get<&(A::operator<(int))>(int) const &", "A::get");
	expect("std::function<void (int)>::operator()(int) const", "std::function::operator()");
	expect("int (*pick<int>(int))(char)", "pick");
	expect("A::f[abi:cxx11](char const*)", "A::f");
	expect("A::~A()", "A::~A");
	expect("h<auto (int)->bool>(int)", "h");
	expect("f<decltype ((p)->x), (a>b)>(int)", "f");
	expect("f(int) [clone .constprop.0]", "f [clone .constprop.0]");
	expect("operator x [clone .cold]", "operator x [clone .cold]");
	expect("operator x [clone )", "operator x [clone )");
	expect("auto f<int>(int) requires (sizeof(int) > 3)", "f");
}

static void operators_keep_what_they_are_of(void **unused)
{
	static const char *const kept[] = {
		"A::operator->", "A::operator->*", "operator<<", "operator<", "operator<=>",
		"operator>>=", "operator()", "operator[]", "operator new[]", "operator delete",
		"A::operator unsigned long", "operator\"\" _km", "operator,", "operators",
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		char with[64];

		expect(kept[i], kept[i]);
		snprintf(with, sizeof(with), "%s(int)", kept[i]);
		expect(with, kept[i]);
		snprintf(with, sizeof(with), "%s <char>(int)", kept[i]);
		if (strncmp(kept[i] + strlen(kept[i]) - 2, "rs", 2))
			expect(with, kept[i]);
	}
	expect("std::ostream& operator<< <char>(std::ostream&, char)", "operator<<");
	expect("A::operator-><int>(int)", "A::operator->");
	expect("A::operator std::vector<int, std::allocator<int> >() const",
	       "A::operator std::vector");
}

static void what_has_no_name_of_its_own_keeps_what_it_is_called(void **unused)
{
	(void)unused;
	expect("(anonymous namespace)::f(int)", "(anonymous namespace)::f");
	expect("void std::call_once<void (T::*)()>(F&, void (T::*&&)())::{lambda(int)#1}::"
	       "operator()(int) const", "std::call_once::{lambda#1}::operator()");
	expect("A::f(int) const &&::{lambda()#2}", "A::f::{lambda#2}");
	expect("non-virtual thunk to B<int>::f(int)", "non-virtual thunk to B::f");
	expect("vtable for B<int>", "vtable for B");
	expect("a for b to c<int>", "a for b to c");
	expect("a for b for c<int>", "a for c");
	expect("guard variable for f(int)::x", "guard variable for f::x");
}

static void rust_keeps_whose_method_it_is(void **unused)
{
	(void)unused;
	expect("<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
	       "<alloc::vec::Vec as core::ops::drop::Drop>::drop");
	expect("core::ptr::drop_in_place::<alloc::string::String>", "core::ptr::drop_in_place");
	expect("core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place");
	expect("<[T]>::len", "<[T]>::len");
	expect("a::<impl b::Debug for u32>::fmt", "a::<impl b::Debug for u32>::fmt");
	expect("<<T as A>::B as C<D>>::f::<E>", "<<T as A>::B as C>::f");
	expect("main::main::{{closure}}", "main::main::{{closure}}");
	expect("<F as FnOnce<(A, B)>>::call_once", "<F as FnOnce>::call_once");
}

static void what_is_not_understood_stays_whole(void **unused)
{
	static const char *const odd[] = {
		"", "main", "[libc.so.6]", "<", "<<", ">", ")", "f<", "f(", "foo::bar<(>", "{",
		"operator", "operator<", "(", "((", "f{", " ", "[unknown]",
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		expect(odd[i], odd[i]);
}

/* ---- of several functions --------------------------------------------------------- */

enum { N = 7 };
static const char *const full[N] = {
	"f(int)", "f(long)", "g<int>()", "main", "A::A()", "A::A()", "f",
};
static const char *const linkage[N] = {
	"_Z1fi", "_Z1fl", "_Z1gIiEvv", "main", "_ZN1AC1Ev", "_ZN1AC2Ev", "f",
};

static void expect_shown(enum fl_demangle how, const char *const *want)
{
	struct fl_names *names = fl_names_make(full, linkage, N, how);

	for (size_t i = 0; i < N; i++)
		assert_string_equal(fl_names_shown(names)[i], want[i]);
	fl_names_free(names);
}

static void what_would_be_equal_is_shown_in_full(void **unused)
{
	static const char *const simple[N] = { "f(int)", "f(long)", "g", "main", "A::A",
					       "A::A", "f" };

	(void)unused;
	expect_shown(FL_DEMANGLE_SIMPLE, simple);
	expect_shown(FL_DEMANGLE_FULL, full);
	expect_shown(FL_DEMANGLE_NO, linkage);
	fl_names_free(fl_names_make(NULL, NULL, 0, FL_DEMANGLE_SIMPLE));
}

/* ---- long ones -------------------------------------------------------------------- */

static void expect_cut(const char *name, size_t columns, const char *want)
{
	char *text;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	assert_int_equal(fl_print_cut(f, name, columns), fl_print_cut(NULL, name, columns));
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

static void long_ones_are_cut(void **unused)
{
	(void)unused;
	expect_cut("abcdefghijklmnopqrstuvwxyz", 0, "abcdefghijklmnopqrstuvwxyz");
	expect_cut("abcdefghijklmnopqrstuvwxyz", 26, "abcdefghijklmnopqrstuvwxyz");
	expect_cut("abcdefghijklmnopqrstuvwxyz", 25, "abcdefghijklmnopqrstuv...");
	expect_cut("abcdefghijklmnopqrstuvwxyz", 1, "abcdefghijklm...");
	/* No character is halved, nor what stands for one. */
	expect_cut("abcdefghijkl\x1b[31mopqrst", 18, "abcdefghijkl...");
	expect_cut("abcdefghijklmn\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 17,
		   "abcdefghijklmn...");
	expect_cut("abcdefghijklm\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 17,
		   "abcdefghijklm\xc3\xa9...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_and_parameters_are_left_out),
		cmocka_unit_test(operators_keep_what_they_are_of),
		cmocka_unit_test(what_has_no_name_of_its_own_keeps_what_it_is_called),
		cmocka_unit_test(rust_keeps_whose_method_it_is),
		cmocka_unit_test(what_is_not_understood_stays_whole),
		cmocka_unit_test(what_would_be_equal_is_shown_in_full),
		cmocka_unit_test(long_ones_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
