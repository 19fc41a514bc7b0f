#!/bin/bash
# tools/count-instructions counts every kind of operation of varve. Usage: count_instructions_test.sh ROOT BUILD_FOLDER
set -euo pipefail

command -v valgrind >/dev/null || { echo "skipped: needs valgrind"; exit 77; }
# In the build folder: O_DIRECT does not work on every /tmp.
scratch=$(mktemp -d -p "$2" count.XXXXXX)
trap 'rm -rf "$scratch"' EXIT

python3 -B "$1/tools/count-instructions" --build "$2" --folder "$scratch" --records 2000 --engines varve \
  --json "$scratch/counts.json"
python3 - "$scratch/counts.json" <<'PYTHON'
import json
import sys

counts = json.load(open(sys.argv[1]))["varve"]
names = [name.partition(":")[0] for name in counts]
for name in ("put", "get, in the memtable", "get, cached", "get, missing", "get, not cached", "scan of 50, cached", "load"):
    assert name in names, (name, counts)
for name, count in counts.items():
    assert 100 < count < 1_000_000, (name, count)
# What must be, whatever the engine does: the device costs more than the cache, 50 entries more than one.
assert counts["get, not cached: thread"] > counts["get, cached: call"] > counts["get, in the memtable: call"], counts
assert counts["scan of 50, cached: thread"] > counts["get, cached: call"], counts
# Each record is put, flushed and merged.
assert counts["load: all threads"] > counts["put: thread"], counts
PYTHON
