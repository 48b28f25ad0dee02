// Functions of libstdc++ that the compiler knows by their bodies, and inlines, have no
// body here: their address is in the library.
#include <cstdio>
#include <map>
#include <string>

__attribute__((noinline)) static std::size_t join(const std::string &a, int n)
{
	std::string s = a;

	for (int i = 0; i < n; i++)
		s += 'x';
	return s.size();
}

int main()
{
	std::map<int, std::string> m;

	for (int i = 0; i < 100; i++)
		m[i] = std::string("key") + std::to_string(i);
	return join(m[7], 20) == 24 ? 0 : 1;
}
