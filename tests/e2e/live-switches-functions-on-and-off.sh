#!/bin/sh
# In flick live a key switches the function under the cursor off, and on; another one all
# that a filter shows. What is off is not counted; when the program is left nothing of it
# is on, and it runs as if flick had never been there.
. "$(dirname "$0")/lib"
. "$(dirname "$0")/lib-live"
target lively -O1 $sites
screen 80 24

label="sampled:"
enter "clear; '$FLICK' live -s name -d 0.3 --provider=cyg ./lively"
see '^>on .* inner$'
press Space
see '^1 function off: [1-9][0-9]* probes switched in [0-9]* us$'
see '^>off  *0 .* inner$'		# its calls are counted no more
see '^ on .*[1-9][^ ]* .* outer$'	# others' are
see '5 functions, 4 on'
press Space
see '^1 function on: '
see '^>on  *[1-9][0-9.k]* .* inner$'
press f
press -l e
press Enter
see '4 of 5 functions (e)'
press a
see '^4 functions off: '
see ' off  *0 .* outer$'
see ' off  *0 .* rest$'
press f C-u Enter
see '5 functions, 1 on'
press End k k
see '^>off .* outer$'
press Space
see '^>on  *[1-9][0-9.k]* .* outer$'
see '^ off  *0 .* inner$'
press q
see "goes on, without probes"
pid=$(tr -d '\n' <"$out" | sed -n 's/.*lively (\([0-9]*\)) goes on.*/\1/p')
[ -d "/proc/$pid" ] || fail "the program has ended"
kill "$pid"

label="every call:"
enter "clear; '$FLICK' live --all -s name -d 0.3 --provider=cyg ./lively"
see '^>on .* inner$'
press j j Space
see '^>off  *0 .* outer$'
see '^ on  *[1-9].* inner$'
press Space
see '^>on  *[1-9].* outer$'
press C-c
see '^events: [0-9]* produced, [0-9]* delivered, 0 lost'

# What was left out can be switched on.
label="left out:"
enter "clear; '$FLICK' live -s name -d 0.3 -P inner --provider=cyg ./lively"
see '^>on .* inner$'
press j j
see '^>off .* outer$'
press Space
see '^>on  *[1-9].* outer$'
press C-c
see '^events: '
