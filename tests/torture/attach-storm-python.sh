#!/bin/sh
# attach-storm-python.sh - attach-storm.sh of python3, whose threads do the same by way of the
# interpreter: see there.
#
# timeout: 1800
# alone
program=python
. "$(dirname "$0")/attach-storm.sh"
