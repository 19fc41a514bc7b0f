#!/bin/bash
# Directories are listed right while they change, whatever the kernel keeps of them (listing_checks.cc).
source "$(dirname "$0")/library.sh"

make_device loop512 512M
"$varve" mkfs "$device" >/dev/null
mount_store
for seed in {1..12}; do
  "$tools/listing_checks" "$mount_point/$seed" /proc/sys/vm/drop_caches $seed 20000 || fail "seed $seed"
done
umount_store
check_store
