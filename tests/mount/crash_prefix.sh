#!/bin/bash
# After the daemon is killed without a sync, what is left is a prefix of what was done, at most the commit interval
# short, and the store is sound. Argument: the kind of device.
source "$(dirname "$0")/library.sh"
kind=$1
rounds=${VARVE_CRASH_ROUNDS:-4}
commit_seconds=0.5

make_device "$kind" 2G
for ((round = 1; round <= rounds; ++round)); do
  step "round $round"
  "$varve" mkfs --force "$device" >/dev/null
  # Small memtables, so that flushes and merges are cut short too.
  mount_store -o "commit=$commit_seconds,memtable=1M"
  "$tools/numbered_operations" write "$mount_point" "$round" >"$folder/answered" &
  writer=$!
  sleep "$((round)).3"
  durable_before=$(tail -n 1 "$folder/answered")
  # What was answered before this moment is older than an interval at the kill.
  sleep 1.2
  kill_daemon
  wait $writer || true
  answered=$(tail -n 1 "$folder/answered")
  check_store
  mount_store
  # The operation under way at the kill may have been carried out too.
  "$tools/numbered_operations" check "$mount_point" "$round" "$durable_before" $((answered + 1)) ||
    fail "$answered operations were answered, $durable_before of them long before the kill"
  umount_store
done
