#!/bin/sh
# Counts stand for more calls only where they are those of windows: not those that a
# program made before it knew that its functions are counted in windows, as one that
# another has become, nor those that several readers deliver later than one.
# timeout: 60
. "$(dirname "$0")/lib"
no_emulator programs
need sqlite3 "$CC"
target tiny -O2 $sites

label="many short programs:"
cat >"$work/many" <<E2
#!/bin/sh
"$work/tiny" 400
i=0
while [ \$i -lt 100 ]; do
	"$work/tiny" 2
	i=\$((i + 1))
done
"$work/tiny" 300
E2
chmod +x "$work/many"
record --follow -- "$work/many"
succeeded
about tiny

label="several readers:"
record --readers 4 -- "$work/tiny" 1000 6
succeeded
about tiny
