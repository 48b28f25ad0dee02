/* A library with sites for targets/text.c. */
int library_leaf(int x) { return x; }
int library_work(int x) { return library_leaf(x) + 1; }
