#!/bin/sh
# What `plt:` cannot have is one line: times, programs without stubs, static ones.
. "$(dirname "$0")/lib"
need "$CC"
[ "$(uname -m)" = x86_64 ] || skip "stubs of this CPU have no probes"

target stubs -O1 -fno-builtin
label="latency:"
run "$FLICK" latency plt:labs -- "$work/stubs"
one_line_error 1 'entry probes? only.*-a counts'
! grep -q '^count' "$out" || fail "$label the program ran for nothing"
label="a pattern that names none:"
run "$FLICK" count plt:nonsense -- "$work/stubs"
one_line_error 1 'nonsense@plt.*no stub'
label="list:"
run "$FLICK" list "$work/stubs" plt:labs
succeeded
grep -q ' plt .* labs@plt$' "$out" || fail "$label it does not show the stub"
run "$FLICK" list "$work/stubs"
! grep -q '@plt' "$out" || fail "$label it shows stubs that nobody asked for"
label="nobody asks:"
run "$FLICK" count '*' -- "$work/stubs"
succeeded
! grep -q '^[a-z_]*@plt ' "$out" || fail "$label stubs are counted"
label="a regular expression:"
run "$FLICK" count -r 'plt:la.s|strl.n' -- "$work/stubs"
succeeded
[ "$(grep -cE '^(labs|strlen)@plt ' "$out")" -eq 2 ] || fail "$label not two functions"

target stubs -O1 -fno-builtin -fno-plt
label="-fno-plt:"
run "$FLICK" count plt:labs -- "$work/stubs"
one_line_error 1 'labs@plt.*no stub'
compile "$work/static" "$targets/stubs.c" -O1 -static -fno-builtin
label="static:"
run "$FLICK" count plt:labs -- "$work/static"
one_line_error 1 'linked statically'
