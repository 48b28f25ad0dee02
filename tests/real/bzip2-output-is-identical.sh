#!/bin/sh
# timeout: 900
# bzip2 on 50 MB of shared libraries: every byte, under every kind of record.
. "$(dirname "$0")/lib"
need sqlite3
bzip2=$(program bzip2) || { say "$bzip2"; exit 77; }
libraries 50000000
same_compressed "$bzip2" -c "$input"
