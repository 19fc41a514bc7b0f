#!/bin/bash
# A user without privileges formats and mounts an image file of his own.
source "$(dirname "$0")/library.sh"
command -v fusermount3 >/dev/null || skip "needs fusermount3"
user=nobody
chmod 755 "$folder"
chown $user "$folder" "$mount_point"
as_user() { setpriv --reuid=$user --regid=nogroup --clear-groups "$@"; }
if ! as_user test -r /dev/fuse -a -w /dev/fuse; then
  # Opened to all for the rest of this script only, in a mount namespace of its own.
  [ -z "${VARVE_OWN_NAMESPACE:-}" ] || skip "/dev/fuse may be opened by root alone"
  mknod -m 666 "$folder/fuse" c 10 229
  status=0
  VARVE_OWN_NAMESPACE=1 unshare --mount bash -c 'mount --bind "$1" /dev/fuse && shift && exec bash "$@"' - \
    "$folder/fuse" "$0" "$varve" "$tools" || status=$?
  exit $status
fi
as_user test -x "$varve" || skip "the build folder is closed to other users"

device=$folder/mine.img
as_user "$varve" mkfs "$device" --size 512M >/dev/null
as_user "$varve" mount "$device" "$mount_point"
grep -qF " $mount_point fuse.varve " /proc/mounts || fail "not mounted as fuse.varve"
as_user sh -c "echo mine >'$mount_point/file'"
[ "$(as_user stat -c %U "$mount_point/file")" = $user ] || fail "the file belongs to somebody else"
as_user "$varve" umount "$mount_point"
is_mounted && fail "still mounted"
pgrep -f "varve mount .* $mount_point" >/dev/null && fail "umount did not wait for the daemon"
as_user "$varve" fsck "$device" >/dev/null
as_user "$varve" mount "$device" "$mount_point"
[ "$(as_user cat "$mount_point/file")" = mine ] || fail "the file is lost"
as_user "$varve" umount "$mount_point"
