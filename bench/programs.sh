# programs.sh - the programs that are recorded whole; read after lib.sh.
#
# The seven of paper 1's Table 3: bzip2, sjeng, perl, x264 (for its h264ref)
# from Debian's sources by tests/real/build, nbody, hull and blackscholes from
# bench/programs; and phalanx, another chess program, where sjeng's source
# cannot be had. Each is built twice, with -O2 and with -finstrument-functions
# besides, and has a short and a long run of which every byte of output is
# compared.
#
#	ready NAME			build it, make its input; else false and $why
#	timed_run NAME short|long COMMAND... BINARY
#					run it: $wall, $cpu; else false and $why

programs=${FLICK_PROGRAMS:-"bzip2 sjeng phalanx perl x264 nbody hull blackscholes"}
inputs=$out/inputs
times=$scratch/times
output=$scratch/output
export PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0
export ASAN_OPTIONS=verify_asan_link_order=0	# flick's; perl makes calls for each variable

# ---- building -------------------------------------------------------------------

build_steady() {
	[ "$out/steady.so" -nt "$top/bench/programs/steady.c" ] || gcc -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -shared -I"$top/bench" \
		"$top/bench/programs/steady.c" "$top/bench/bench.c" -lm \
		-o "$out/steady.so"
}

build_own() {	# NAME KIND FLAGS...
	own=$out/$2/$1
	mkdir -p "${own%/*}"
	[ "$own" -nt "$top/bench/programs/$1.c" ] || gcc -std=gnu11 -O2 \
		$3 "$top/bench/programs/$1.c" -lm -o "$own"
}

build_real() {	# NAME
	FLICK_REAL="$build/real" sh "$top/tests/real/build" "$1" 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		why=${why#skip: }
		return 1
	}
}

# Sets $plain and $probed.
build_program() {	# NAME
	case $1 in
	nbody|hull|blackscholes)
		build_own "$1" plain "" && plain=$own &&
		build_own "$1" probed -finstrument-functions && probed=$own ||
			{ why="it does not compile"; return 1; } ;;
	*)
		real=$1
		[ "$1" != perl ] || real=miniperl
		build_real "$real-plain" >"$scratch/path" || return 1
		plain=$(cat "$scratch/path")
		build_real "$real" >"$scratch/path" || return 1
		probed=$(cat "$scratch/path") ;;
	esac
}

# ---- input -------------------------------------------------------------------------

libraries() {	# BYTES
	[ -s "$inputs/libraries.$1" ] && return
	find /usr/lib -name '*.so*' -type f -size +20k | LC_ALL=C sort |
		xargs cat 2>/dev/null | head -c "$1" >"$inputs/libraries.$1"
	[ "$(wc -c <"$inputs/libraries.$1")" -eq "$1" ] && return
	rm "$inputs/libraries.$1"
	why="fewer than $1 bytes of shared libraries"
	return 1
}

make_clip() {
	[ -s "$inputs/clip.y4m" ] && return
	gcc -O2 "$top/bench/programs/clip.c" -o "$out/clip" &&
	"$out/clip" 176 144 200 >"$inputs/clip.y4m"
}

make_input() {	# NAME
	why="no input"
	case $1 in
	bzip2) libraries 5000000 && libraries 12000000 ;;
	x264) make_clip ;;
	phalanx|sjeng)
		for depth in 11 13; do
			sed "s/DEPTH/$depth/" "$top/bench/programs/positions" \
				>"$inputs/chess.$depth" || return 1
		done ;;
	esac
}

ready() {	# NAME
	mkdir -p "$inputs"
	build_steady || { why="steady.c does not compile"; return 1; }
	if [ "$1" = phalanx ] && [ "${has_sjeng-}" ]; then
		why="sjeng itself is there"
		return 1
	fi
	build_program "$1" && make_input "$1" || return
	[ "$1" != sjeng ] || has_sjeng=yes
}

# ---- running --------------------------------------------------------------------------

# Sets $arguments and $stdin.
choose() {	# NAME short|long
	stdin=/dev/null
	case $1.$2 in
	bzip2.short) arguments="-kc $inputs/libraries.5000000" ;;
	bzip2.long) arguments="-kc $inputs/libraries.12000000" ;;
	bzip2.huge) arguments="-kc $inputs/libraries.30000000" ;;
	perl.short) arguments="$top/bench/programs/words.pl 2000" ;;
	perl.long) arguments="$top/bench/programs/words.pl 30000" ;;
	x264.short) x264_arguments 8 ;;
	x264.long) x264_arguments 100 ;;
	phalanx.*|sjeng.*)
		arguments="-x- -b- -l- -o- -p-"
		[ "$1" = phalanx ] || arguments=
		stdin=$inputs/chess.11
		[ "$2" = short ] || stdin=$inputs/chess.13 ;;
	nbody.short) arguments="1000 6" ;;
	nbody.long) arguments="3000 50" ;;
	hull.short) arguments="300000 3" ;;
	hull.long) arguments="300000 40" ;;
	blackscholes.short) arguments="50000 50" ;;
	blackscholes.long) arguments="50000 500" ;;
	esac
}

x264_arguments() {	# FRAMES
	arguments="--threads 1 --quiet --no-progress --frames $1 -o - $inputs/clip.y4m"
}

# What of the output says whether a run was right: of chess not the clock.
sum_of_output() {	# NAME
	case $1 in
	phalanx|sjeng) grep -a -o 'PV.*\|Nodes=[0-9]*\|move is .*' "$output" | cksum ;;
	*) cksum <"$output" ;;
	esac
}

# Fails when the command does, or when the program wrote something else than at
# its first run of this length. $preload is what else is
# preloaded, ":NAME".
timed_run() {	# NAME LENGTH COMMAND... BINARY
	name=$1 length=$2
	shift 2
	choose "$name" "$length"
	for binary; do :; done
	(cd "$scratch" && STEADY=${binary##*/} LD_PRELOAD=$out/steady.so${preload-} \
		exec "$out/timed" "$times" "$@" $arguments) \
		<"$stdin" >"$output" 2>"$scratch/log" || {
		why="$(last_line "$scratch/log")"
		return 1
	}
	read -r wall cpu <"$times"
	sum=$(sum_of_output "$name")
	[ -e "$scratch/$name.$length.sum" ] || echo "$sum" >"$scratch/$name.$length.sum"
	[ "$sum" = "$(cat "$scratch/$name.$length.sum")" ] || {
		why="the output is not the plain run's"
		return 1
	}
}

# The two that all else is compared with.
baselines() {	# NAME LENGTH
	timed_run "$1" "$2" "$plain" || return
	plain_wall=$wall plain_cpu=$cpu
	timed_run "$1" "$2" "$probed" || return
	probed_wall=$wall probed_cpu=$cpu
}

add_percents() {	# NAME
	add "$1" "$(calc "100 * ($wall / $probed_wall - 1)")"
	add "$1.cpu" "$(calc "100 * ($cpu / $probed_cpu - 1)")"
	add "$1.o2" "$(calc "100 * ($wall / $plain_wall - 1)")"
	add "$1.o2.cpu" "$(calc "100 * ($cpu / $plain_cpu - 1)")"
}

add_factors() {	# NAME
	add "$1" "$(calc "$wall / $probed_wall")"
	add "$1.cpu" "$(calc "$cpu / $probed_cpu")"
	add "$1.o2" "$(calc "$wall / $plain_wall")"
	add "$1.o2.cpu" "$(calc "$cpu / $plain_cpu")"
}
