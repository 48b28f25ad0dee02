/* What storm loads: one function, which calls another. */
__attribute__((noinline)) int plugin_once(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

int plugin_twice(int n)
{
	return plugin_once(n) * 2;
}
