#!/bin/sh
# A folder opened by a side door, or by one who may not, does not pass.
check="$ROOT/tools/check-doors ."
. "$ROOT/tests/tools/tree.inc"

: | put tools/limits
put src/base/base.h <<'END'
#include <stdint.h>
#include "../../include/flick/errors.def"
END
put src/arch/arch.h <<'END'
#include "base/base.h"
#include "arch/x86_64/facts.h"
END
put src/arch/x86_64/flip.c <<'END'
#include "arch/arch.h"
#include "arch/x86_64/emit.h"
END
put src/site/site.h <<'END'
#include "channel/channel.h"
#include "obj/obj.h"
END
put src/patch/commit.c <<'END'
#include "flick/event.h"
#include "flick.h"
#include "patch/sync.h"
#include "sync.h"
#include "site/site.h"
END
put src/cli/main.c <<'END'
#include "probe/probe.h"
#include "report/report.h"
END
clean "doors only, and edges that are in the list"

plant()
{
	cp src/patch/commit.c good.c
	echo "$1" >>src/patch/commit.c
	sees "src/patch/commit.c:6: $2" "$1"
	mv good.c src/patch/commit.c
}
plant '#include "probe/table.h"' 'includes src/probe/table.h; the door is'
plant '#include "../probe/table.h"' 'includes src/probe/table.h; the door is'
plant '#  include "site/../probe/table.h"' 'includes src/probe/table.h'
plant '#include "probe/probe.h"' 'patch may not open the door of probe'
plant '#include "channel/channel.h"' 'patch may not open the door of channel'
plant '#include "cli/cli.h"' 'patch may not open the door of cli'
plant '#include "stage.c"' 'includes src/patch/stage.c, which is no header'
plant '#include "common/common.h"' 'includes src/common/common.h; there is no folder common in EDGES'
plant '#include "../../tests/truth.h"' 'includes tests/truth.h from outside src/ and include/'
plant '#include "arch/x86_64/facts.h"' 'includes src/arch/x86_64/facts.h; the door is src/arch/arch.h'

echo '#include "os/os.h"' >>src/arch/arch.h
sees 'arch may not open the door of os' "the low folders open downwards only"
sed -i '$d' src/arch/arch.h

echo '#include "arch/x86_64/facts.h"' | put src/arch/plan.c
sees 'only src/arch/arch.h chooses a port' "common arch code knows no port"
rm src/arch/plan.c

echo '#include "base/base.h"' | put src/utils/utils.c
sees 'folder utils is not in EDGES' "a folder nobody reviewed"
