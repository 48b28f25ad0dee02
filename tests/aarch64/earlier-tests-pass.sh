#!/bin/sh
# What holds on this CPU holds of the AArch64 build: tests of tests/e2e, as they stand, under
# qemu-user. timeout: 400
. "$(dirname "$0")/lib"

sh "$ROOT/tests/aarch64/e2e" calls-of-libraries-are-counted-by-who-calls \
	list-sums-up-bodies-in-json-as-in-text one-liners-count-and-time \
	input-and-pipes-reach-the-target
