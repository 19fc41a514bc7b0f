#!/bin/bash
# mount(8), fstab, fsck(8) and signals, as a system's administrator uses them.
source "$(dirname "$0")/library.sh"

make_device loop512 512M

step "links named as the ecosystem expects"
mkdir "$folder/bin"
for name in mkfs.varve mount.varve fsck.varve; do
  ln -s "$varve" "$folder/bin/$name"
done
"$folder/bin/mkfs.varve" "$device" >/dev/null
"$folder/bin/fsck.varve" "$device" >/dev/null
"$folder/bin/mount.varve" "$device" "$mount_point" -o rw,noatime
grep -F " $mount_point fuseblk.varve " /proc/mounts | grep -q noatime || fail "not mounted as fuseblk with noatime"
umount "$mount_point"

step "every option that is documented"
for option in ro rw sync async commit=5 cache=16M memtable=4M techniques=none transport=devfuse allow_other suid nosuid dev nodev exec \
  noexec atime noatime relatime norelatime strictatime nostrictatime diratime nodiratime dirsync silent; do
  "$varve" mount "$device" "$mount_point" -o "$option" || fail "option $option"
  "$varve" umount "$mount_point"
done

step "remounting: what the kernel does by itself takes effect, the daemon goes on"
"$varve" mount "$device" "$mount_point"
echo before >"$mount_point/remounted"
mount -o remount,ro "$mount_point"
expect_failure "read-only" touch "$mount_point/remounted"
[ "$(cat "$mount_point/remounted")" = before ] || fail "cannot be read"
mount -o remount,rw "$mount_point"
echo after >"$mount_point/remounted"
cp /bin/true "$mount_point/program"
mount -o remount,noexec "$mount_point"
expect_failure "denied" "$mount_point/program"
umount "$mount_point"
check_store

# mount(8) looks in /sbin only. A mount namespace of our own shows it a copy that has the helper.
step "mount -t varve and an fstab line"
cat >"$folder/inside.sh" <<'INSIDE'
set -euo pipefail
varve=$1 device=$2 mount_point=$3 folder=$4
mount --make-rprivate /
cp -a /usr/sbin "$folder/sbin"
mount --bind "$folder/sbin" /usr/sbin
ln -s "$varve" /usr/sbin/mount.varve
mount -t varve "$device" "$mount_point" -o noatime
echo through-mount >"$mount_point/file"
umount "$mount_point"
printf '%s %s varve rw,noauto,commit=2,x-test 0 2\n' "$device" "$mount_point" >"$folder/fstab"
mount -T "$folder/fstab" "$mount_point"
[ "$(cat "$mount_point/file")" = through-mount ]
umount "$mount_point"
INSIDE
unshare --mount bash "$folder/inside.sh" "$varve" "$device" "$mount_point" "$folder" || fail "mount -t varve"

step "read-ahead is raised for the mount, and left alone for the device under it"
of_device() { cat "/sys/block/${device#/dev/}/queue/read_ahead_kb"; }
before=$(of_device)
mount_store
number=$(cat "/sys/block/${device#/dev/}/dev")
[ "$(cat "/sys/class/bdi/$number-fuseblk/read_ahead_kb")" = 4096 ] || fail "the mount reads ahead too little"
[ "$(of_device)" = "$before" ] || fail "the device's own read-ahead was changed"
umount "$mount_point"

step "umount returns when everything is on the device and it is free"
mount_store
echo kept >"$mount_point/file"
umount "$mount_point"
check_store

step "SIGTERM unmounts"
mount_store
echo more >>"$mount_point/file"
pid=$(daemon_pid)
kill -TERM "$pid"
for ((i = 0; i < 200; ++i)); do [ -d "/proc/$pid" ] || break; sleep 0.05; done
[ ! -d "/proc/$pid" ] || fail "the daemon is still there"
is_mounted && fail "still mounted"
check_store

step "a busy mount stays at the first signal, and is detached at the second"
mount_store
exec 9<"$mount_point/file"
pid=$(daemon_pid)
kill -TERM "$pid"
sleep 1
is_mounted || fail "unmounted under an open file"
[ "$(cat "$mount_point/file")" = $'kept\nmore' ] || fail "it no longer serves"
kill -TERM "$pid"
for ((i = 0; i < 100; ++i)); do is_mounted || break; sleep 0.05; done
is_mounted && fail "not detached"
[ "$(cat <&9)" = $'kept\nmore' ] || fail "the open file can no longer be read"
exec 9<&-
for ((i = 0; i < 200; ++i)); do [ -d "/proc/$pid" ] || break; sleep 0.05; done
[ ! -d "/proc/$pid" ] || fail "the daemon outlives its last user"
check_store

step "a killed daemon leaves clients an error, an umount that works, and a store that mounts again"
mount_store
sync -f "$mount_point"
pid=$(daemon_pid)
kill -KILL "$pid"
while [ -d "/proc/$pid" ]; do sleep 0.02; done
expect_failure "not connected|transport" ls "$mount_point"
"$varve" umount "$mount_point"
is_mounted && fail "still mounted"
mount_store
[ "$(cat "$mount_point/file")" = $'kept\nmore' ] || fail "the file is lost"

step "varve umount by the device's name; statistics of the live mount"
"$varve" stats "$mount_point" --json >"$folder/statistics"
grep -q '"fuse"' "$folder/statistics" || fail "no statistics of the mount"
"$varve" umount "$device"
is_mounted && fail "still mounted"

step "read only"
mount_store -o ro
expect_failure "read-only" touch "$mount_point/new"
[ "$(cat "$mount_point/file")" = $'kept\nmore' ] || fail "cannot be read"
umount_store
check_store
