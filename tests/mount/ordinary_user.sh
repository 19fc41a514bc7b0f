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

stranger() { setpriv --reuid=daemon --regid=nogroup --clear-groups "$@"; }
refused() { "$@" 2>/dev/null && fail "was allowed: $*"; return 0; }

step "set-user-id and device files of an image mean nothing under his mount"
"$varve" mount "$device" "$mount_point"
cp "$(command -v id)" "$mount_point/as-root"
chown root "$mount_point/as-root"
chmod 4755 "$mount_point/as-root"
mknod -m 666 "$mount_point/null" c 1 3
"$varve" umount "$mount_point"
as_user "$varve" mount "$device" "$mount_point"
options=$(grep -F " $mount_point " /proc/mounts | cut -d' ' -f4)
for option in nosuid nodev default_permissions; do
  [[ ,$options, == *,$option,* ]] || fail "mounted without $option: $options"
done
[ "$(as_user "$mount_point/as-root" -u)" = "$(id -u $user)" ] || fail "a set-user-id file made him somebody else"
refused as_user sh -c ": >'$mount_point/null'"

step "nobody else enters, not even root, and none of what is told of the mount is told to others"
as_user touch "$mount_point/everyone"
as_user chmod 777 "$mount_point" "$mount_point/everyone"
refused stranger ls "$mount_point"
refused stranger cat "$mount_point/everyone"
refused cat "$mount_point/everyone"
for attribute in statistics process source; do
  as_user getfattr -n user.varve.$attribute "$mount_point" >/dev/null 2>&1 || fail "he may not see user.varve.$attribute"
  refused stranger getfattr -n user.varve.$attribute "$mount_point"
done
as_user "$varve" umount "$mount_point"

step "what he may not ask for"
grep -qs '^user_allow_other' /etc/fuse.conf || refused as_user "$varve" mount "$device" "$mount_point" -o allow_other
is_mounted && fail "mounted with allow_other"
for option in suid dev; do
  if as_user "$varve" mount "$device" "$mount_point" -o $option 2>/dev/null; then
    grep -F " $mount_point " /proc/mounts | grep -q "no$option" || fail "an ordinary user got $option"
    as_user "$varve" umount "$mount_point"
  fi
done
chmod 600 "$device"
chown root "$device"
refused as_user "$varve" mount "$device" "$mount_point"
refused as_user "$varve" fsck "$device"

step "root lets everybody in, as far as modes allow, and shows the state of the mount to nobody but himself"
"$varve" mount "$device" "$mount_point"
stranger cat "$mount_point/everyone" || fail "others are kept out of a mount by root"
mkdir -m 700 "$mount_point/private"
echo secret >"$mount_point/private/file"
echo secret >"$mount_point/own"
chmod 600 "$mount_point/own"
refused stranger ls "$mount_point/private"
refused stranger cat "$mount_point/private/file"
refused stranger cat "$mount_point/own"
refused stranger sh -c "echo other >'$mount_point/own'"
refused stranger chmod 666 "$mount_point/own"
refused stranger setfattr -n trusted.a -v 1 "$mount_point/everyone"
for attribute in statistics process source; do
  getfattr -n user.varve.$attribute "$mount_point" >/dev/null 2>&1 || fail "root may not see user.varve.$attribute"
  refused stranger getfattr -n user.varve.$attribute "$mount_point"
  refused setfattr -n user.varve.$attribute -v 1 "$mount_point"
done
[ "$("$mount_point/as-root" -u)" = 0 ] || fail "root is not himself"
[ "$(stranger "$mount_point/as-root" -u)" != 0 ] || fail "a set-user-id file counts, though nobody asked for it"
"$varve" umount "$mount_point"
