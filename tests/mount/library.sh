# What the mount tests share. Sourced by each, which meson calls as: TEST.sh VARVE TOOLS_FOLDER [ARGUMENT…]
# Everything that a test makes (folder, loop devices, mounts) carries its own name, and is taken away when it ends.
set -euo pipefail

varve=$(realpath "$1")
tools=$2
shift 2

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
step() { printf -- '-- %s\n' "$*"; }

[ "$(id -u)" -eq 0 ] || skip "needs root"
[ -c /dev/fuse ] || skip "there is no /dev/fuse"

# On a real disk: O_DIRECT is refused on some kinds of temporary filesystem.
folder=$(mktemp -d "${VARVE_TEST_FOLDER:-/var/tmp}/varve-mount.XXXXXX")
mount_point=$folder/mnt
mkdir "$mount_point"
loops=()

# Which transport a mount takes by itself: the fuse module's switch decides, for mounts to come. It is set for this test, as
# VARVE_TRANSPORT (devfuse, uring) says, and put back at its end.
uring_switch=/sys/module/fuse/parameters/enable_uring
uring_was=$(cat $uring_switch 2>/dev/null || true)
put_uring_switch_back() { [ -z "$uring_was" ] || echo "$uring_was" >$uring_switch; }
switch_uring() { echo "$1" 2>/dev/null >$uring_switch; }
# Set where the build has sanitizers. What they find in a daemon, which nobody listens to, comes into files.
instrumented=${VARVE_INSTRUMENTED:-}
if [ -n "$instrumented" ]; then
  export ASAN_OPTIONS=${ASAN_OPTIONS:-}:log_path=$folder/sanitizer
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-}:log_path=$folder/sanitizer
  export TSAN_OPTIONS=${TSAN_OPTIONS:-}:log_path=$folder/sanitizer
fi
# What a test mounted beside the store, and control groups that it made.
also_mounted=()
control_groups=()

clean_up() {
  status=$?
  trap - EXIT
  set +e
  put_uring_switch_back
  if [ $status -ne 0 ] && [ $status -ne 77 ]; then
    echo "-- the state at the failure" >&2
    grep -F "$folder" /proc/mounts >&2
    df -h "$mount_point" >&2
  fi
  while grep -qF " $mount_point " /proc/mounts; do
    umount "$mount_point" 2>/dev/null || umount -l "$mount_point" || break
  done
  pid=$(daemon_pid 2>/dev/null)
  [ -n "$pid" ] && kill -KILL "$pid" 2>/dev/null
  for loop in "${loops[@]}"; do
    losetup -d "$loop" 2>/dev/null
  done
  for place in "${also_mounted[@]}"; do
    umount "$place" 2>/dev/null || umount -l "$place"
  done
  # That the search for leaks cannot look into a thread that is ending, or that is the kernel's (workers of io_uring), is
  # no finding.
  if cat "$folder"/sanitizer.* 2>/dev/null | grep -v "Unable to get registers from thread" >&2; then
    status=1
  fi
  for group in "${control_groups[@]}"; do
    # Its last process may still be ending.
    rmdir "$group" 2>/dev/null || { sleep 1; rmdir "$group"; }
  done
  rm -rf --one-file-system "$folder"
  exit $status
}
trap clean_up EXIT
case ${VARVE_TRANSPORT:-devfuse} in
  devfuse) [ -z "$uring_was" ] || switch_uring N ;;
  uring) [ -n "$uring_was" ] && switch_uring Y || skip "this kernel has no fuse-over-io_uring" ;;
  *) fail "no such transport: $VARVE_TRANSPORT" ;;
esac

# make_device KIND SIZE [FOLDER]: sets $device. KIND: image, loop512, loop4096 (a loop device with sectors of that size). The
# file behind it lies in FOLDER.
make_device() {
  local file=${3:-$folder}/device.img
  truncate -s "$2" "$file"
  case $1 in
    image) device=$file ;;
    loop*)
      device=$(losetup --find --show --sector-size "${1#loop}" --direct-io=on "$file" 2>/dev/null ||
        losetup --find --show --sector-size "${1#loop}" "$file") || skip "no loop devices here"
      loops+=("$device")
      ;;
    *) fail "no such kind of device: $1" ;;
  esac
}

# The daemon of this test's mount, by its command line: it must be found also when it does not answer.
daemon_pid() { pgrep -f "^@?varve mount .* $mount_point( |\$)" | head -n 1; }

mount_store() { "$varve" mount "$device" "$mount_point" "$@"; }
umount_store() { "$varve" umount "$mount_point"; }
is_mounted() { grep -qF " $mount_point " /proc/mounts; }

# wait_until_gone PID WHEN: until the daemon has ended by itself.
wait_until_gone() {
  local pid=$1
  for _ in {1..600}; do
    [ -d "/proc/$pid" ] || return 0
    sleep 0.1
  done
  fail "the daemon did not end within a minute: $2"
}

# kill_daemon [PID…]: the daemon dies without a warning; what is mounted is taken away. PID: programs to end then, whose
# calls the kill may have cut short in such a way that they wait for the rest for ever, with files of the mount open.
kill_daemon() {
  local pid
  pid=$(daemon_pid)
  [ -n "$pid" ] || fail "there is no daemon to kill"
  kill -KILL "$pid"
  while [ -d "/proc/$pid" ]; do sleep 0.02; done
  [ $# -eq 0 ] || kill "$@" 2>/dev/null || true
  # Whoever still writes leaves only when that fails.
  for _ in {1..1200}; do
    umount "$mount_point" 2>/dev/null || true
    is_mounted || break
    sleep 0.05
  done
  ! is_mounted || fail "held for a minute after the daemon was killed, by processes $(fuser -m "$mount_point" 2>/dev/null)"
  # The kernel takes its ring down, and lets go of the device, some time after the process has gone.
  for _ in {1..600}; do
    "$varve" dump "$device" superblock 2>&1 | grep -q "is in use" || return 0
    sleep 0.1
  done
  fail "the device is in use a minute after the daemon was killed"
}

# fsck must find nothing wrong.
check_store() {
  "$varve" fsck "$device" "$@" >"$folder/fsck.log" 2>&1 || { cat "$folder/fsck.log" >&2; fail "fsck found faults"; }
}

# expect_failure PATTERN COMMAND…: the command fails, and says something that matches.
expect_failure() {
  local pattern=$1 output
  shift
  if output=$("$@" 2>&1); then
    fail "this succeeded and should not: $*"
  fi
  grep -qiE "$pattern" <<<"$output" || fail "the message of \"$*\" does not match \"$pattern\": $output"
}
