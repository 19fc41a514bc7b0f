#!/bin/bash
# Both ways in which requests come: which one is taken and said, and how a mount ends on each.
source "$(dirname "$0")/library.sh"
command -v python3 >/dev/null || skip "needs python3"

make_device loop512 512M
"$varve" mkfs "$device" >/dev/null
of_fuse() { "$varve" stats "$mount_point" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["fuse"][sys.argv[1]])' "$1"; }
transport() { of_fuse transport; }
passed() { of_fuse requests_passed; }
# A view of the kernel's connections that is our own: not every machine mounts one.
mkdir "$folder/connections"
mount -t fusectl varve-test "$folder/connections"
also_mounted+=("$folder/connections")
connections() { ls "$folder/connections" | wc -l; }

step "without the kernel's leave: /dev/fuse, and said so; to ask for the other is refused, and says what to do"
switch_uring N || true
"$varve" mount -f "$device" "$mount_point" >"$folder/said" 2>&1 &
for _ in {1..100}; do is_mounted && break; sleep 0.05; done
[ "$(transport)" = /dev/fuse ] || fail "not on /dev/fuse"
umount "$mount_point"
wait
grep -q "/dev/fuse; .*fuse-over-io_uring" "$folder/said" || fail "the log does not say why: $(cat "$folder/said")"
expect_failure "enable_uring|6.14" mount_store -o transport=uring
is_mounted && fail "a refused mount stays"
expect_failure "auto, uring or devfuse" mount_store -o transport=splice

[ -n "$uring_was" ] || { echo "this kernel has no fuse-over-io_uring: the rest is left out"; exit 0; }
switch_uring Y
step "with it: fuse-over-io_uring by itself and when asked for, /dev/fuse when that is asked for"
for choice in auto:fuse-over-io_uring uring:fuse-over-io_uring devfuse:/dev/fuse; do
  mount_store -o "transport=${choice%%:*}"
  [ "$(transport)" = "${choice#*:}" ] || fail "${choice%%:*} became $(transport)"
  echo "$choice" >"$mount_point/file"
  [ "$(cat "$mount_point/file")" = "$choice" ] || fail "cannot be read"
  umount_store
done

step "more CPUs than reactors: every queue is answered"
taskset -c 0 "$varve" mount "$device" "$mount_point"
[ "$(transport)" = fuse-over-io_uring ] || fail "not on fuse-over-io_uring"
for cpu in $(seq 0 $(($(nproc) - 1))); do
  taskset -c "$cpu" timeout 20 dd if=/dev/zero of="$mount_point/of-$cpu" bs=1M count=2 status=none || fail "CPU $cpu hangs"
  taskset -c "$cpu" timeout 20 cat "$mount_point/of-$cpu" >/dev/null || fail "CPU $cpu hangs"
done
umount_store

step "a deep queue is shared out to an idle reactor, and comes home again"
if [ "$(nproc)" -gt 1 ] && command -v fio >/dev/null; then
  mount_store -o transport=uring
  deep() {
    (cd "$folder" && taskset -c 0 fio --name=deep --filename="$mount_point/deep" --size=32M --bs=4k --direct=1 --ioengine=libaio \
      --iodepth=32 --verify=crc32c --verify_fatal=1 --randrepeat=1 --output="$folder/fio.log" "$@") ||
      { tail -n 40 "$folder/fio.log" >&2; fail "fio $*"; }
  }
  deep --rw=randwrite
  # What memory has is answered one by one; what lies in tables is waited for.
  umount_store
  mount_store -o transport=uring
  for _ in {1..40}; do [ "$(passed)" -eq 0 ] || break; deep --rw=randwrite --verify_only; done
  [ "$(passed)" -gt 0 ] || fail "no request was passed on"
  # One request at a time brings its entry home; from then on nothing is passed.
  absent() { taskset -c 0 python3 -c 'import os, sys
for i in range(int(sys.argv[3])): os.path.exists("%s/absent-%s-%d" % (sys.argv[1], sys.argv[2], i))' "$mount_point" "$@"; }
  absent first 500
  before=$(passed)
  absent second 2000
  [ "$(passed)" -eq "$before" ] || fail "requests are passed on that come one at a time: $before, then $(passed)"
  umount_store
  check_store
fi

# A few programs that never rest. What they say is of no interest: the mount goes away under them, and with it the folder
# in which they write.
load() {
  local place=$mount_point/load
  mkdir -p "$place"
  users=()
  for i in 1 2 3 4; do
    (while [ -d "$folder" ]; do
      echo "$i" >"$place/busy-$i" && cat "$place/busy-$i" && ls "$place" && rm "$place/busy-$i" || sleep 0.01
    done) >/dev/null 2>&1 &
    users+=($!)
    (while [ -d "$folder" ]; do dd if=/dev/zero of="$place/large-$i" bs=1M count=4 conv=fsync || sleep 0.01; done) >/dev/null 2>&1 &
    users+=($!)
  done
  # Many requests at once: some of them are then answered by another reactor than their queue's.
  if command -v fio >/dev/null; then
    (cd "$folder" && while [ -d "$folder" ]; do
      fio --name=deep --filename="$place/deep" --size=16M --bs=4k --rw=randread --direct=1 --ioengine=libaio --iodepth=32 \
        --time_based --runtime=10 --output=/dev/null || sleep 0.01
    done) >/dev/null 2>&1 &
    users+=($!)
  fi
}
end_load() {
  kill "${users[@]}" 2>/dev/null || true
  wait "${users[@]}" 2>/dev/null || true
  # What they had started last.
  for _ in {1..200}; do pkill -f "$mount_point/load/" || break; sleep 0.05; done
}

for choice in uring devfuse; do
  step "$choice: the connection is aborted under load"
  mount_store -o transport=$choice
  pid=$(daemon_pid)
  load
  sleep 1
  # The connection has the number that the kernel knows its device by.
  IFS=: read -r major minor < <(mountpoint -d "$mount_point")
  number=$((major << 20 | minor))
  echo 1 >"$folder/connections/$number/abort"
  sleep 0.5
  end_load
  umount "$mount_point" || umount -l "$mount_point"
  wait_until_gone "$pid" "after an abort"
  check_store

  step "$choice: the daemon is killed under load"
  mount_store -o transport=$choice
  load
  sleep 1
  kill_daemon "${users[@]}"
  end_load
  check_store

  step "$choice: SIGTERM under load"
  mount_store -o transport=$choice
  pid=$(daemon_pid)
  load
  sleep 1
  kill -TERM "$pid"
  sleep 0.5
  end_load
  for _ in {1..100}; do is_mounted || break; kill -TERM "$pid" 2>/dev/null || true; sleep 0.1; done
  wait_until_gone "$pid" "after SIGTERM"
  check_store
done

step "mounted again and again, nothing is left behind"
before=$(connections)
for _ in $(seq 1 "${VARVE_MOUNTS:-30}"); do
  mount_store -o transport=uring
  echo again >"$mount_point/file"
  umount_store
done
[ "$(connections)" -le "$before" ] || fail "connections stay"
[ -z "$(daemon_pid)" ] || fail "a daemon stays"
check_store
