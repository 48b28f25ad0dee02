#!/bin/sh
# timeout: 3600
# The e2e test of this name on a larger input.
FLICK_CALLGRIND_BYTES=8000000 exec sh "$(dirname "$0")/../e2e/${0##*/}"
