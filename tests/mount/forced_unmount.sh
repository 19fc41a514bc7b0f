#!/bin/bash
# A forced unmount takes the mount away from a daemon that still runs: the kernel's claim on the device ends with the mount,
# and nobody else may write to the device until the daemon has ended.
source "$(dirname "$0")/library.sh"

make_device loop512 512M
# Like a disk: without a name there is no image whose lock could protect the store.
rm "$folder/device.img"
"$varve" mkfs "$device" >/dev/null

# expect_held PID COMMAND…: the command is refused, and says which process must end first. A mount that succeeds keeps what
# it was given for its output: no pipe.
expect_held() {
  local pid=$1
  shift
  ! "$@" >"$folder/said" 2>&1 || fail "this succeeded while process $pid had the device: $*"
  grep -q "in use.*process $pid" "$folder/said" || fail "\"$*\" does not name process $pid: $(cat "$folder/said")"
}
# Everything that would write.
expect_refusals() {
  expect_held "$1" "$varve" mount "$device" "$mount_point"
  expect_held "$1" "$varve" fsck --repair "$device"
  expect_held "$1" "$varve" mkfs --force "$device"
  expect_held "$1" "$varve" bench --device "$device" --engines varve --force
}
end_stopped_daemon() {
  kill -CONT "$1"
  wait_until_gone "$1" "after a forced unmount"
  check_store
}

step "umount -f while the daemon is stopped"
mount_store
echo kept >"$mount_point/file"
sync -f "$mount_point"
pid=$(daemon_pid)
kill -STOP "$pid"
umount -f "$mount_point"
expect_refusals "$pid"

step "the device under another name"
if mknod "$folder/copy" b $((0x$(stat -c %t "$device"))) $((0x$(stat -c %T "$device"))) 2>/dev/null; then
  expect_held "$pid" "$varve" mount "$folder/copy" "$mount_point"
fi
ln -s "$device" "$folder/link"
expect_held "$pid" "$varve" mount "$folder/link" "$mount_point"
end_stopped_daemon "$pid"

step "varve umount --force says that a stopped daemon keeps the device"
mount_store
[ "$(cat "$mount_point/file")" = kept ] || fail "the file is lost"
pid=$(daemon_pid)
kill -STOP "$pid"
"$varve" umount --force "$mount_point" 2>"$folder/said"
grep -q "has not ended" "$folder/said" || fail "nothing was said of the daemon: $(cat "$folder/said")"
expect_refusals "$pid"
end_stopped_daemon "$pid"

step "varve umount --force waits for a daemon that ends"
mount_store
pid=$(daemon_pid)
"$varve" umount --force "$mount_point" 2>"$folder/said"
# Nobody may have buried it yet.
if grep -q "^State:[[:space:]]*[^ZX[:space:]]" "/proc/$pid/status" 2>/dev/null; then
  grep -q "has not ended" "$folder/said" || fail "the daemon was not waited for"
  wait_until_gone "$pid" "after a forced unmount"
fi
mount_store
[ "$(cat "$mount_point/file")" = kept ] || fail "the file is lost"
umount_store
check_store
