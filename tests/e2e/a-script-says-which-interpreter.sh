#!/bin/sh
# A script is run by an interpreter without sites: one line, no hang.
. "$(dirname "$0")/lib"
no_emulator programs
printf '#!/bin/sh\necho hello\n' >"$work/script"
chmod +x "$work/script"
record $compilers -- "$work/script"
one_line_error 1 'sh'
grep -q -- '--follow records' "$err" || fail "it does not say what records its programs"
