#!/bin/sh
# flick live on 80 and 40 columns, with and without colours: the table, its order, a
# filter, a search, what a function's calls took; on no screen one line, and no run.
. "$(dirname "$0")/lib"
. "$(dirname "$0")/lib-live"
target lively -O1 $sites

screen 80 24
enter "clear; '$FLICK' live -s name --provider=cyg ./lively"
golden <<'END'
lively N s: N functions, N on, by name
     calls/s    avg    p99  total self% recent   function
>on  ########################################### inner
 on  ########################################### main
 on  ########################################### outer
 on  ########################################### rest
 on  ########################################### seldom















N events/s, N toggles/s,
q leave  ? help  space on/off  s order  f filter  / search  enter times
END

# The cursor is a function's: it goes along. By calls the most frequent is the first.
press j j
see '^>on .* outer$'
press s
see 'by self$'
press s s
see 'by calls$'
till=$(($(date +%s) + LIMIT))
while shown && [ "$(sed -n 3p "$out" | awk '{ print $NF }')" != inner ]; do
	[ "$(date +%s)" -lt $till ] || fail "inner is called most, and is not the first"
done
see '^>on .* outer$'
press Home r
see '^>on .* inner$'
press r

# A filter is in force as it is typed; Escape takes it back.
press f
press -l 'er'
see '^filter: er_'
not_see ' main$'
see '2 of 5 functions (er)'
press Escape
see ' main$'
press f
press -l '*e*'
press Enter
see '4 of 5 functions'		# what has an e: not main
press f C-u Enter
see ' main$'

press /
press -l 'sel'
press Enter
see '^>on .* seldom$'
press /
press -l 'nobody'
press Enter
see 'no function here matches `nobody`'
press /
press -l 'outer'
press Enter
see '^>on .* outer$'
press Enter
see '^flick live: outer$'
see '-> .*|\*\**.*|$'
press Escape
see '^>on .* outer$'
press c
see 'flick live --all times every call'
press x
press +
see 'budget: 5 %'
press - -
see 'budget: 1 %'
press o
see '^lively: 0 letters to read$'
see '^lively: an error that is none$'
press x
press '?'
see '^keys of flick live$'
press x
see '^>on .* outer$'

label="40 columns:"
press Home s s s
see 'by name$'
mux resize-window -x 40 -y 10
golden <<'END'
lively N s: N functions, N on, by name
     calls/s    avg function
>on  ############## inner
 on  ############## main
 on  ############## outer
 on  ############## rest
 on  ############## seldom

N events/s, N toggles/s,
q leave  ? help  space on/off  s ord...
END
mux resize-window -x 20 -y 4		# no room for all: nothing breaks
press j k
mux resize-window -x 80 -y 24
see '^>on .* inner$'
press q
see 'goes on, without probes; what it writes'
kill "$(sed -n 's/.*(\([0-9]*\)) goes on.*/\1/p' "$out")"

label="--all:"
enter "clear; TERM=vt100 NO_COLOR=1 '$FLICK' live --all -s name -P '*er' --provider=cyg ./lively 2000000"
see '^>on .* inner$'
see 'by name$'
press c
see '^ .* outer$'
not_see "$(printf '\033')"
mux capture-pane -pe | grep -q "$(printf '\033')\[[0-9;]*[34][1-6]m" && fail "colours, and NO_COLOR is set"
press x
press C-c
see '^events: '

label="no terminal:"
for term in dumb '' no-such-terminal; do
	enter "clear; TERM=$term '$FLICK' live ./lively; echo status \$?"
	see '^status 1$'
	see '^flick: .*(TERM)'
done
run "$FLICK" live ./lively
one_line_error 1 'needs a terminal.*flick record'
run "$FLICK" live
one_line_error 2 'no program given'
