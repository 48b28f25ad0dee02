#!/bin/sh
# What holds on this CPU holds of the AArch64 build: tests of tests/e2e, as they stand, under
# qemu-user: those that take seconds and of which each tells another thing. All of them are
# run by `make check-a64-e2e`, and more of these by `make torture`.
# timeout: 600
. "$(dirname "$0")/lib"

more="calls-of-libraries-are-counted-by-who-calls list-sums-up-bodies-in-json-as-in-text
	one-liners-count-and-time input-and-pipes-reach-the-target
	damaged-results-are-refused a-stale-name-of-the-region-touches-nothing
	an-output-that-cannot-be-is-said-before-the-run
	a-loader-that-cannot-be-armed-changes-nothing"
# shellcheck disable=SC2086
E2E_OPTIONS=$few sh "$ROOT/tests/aarch64/e2e" a-site-may-be-of-several-functions \
	who-asks-a-recorder-that-is-killed-goes-on an-interrupt-ends-both-and-keeps-the-result \
	sites-lead-to-glue-where-little-is-free-near \
	threads-may-stand-inside-when-flick-is-closed latency-is-right-under-recursion \
	${WHOLE:+$more}
