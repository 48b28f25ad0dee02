#!/bin/sh
# Who may not be entered is told why, in one line, with what to do: another user's program, one
# that has gained rights, and whatever Yama forbids. The program runs on. Root alone can make
# each of these.
. "$(dirname "$0")/lib"
no_emulator ptrace
need "$CC" unshare setpriv
[ "$(id -u)" -eq 0 ] || skip "root alone can make these"
cat >"$work/waits.c" <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	puts("begun");
	fflush(stdout);
	for (;;)
		pause();
}
END
chmod 755 "$work"
compile "$work/waits" "$work/waits.c" -O1
cp "$work/waits" "$work/gains"
chown 65534 "$work/gains"
chmod 4755 "$work/gains"
target deny -O2
mkfifo "$work/from"
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
mkdir "$work/theirs" && chown 65534 "$work/theirs"

begin() {	# COMMAND...
	"$@" >"$work/from" &
	pid=$!
	exec 8<"$work/from"
	read -r line <&8
	exec 8<&-
	[ "$line" = begun ] || fail "$*: it does not run"
}

refused() {	# SENTENCE FLICK...
	sentence=$1
	shift
	run "$@" record -p $pid -d 0.1 -o "$work/theirs/data"
	[ $status -eq 1 ] || fail "$sentence: status $status"
	[ "$(wc -l <"$err")" -eq 1 ] || fail "$sentence: more than a line"
	grep -q -e "$sentence" "$err" || fail "$sentence: another reason"
	[ ! -e "$work/theirs/data" ] || fail "$sentence: results of nothing are kept"
	case $(awk '{ print $3 }' /proc/$pid/stat) in
	[SR]) ;;
	*) fail "$sentence: it does not run on" ;;
	esac
}

end() {
	kill -KILL $pid
	wait $pid 2>/dev/null
}

begin "$work/gains"
refused 'set-user-ID' "$FLICK"
end

# Nobody's own; flick has root's rights, and the region would be root's.
begin $nobody "$work/waits"
refused 'sudo -u nobody' "$FLICK"
end
begin setpriv --reuid 4242 --regid 4242 --clear-groups "$work/waits"	# has no name
refused "is of user '#4242': .*sudo -u '#4242' flick" "$FLICK"
end

if $nobody test -x "$FLICK"; then
	begin "$work/waits"
	refused 'is of user root: .*sudo -u root flick' $nobody "$FLICK"
	end
	# Root is refused another user's, so nobody is sent there.
	begin setpriv --reuid 4242 --regid 4242 --clear-groups "$work/waits"
	refused "is of user '#4242': .*sudo -u '#4242' flick" $nobody "$FLICK"
	end
fi

# A root of few rights, as a container's.
begin $nobody "$work/waits"
refused 'cannot read which program .* not even as root' \
	setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$FLICK"
end

# A service that has given most of root's away; what it is told to do helps.
begin setpriv --bounding-set=-all,+net_bind_service "$work/waits"
sentence='fewer capabilities than flick.*(setpriv --bounding-set=-all,+cap_10 flick ...)'
refused "$sentence" "$FLICK"
run setpriv --bounding-set=-all,+cap_10 "$FLICK" record -p $pid -d 0.1 -o "$data"
[ $status -eq 0 ] || fail "who has the same capabilities is refused: status $status"
end

# Yama's setting is read where it is always read, in a namespace where another file is there;
# that nobody may trace is made by a filter.
cat >"$work/yama" <<'END'
mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama || exit 77
"$work/waits" >"$work/from" &
echo $! >"$work/pid"
while ! grep -q /libc.so /proc/$!/maps; do
	kill -0 $! || exit 1
done
for scope in 0 1 2 3; do
	echo $scope >/proc/sys/kernel/yama/ptrace_scope
	"$work/deny" ptrace "$FLICK" record -p $! -d 0.1 -o "$work/data" 2>"$work/said.$scope"
	echo $? >"$work/status.$scope"
	awk '{ print $3 }' /proc/$!/stat >"$work/state.$scope"
done
kill -KILL $!
END
export work FLICK
{ unshare -m sh "$work/yama"; echo $? >"$work/done"; } 8>&- &
exec 8<"$work/from"
read -r line <&8
wait $!
exec 8<&-
[ "$(cat "$work/done")" -ne 77 ] || skip "no file system can be mounted: Yama is not faked"

explained() {	# SCOPE SENTENCE
	cp "$work/said.$1" "$err"
	[ "$(cat "$work/status.$1")" -eq 1 ] || fail "scope $1: status $(cat "$work/status.$1")"
	[ "$(wc -l <"$err")" -eq 1 ] || fail "scope $1: more than a line"
	grep -q -e "$2" "$err" || fail "scope $1: another reason"
	grep -q '[SR]' "$work/state.$1" || fail "scope $1: it does not run on"
}
explained 0 'may not trace process'
explained 1 'ptrace_scope is 1, .*sudo sysctl kernel.yama.ptrace_scope=0'
explained 2 'ptrace_scope is 2: root alone may'
explained 3 'ptrace_scope is 3: nobody may until the next boot'
! grep -q yama "$work/said.0" || fail "Yama allows it, and is blamed"
