#!/bin/bash
# Every workload, small, on an image file as any user; beside the peers on a loop device where root may make one.
# Prints TAP. Usage: bench_runs_test.sh VARVE
set -uo pipefail

varve=$(realpath "$1")
# In the build folder: O_DIRECT does not work on every /tmp.
scratch=$(mktemp -d -p "$PWD" bench.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

number=0
claim() {
  local name=$1
  shift
  number=$((number + 1))
  if "$@" >claim.out 2>&1; then
    echo "ok $number $name"
  else
    echo "not ok $number $name"
    { echo "# $name: $*"; head -n 30 claim.out; } >&2
  fi
}
skip() {
  number=$((number + 1))
  echo "ok $number $1 # SKIP $2"
}
bench() { timeout 100 "$varve" bench "$@"; }
# json FILE EXPRESSION: true in Python, where `runs` is what the file has and `phase(engine, name)` one of its phases.
json() {
  python3 - "$1" "$2" <<'PYTHON'
import json, sys
document = json.load(open(sys.argv[1]))
runs = document["runs"]
def phases(engine): return [p for run in runs if run["engine"] == engine for p in run["phases"]]
def phase(engine, name): return next(p for p in phases(engine) if p["name"] == name)
value = eval(sys.argv[2])
print(value)
sys.exit(0 if value else 1)
PYTHON
}

# A limit that is enough for an instrumented build.
sizes=(--memtable 1M --table-size 1M --level1 4M --cache 1M --value-size 100-300 --memory-limit 2G)
small=(--number 5000 "${sizes[@]}")
workloads=fillseq,fillrandom,overwrite,settle,readrandom,readmissing,readhot,readwrite,seekrandom,scan
workloads+=,ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-e,ycsb-f,update-latest,update-zipf,rangehot,readwhilewriting,scanwhilewriting,reopen,crash,readrandom
truncate -s 512M image

claim "every workload runs on varve" \
  bench --device image --engines varve "${small[@]}" --workloads $workloads --deletes 5 --json all.json
claim "each has its phase, in order" json all.json \
  "[p['name'] for p in phases('varve')] == '$workloads'.split(',')"
claim "after fillseq every key is found; deletes take some away" json all.json \
  "4000 < phase('varve', 'readrandom')['found'] < 5000"
claim "no missing key is found" json all.json "phase('varve', 'readmissing')['found'] == 0"
claim "each seek of 50 reads 50 entries, but for the last ones" json all.json \
  "240000 < phase('varve', 'scan')['scanned_entries'] <= 250000"
claim "a run with a crash" bench --device image --engines varve "${small[@]}" --workloads fillseq,crash,readrandom --json crash.json
claim "has every key afterwards" json crash.json "phase('varve', 'readrandom')['found'] == 5000"

claim "an image that this tool used is taken again" bench --device image --engines varve "${small[@]}" --workloads fillseq
"$varve" mkfs --force image >/dev/null
claim "a store that somebody made is refused" sh -c \
  "! '$varve' bench --device image --engines varve --number 10 2>err && grep -q 'holds a varve store' err"
claim "and taken with --force" bench --device image --force --engines varve "${small[@]}" --workloads fillseq

claim "two threads with four requests each, for a second at a given rate" bench --device image --engines varve "${small[@]}" \
  --threads 2 --depth 4 --duration 1 --rate-limit 5000 --operations 1000000 --workloads fillrandom,readrandom --json rate.json
claim "keep the rate and the time" json rate.json \
  "0 < phase('varve', 'readrandom')['operations_per_second'] <= 5200 and 0.9 < phase('varve', 'readrandom')['seconds']"
claim "as many reads as were asked for" bench --device image --engines varve "${small[@]}" --operations 3000 --reads 700 \
  --workloads fillseq,readrandom,readwrite,update-zipf --json reads.json
claim "and of the others as many as of those" json reads.json "[p['operations'] for p in phases('varve')] == [5000, 700, 3000, 3000]"
claim "synced writes run" bench --device image --engines varve --number 200 --sync --workloads fillrandom
# A plain file in place of the control group's.
worker_limits() {
  "$varve" mkfs --force image >/dev/null && "$(dirname "$varve")/varve-bench-worker" --engine varve --place image \
    --number 1000 --memtable 1M --cache 1M --memory-limit-file limit --workloads "$1" && grep -qx "$2" limit
}
claim "memory is limited to cache, three write buffers and 64 MiB" worker_limits fillseq,settle $((68 << 20))
claim "also in reads while writes may be on their way" worker_limits fillseq,readrandom $((68 << 20))
claim "and to two write buffers less in reads of a settled store" worker_limits fillseq,settle,readrandom $((66 << 20))
claim "Monkey runs beside itself without" bench --device image --force --engines varve:none,varve:monkey --number 160000 \
  --value-size 100 --memtable 128K --table-size 128K --level1 256K --cache 1M --memory-limit 2G \
  --workloads fillrandom,settle,readmissing --json monkey.json
claim "with filters of as much memory" json monkey.json \
  "all(9 < sum(level['filter_bytes'] for level in levels)
       / sum(level['filter_bytes'] / level['filter_bits_per_key'] for level in levels if level['filter_bytes'] > 0) < 10.3
       for levels in (phase(run['engine'], 'readmissing')['levels'] for run in runs))"
# How much of the keys a small level holds when it has settled differs from run to run: of a get that asks them all.
claim "that mislead fewer gets" json monkey.json \
  "(sums := [sum(level['filters_misled'] / level['filters_asked']
                 for level in phase(engine, 'readmissing')['levels'] if level['filters_asked'] > 0)
             for engine in ('varve:monkey', 'varve:none')]) and sums[0] < 0.8 * sums[1]"
claim "engines on one device cannot take turns" sh -c \
  "! '$varve' bench --device image --interleave --engines varve 2>err && grep -q 'a device for each' err"
claim "nor can one that is to crash" sh -c \
  "! '$varve' bench --memory 64M --interleave --engines varve --workloads fillseq,crash 2>err && grep -q 'crash ends' err"
claim "an unknown workload is refused" sh -c "! '$varve' bench --device image --workloads fillbackwards"

if [ -n "${VARVE_SEEKS_RACES:-}" ]; then
  skip "peers run too" "their libraries are not instrumented: what ThreadSanitizer sees in them means nothing"
elif [ "$(id -u)" -eq 0 ] && [ -e /dev/loop-control ] && command -v mkfs.ext4 >/dev/null; then
  mkdir temporary
  # Some tables: a table that is written between two phases is counted in neither.
  TMPDIR=$PWD/temporary bench --memory 512M --number 20000 "${sizes[@]}" \
    --engines varve,rocksdb,rocksdb:universal,leveldb --workloads fillrandom,settle,readrandom,crash,readrandom \
    --json peers.json >peers.out 2>peers.err
  if grep -q 'built without' peers.out; then
    skip "peers run too" "built without them"
  elif grep -q 'cannot make loop devices\|cannot attach\|cannot mount' peers.err; then
    skip "peers run too" "no loop devices or mounts here"
  else
    claim "peers run too" json peers.json \
      "[r['engine'] for r in runs] == ['varve', 'rocksdb', 'rocksdb:universal', 'leveldb'] and not any('error' in r for r in runs)"
    claim "engines take turns" bench --memory 256M --interleave --rounds 2 --number 20000 "${sizes[@]}" \
      --engines varve:none,rocksdb,varve:block --workloads fillseq,settle,readrandom,reopen,readmissing --json turns.json
    claim "each does all of them" json turns.json \
      "([(r['engine'], r['round']) for r in runs] == [(e, n) for n in (1, 2) for e in ('varve:none', 'rocksdb', 'varve:block')]
       and all([p['name'] for p in r['phases']] == 'fillseq,settle,readrandom,reopen,readmissing'.split(',') for r in runs)
       and all(r['phases'][2]['found'] == 20000 and 'error' not in r for r in runs))"
    claim "an engine settles in its own turn" sh -c "'$varve' bench --memory 256M --interleave --number 100000 --memtable 1M \
      --table-size 1M --level1 2M --cache 4M --memory-limit 2G --engines varve:none,varve:none --workloads fillrandom,settle --json settled.json"
    claim "what it writes then is counted" json settled.json \
      "min(w := [r['phases'][1]['device']['written_bytes'] for r in runs]) > 0.2 * max(w) > 1 << 20"
    claim "all find the same keys" json peers.json "len({phase(r['engine'], 'readrandom')['found'] for r in runs}) == 1"
    claim "RocksDB's universal style merges into its last level at once" json peers.json \
      "[max(level['level'] for level in phase(engine, 'settle')['levels'] if level['bytes'] > 0) > 2
        for engine in ('rocksdb', 'rocksdb:universal')] == [False, True]"
    # Once settled: what a fill wrote can wait in the page cache when it ends.
    claim "all wrote to the device" json peers.json \
      "all(sum(phase(r['engine'], name)['device']['written_bytes'] for name in ('fillrandom', 'settle'))
           > 0.5 * phase(r['engine'], 'fillrandom')['user_bytes'] for r in runs)"
    claim "and nothing of it is left" sh -c "[ -z \"\$(ls temporary)\" ] && ! grep -q '$PWD/temporary' /proc/mounts"
  fi
else
  skip "peers run too" "needs root, loop devices and mkfs.ext4"
fi
echo "1..$number"
