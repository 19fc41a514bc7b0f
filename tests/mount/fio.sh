#!/bin/bash
# fio finds every byte that it wrote: random and mixed, buffered and direct. Argument: the kind of device.
# VARVE_FIO_SIZE=1g makes it the long run.
source "$(dirname "$0")/library.sh"
command -v fio >/dev/null || skip "needs fio"
size=${VARVE_FIO_SIZE:-48m}

make_device "$1" "${VARVE_FIO_DEVICE_SIZE:-6G}"
"$varve" mkfs "$device" >/dev/null
mount_store

run() {
  step "fio $*"
  (cd "$folder" && fio --name=job --directory="$mount_point" --filename=file --size="$size" --ioengine=libaio \
    --verify=crc32c --verify_fatal=1 --randrepeat=1 --output="$folder/fio.log" "$@") ||
    { tail -n 40 "$folder/fio.log" >&2; fail "fio $*"; }
  grep -E '^ +(read|write|READ|WRITE):|(READ|WRITE): bw' "$folder/fio.log" | tail -n 2
}

for direct in 0 1; do
  run --rw=randwrite --bs=4k --iodepth=16 --direct=$direct
  run --rw=randrw --bs=4k --iodepth=16 --direct=$direct
  run --rw=randwrite --bsrange=512-64k --bs_unaligned=$((1 - direct)) --iodepth=16 --direct=$direct
  run --rw=randrw --bssplit=4k/60:16k/20:128k/20 --iodepth=16 --direct=$direct
  rm "$mount_point/file"
done
run --rw=write --bs=1M --iodepth=4 --direct=0 --end_fsync=1
umount_store
check_store
mount_store
run --rw=write --bs=1M --iodepth=4 --direct=0 --verify_only
# Large reads that follow each other are read ahead. A small memtable: what is read lies in tables.
umount_store
mount_store -o memtable=8M
for depth in 1 4; do
  run --rw=write --bs=1M --iodepth=$depth --direct=1
  run --rw=write --bs=1M --iodepth=$depth --direct=1 --verify_only
done
umount_store
mount_store
for depth in 1 4; do
  run --rw=write --bs=1M --iodepth=$depth --direct=1 --verify_only
done
# The same while the place of what is read is written anew.
run --rw=rw --bs=1M --iodepth=4 --direct=1
run --rw=randrw --bs=1M --iodepth=4 --direct=1
