#!/bin/bash
# `varve bench-mount` measures every phase on varve and on the kernel's ext4, writes JSON, and leaves nothing behind,
# also when it is interrupted.
source "$(dirname "$0")/library.sh"
command -v mkfs.ext4 >/dev/null || skip "needs mkfs.ext4"
grep -qw ext4 /proc/filesystems || skip "the kernel has no ext4"

export TMPDIR=$folder
# What the bench leaves: mounts in its folders, the folders, loop devices over files without a name.
remains() {
  grep -o "$folder/varve-bench[^ ]*" /proc/mounts || true
  ls -d "$folder"/varve-bench* 2>/dev/null || true
  losetup --list --noheadings --output BACK-FILE | grep -F "$folder" || true
}
bench() { "$varve" bench-mount --folder "$folder" --device-size 256M --file-sizes 1K --seconds 1 "$@"; }

# check_result FILE ROUNDS RUNS PHASES: the filesystems of each round in order, and how many phases each has.
check_result() {
  python3 - "$@" <<'PYTHON'
import json
import sys

runs = json.load(open(sys.argv[1]))["runs"]
rounds, expected, phases = int(sys.argv[2]), sys.argv[3].split(","), int(sys.argv[4])
found = [(run["filesystem"], run["round"]) for run in runs]
assert found == [(filesystem, number + 1) for number in range(rounds) for filesystem in expected], found
for run in runs:
    names = [phase["name"] for phase in run["phases"]]
    assert len(set(names)) == len(names) == phases, names
    for phase in run["phases"]:
        assert phase["operations"] > 0 and phase["seconds"] > 0, phase
        assert phase["name"].startswith("list") or 0 < phase["latency_us"]["p50"] <= phase["latency_us"]["max"], phase
    assert sum(phase["device"]["written_bytes"] for phase in run["phases"]) > 0, run
PYTHON
}

step "small files, two rounds"
bench --rounds 2 --files 50 --fio-size 0 --filesystems varve,ext4,raw --json "$folder/result.json" >"$folder/out" ||
  { cat "$folder/out" >&2; fail "the bench failed"; }
check_result "$folder/result.json" 2 varve,ext4 11
for phase in create stat "stat again" "open and read" "open and read again" "look up absent names" list "list again" rename remove "create with fsync"; do
  [ "$(grep -c "^round .* $phase 1 KiB" "$folder/out")" -eq 4 ] || fail "$phase did not run on both in each round"
done
grep -q "varve .* x$" "$folder/out" || fail "there is no ratio"
[ -z "$(remains)" ] || fail "it left $(remains)"

if command -v ntfs-3g >/dev/null && command -v mkfs.ntfs >/dev/null; then
  step "ntfs-3g, without and with permissions"
  bench --rounds 1 --files 50 --fio-size 0 --filesystems ntfs-3g,ntfs-3g:permissions --json "$folder/result.json" >"$folder/out" ||
    { cat "$folder/out" >&2; fail "the bench failed"; }
  check_result "$folder/result.json" 1 ntfs-3g,ntfs-3g:permissions 11
  [ -z "$(remains)" ] || fail "it left $(remains)"
fi

passthrough=/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c
if [ -f $passthrough ] && mkdir "$folder/bin" && read -ra flags < <(pkg-config --cflags --libs fuse3) &&
  cc -O1 $passthrough "${flags[@]}" -o "$folder/bin/passthrough_ll" 2>"$folder/out"; then
  step "libfuse's passthrough, over ext4"
  PATH=$folder/bin:$PATH bench --rounds 1 --files 50 --fio-size 0 --filesystems ext4,passthrough --json "$folder/result.json" \
    >"$folder/out" || { cat "$folder/out" >&2; fail "the bench failed"; }
  check_result "$folder/result.json" 1 ext4,passthrough 11
  [ -z "$(remains)" ] || fail "it left $(remains)"
fi

if command -v fio >/dev/null; then
  step "fio on the mount and on the device"
  bench --rounds 1 --files 0 --fio-size 4M --filesystems varve,raw --json "$folder/result.json" >"$folder/out" ||
    { cat "$folder/out" >&2; fail "the bench failed"; }
  check_result "$folder/result.json" 1 "varve,raw device" 7
  [ -z "$(remains)" ] || fail "it left $(remains)"
fi

step "interrupted in the middle of a mount"
"$varve" bench-mount --folder "$folder" --device-size 256M --files 1000000 --filesystems varve >"$folder/out" 2>&1 &
bench=$!
for ((i = 0; i < 200; ++i)); do
  grep -q "$folder/varve-bench" /proc/mounts && break
  sleep 0.05
done
grep -q "$folder/varve-bench" /proc/mounts || { cat "$folder/out" >&2; fail "it did not mount anything"; }
kill -INT $bench
wait $bench && fail "an interrupted bench must not succeed"
grep -q interrupted "$folder/out" || { cat "$folder/out" >&2; fail "it does not say that it was interrupted"; }
[ -z "$(remains)" ] || fail "it left $(remains)"
