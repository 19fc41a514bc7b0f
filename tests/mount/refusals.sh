#!/bin/bash
# What mkfs and mount refuse, and that their messages name the cause.
source "$(dirname "$0")/library.sh"

make_device loop512 512M

step "a device with another filesystem is not overwritten unless told"
mkfs.ext4 -q -F "$device"
expect_failure "ext4" "$varve" mkfs "$device"
expect_failure "ext4" "$varve" mount "$device" "$mount_point"
is_mounted && fail "an ext4 device was mounted"
"$varve" mkfs --force "$device" >/dev/null

step "a mounted store is left alone"
mount_store
expect_failure "mounted|in use|busy" "$varve" mkfs --force "$device"
expect_failure "mounted|in use|busy" "$varve" fsck "$device"
mkdir "$folder/second"
expect_failure "mounted|in use|busy" "$varve" mount "$device" "$folder/second"
echo kept >"$mount_point/file"
umount_store
check_store

step "an image file is claimed too"
image=$folder/image
"$varve" mkfs "$image" --size 512M >/dev/null
"$varve" mount "$image" "$mount_point"
expect_failure "mounted|in use|busy|lock" "$varve" mount "$image" "$folder/second"
expect_failure "mounted|in use|busy|lock" "$varve" mkfs --force "$image"
expect_failure "mounted|in use|busy|lock" "$varve" fsck "$image"
umount_store

step "too small a device"
expect_failure "small|at least" "$varve" mkfs "$folder/tiny" --size 1M

step "no store, or none any more"
truncate -s 512M "$folder/zeros"
expect_failure "no varve|not.*varve|mkfs" "$varve" mount "$folder/zeros" "$mount_point"
expect_failure "no such file|does not exist" "$varve" mount "$folder/nowhere" "$mount_point"
expect_failure "no such file|does not exist" "$varve" mount "$device" "$folder/no-such-folder"
expect_failure "unknown option.*bogus" "$varve" mount "$device" "$mount_point" -o bogus

step "one damaged superblock is made up for by the other, and named; two are not"
# docs/on-disk/layout.md: one at 4 KiB, one at the start of the last 64 KiB unit.
first=4096
second=$(($(blockdev --getsize64 "$device") / 65536 * 65536 - 65536))
# Bytes after the magic, which still says that this is a store.
damage() {
  head -c 16 /dev/urandom | dd of="$device" bs=1 seek=$(($1 + 100)) conv=notrunc,fsync status=none
}
damage "$first"
mount_store
[ "$(cat "$mount_point/file")" = kept ] || fail "the file is lost"
umount_store
mount_store
umount_store
# The unmount has mended it or not: either way both are damaged now.
damage "$first"
damage "$second"
expect_failure "damaged|corrupt|superblock" "$varve" mount "$device" "$mount_point"
