#!/bin/sh
# bodies-of-large-programs.sh - every function of large programs and libraries is built and
# read again (unit/build), some 120,000 of them.
#
# timeout: 600
set -u
cd "$ROOT" || exit 1
FLICK_TORTURE=long "$BUILD/tests/unit/build"
