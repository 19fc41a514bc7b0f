#!/bin/bash
# The daemon under signals and load: SIGTERM and SIGINT end it in order while it is written to, SIGSTOP only halts it, a busy
# mount is not taken away under its users, and `umount` under load loses nothing.
source "$(dirname "$0")/library.sh"

make_device loop512 1G
"$varve" mkfs "$device" >/dev/null

# Writes numbered files until one fails; the numbers of those that were written whole are in $folder/written.
write_files() {
  for ((i = 0; ; ++i)); do
    { echo "file $i" >"$mount_point/$1.$i"; } 2>/dev/null || return 0
    echo "$1.$i" >>"$folder/written"
  done
}
# The files that are in $folder/written, one after the other.
check_files() {
  (cd "$mount_point" && xargs cat <"$folder/written") | cmp - <(sed 's/.*\./file /' "$folder/written") ||
    fail "a file is not what was written: $1"
  [ "$(wc -l <"$folder/written")" -gt 100 ] || fail "hardly a file was written: $1"
}

# Sends a signal while files are written. The first unmounts, or leaves the mount in use as it is; a second detaches it. The
# argument after it says what is written.
end_by_signal() {
  local pid writer
  pid=$(daemon_pid)
  write_files "$1" &
  writer=$!
  sleep 1
  kill "-$1" "$pid"
  sleep 1
  kill "-$1" "$pid" 2>/dev/null || true
  wait_until_gone "$pid" "SIG$1"
  ! is_mounted || fail "SIG$1 left the mount behind"
  # What it writes now goes into the folder under the mount.
  kill "$writer" 2>/dev/null || true
  wait "$writer" 2>/dev/null || true
  find "$mount_point" -mindepth 1 -delete
}

for signal in TERM INT; do
  step "SIG$signal under load"
  mount_store
  : >"$folder/written"
  end_by_signal "$signal"
  check_store
  mount_store
  # The writer did not notice when its names began to lie in the folder under the mount: the last that is in the store, and
  # every one before it, must be whole.
  last=$(find "$mount_point" -name "$signal.*" | sed 's/.*\.//' | sort -n | tail -n 1)
  seq --format="$signal.%.0f" 0 $((${last:-0} - 1)) >"$folder/written"
  check_files "before SIG$signal"
  umount_store
done

step "SIGSTOP and SIGCONT"
mount_store
: >"$folder/written"
pid=$(daemon_pid)
write_files stopped &
writer=$!
for _ in 1 2 3; do
  sleep 0.5
  kill -STOP "$pid"
  sleep 0.5
  halted=$(wc -l <"$folder/written")
  sleep 0.5
  [ "$(wc -l <"$folder/written")" -eq "$halted" ] || fail "a halted daemon answered"
  kill -CONT "$pid"
done
sleep 0.5
[ "$(wc -l <"$folder/written")" -gt "$halted" ] || fail "the daemon answers no more after SIGCONT"

step "umount under load"
expect_failure "busy|in use" bash -c "cd '$mount_point' && '$varve' umount '$mount_point'"
[ -d "/proc/$pid" ] || fail "an unmount that was refused ended the daemon"
kill "$writer"
wait "$writer" 2>/dev/null || true
check_files "after SIGCONT"
head -c 200M /dev/zero >"$mount_point/large" &
writer=$!
sleep 0.2
until "$varve" umount "$mount_point" 2>/dev/null; do sleep 0.1; done
wait "$writer" || fail "an unmount cut a writer off"
check_store
mount_store
cmp <(head -c 200M /dev/zero) "$mount_point/large" || fail "what was written under the unmount is not there"
check_files "after umount"

step "little memory"
umount_store
[ -z "$instrumented" ] || { echo "an instrumented daemon needs more"; exit 0; }
# The daemon, its writer and the pages that it dirties, all within less than what is written; of either kind of control groups.
memory_bytes=$((128 << 20))
if mkdir "/sys/fs/cgroup/varve-test.$$" 2>/dev/null && [ -e "/sys/fs/cgroup/varve-test.$$/memory.max" ]; then
  group=/sys/fs/cgroup/varve-test.$$
  echo $memory_bytes >"$group/memory.max"
elif mkdir "/sys/fs/cgroup/memory/varve-test.$$" 2>/dev/null; then
  group=/sys/fs/cgroup/memory/varve-test.$$
  echo $memory_bytes >"$group/memory.limit_in_bytes"
else
  rmdir "/sys/fs/cgroup/varve-test.$$" 2>/dev/null || true
  echo "no memory control group here"
  exit 0
fi
control_groups+=("$group")
head -c 200M /dev/urandom >"$folder/original"
bash -c "echo \$\$ >'$group/cgroup.procs' && '$varve' mount '$device' '$mount_point' -o cache=16M,memtable=4M &&
  cp '$folder/original' '$mount_point/copy' && cmp '$folder/original' '$mount_point/copy'" ||
  fail "a copy with little memory"
killed=$( (cat "$group"/memory.events "$group"/memory.oom_control 2>/dev/null || true) | awk '$1 == "oom_kill" { print $2 }')
[ "${killed:-0}" = 0 ] || fail "something was killed for want of memory"
umount_store
check_store
