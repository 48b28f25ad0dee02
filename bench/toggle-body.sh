#!/bin/sh
# toggle-body.sh - toggle-body.c, and the library of which it switches functions.
set -eu
exec "$BUILD/bench/toggle-body" "$BUILD/bench/toggle-body.so" "$@"
