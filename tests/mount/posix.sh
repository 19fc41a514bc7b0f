#!/bin/bash
# System calls keep their promises on the mount, and again after everything comes from the device.
source "$(dirname "$0")/library.sh"

make_device loop4096 512M
"$varve" mkfs "$device" >/dev/null
mount_store
mkdir "$mount_point/once" "$mount_point/again"
"$tools/posix_checks" "$mount_point/once"
inodes() { (cd "$mount_point/once" && find . -printf '%p %i\n' | sort); }
before=$(inodes)
umount_store
check_store
mount_store
[ "$(inodes)" = "$before" ] || fail "inode numbers have changed"
"$tools/posix_checks" "$mount_point/again"
umount_store
check_store
