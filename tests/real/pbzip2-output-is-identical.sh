#!/bin/sh
# timeout: 900
# pbzip2, threaded, on 50 MB of shared libraries.
. "$(dirname "$0")/lib"
need sqlite3
pbzip2=$(program pbzip2) || { say "$pbzip2"; exit 77; }
libraries 50000000
same_compressed "$pbzip2" -p4 -q -c "$input"
