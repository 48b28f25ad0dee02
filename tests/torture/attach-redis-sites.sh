#!/bin/sh
# attach-redis-sites.sh - attach.sh of redis as tests/real/build makes it of Debian's source,
# each function with the compiler's sites: see there. Its first run compiles it.
#
# timeout: 1200
# alone
program=redis_sites
. "$(dirname "$0")/attach.sh"
