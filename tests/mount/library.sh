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
# What a test mounted beside the store.
also_mounted=()

clean_up() {
  status=$?
  trap - EXIT
  set +e
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
  rm -rf --one-file-system "$folder"
  exit $status
}
trap clean_up EXIT

# make_device KIND SIZE: sets $device. KIND: image, loop512, loop4096 (a loop device with sectors of that size).
make_device() {
  local file=$folder/device.img
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

# The daemon dies without a warning; what is mounted is taken away.
kill_daemon() {
  local pid
  pid=$(daemon_pid)
  [ -n "$pid" ] || fail "there is no daemon to kill"
  kill -KILL "$pid"
  while [ -d "/proc/$pid" ]; do sleep 0.02; done
  umount "$mount_point"
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
