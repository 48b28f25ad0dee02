/* self-lib.c - what self.c loads and unloads: a function that has sites. */
int self_lib(int x);

__attribute__((noinline)) int self_lib(int x)
{
	return x + 1;
}
