#!/bin/sh
# attach-nginx.sh - attach.sh of nginx: see there.
#
# timeout: 900
# alone
program=nginx
. "$(dirname "$0")/attach.sh"
