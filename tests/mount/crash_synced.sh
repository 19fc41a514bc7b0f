#!/bin/bash
# kill -9 at a random moment under load: what an acknowledged fsync promised is there, and the store is sound. The load:
# programs that fsync (synced_writer), fio, fsx where it is installed, and a shell that copies and removes trees. Argument:
# the kind of device. The long run: VARVE_CRASH_ROUNDS=50.
source "$(dirname "$0")/library.sh"
kind=$1
rounds=${VARVE_CRASH_ROUNDS:-5}
# Fewer than that in a round say nothing about fsync.
least_promises=100
seed=${VARVE_CRASH_SEED:-$RANDOM}
RANDOM=$seed
echo "seed $seed"

fio_load() {
  (cd "$folder" && exec fio --name=load --directory="$mount_point" --filename=fio.file --size=16m --rw=randrw \
    --bsrange=512-64k --bs_unaligned=1 --ioengine=libaio --iodepth=8 --fsync=16 --time_based --runtime=60 \
    --output=/dev/null) >/dev/null 2>&1
}
fsx_load() {
  exec fsx -f "$(dirname "$0")/fsx.toml" -P "$folder" "$mount_point/fsx.file" >/dev/null 2>&1
}
shell_load() {
  set +e
  for ((copy = 0; ; ++copy)); do
    cp -a "$folder/tree" "$mount_point/tree.$copy" 2>/dev/null || return
    mv "$mount_point/tree.$copy" "$mount_point/moved.$copy" 2>/dev/null || return
    [ "$copy" -lt 3 ] || rm -rf "$mount_point/moved.$((copy - 3))" 2>/dev/null || return
  done
}

make_device "$kind" 3G
"$varve" mkfs "$device" >/dev/null
mkdir "$folder/tree"
for i in {1..60}; do
  head -c $((RANDOM * 2)) /dev/urandom >"$folder/tree/$i"
done
loads=(shell_load)
! command -v fio >/dev/null || loads+=(fio_load)
! command -v fsx >/dev/null || loads+=(fsx_load)

for ((round = 1; round <= rounds; ++round)); do
  # Small memtables, so that flushes and merges are cut short too.
  mount_store -o memtable=1M
  # What earlier rounds were promised holds on.
  for earlier in "$folder"/record.*; do
    [ -e "$earlier" ] || continue
    number=${earlier##*.}
    "$tools/synced_writer" check "$mount_point/round.$number" "$earlier" $((seed + number)) 0 >"$folder/checked" ||
      { cat "$folder/checked" >&2; fail "what round $number was promised no longer holds"; }
  done
  rm -rf "$mount_point"/tree.* "$mount_point"/moved.* "$mount_point"/fio.file "$mount_point"/fsx.file*
  "$tools/synced_writer" write "$mount_point/round.$round" "$folder/record.$round" $((seed + round)) 3 &
  jobs=($!)
  fsx_job=
  for load in "${loads[@]}"; do
    "$load" &
    jobs+=($!)
    [ "$load" != fsx_load ] || fsx_job=$!
  done
  # At a random moment, but not before there are promises to keep.
  sleep "$((1 + RANDOM % 3)).$((RANDOM % 1000 + 1000))"
  while [ "$(wc -l <"$folder/record.$round")" -lt $((2 * least_promises)) ]; do
    kill -0 "${jobs[0]}" 2>/dev/null || fail "the writer ended before the kill"
    sleep 0.1
  done
  kill_daemon $fsx_job
  wait "${jobs[@]}" 2>/dev/null || true
  check_store
  mount_store
  promised=$("$tools/synced_writer" check "$mount_point/round.$round" "$folder/record.$round" $((seed + round)) \
    "$least_promises") || fail "round $round: $promised"
  step "round $round, beside ${loads[*]}: $promised"
  # What a crash leaves is not stirred up by what comes next.
  rm -rf "$mount_point/round.$((round - 3))" "$folder/record.$((round - 3))"
  umount_store
done
