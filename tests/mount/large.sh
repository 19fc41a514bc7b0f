#!/bin/bash
# Large things: many names in one directory, a sparse file of 100 GiB, a deep tree, the removal of a large file; and the
# daemon's memory meanwhile. VARVE_LARGE_NAMES=1000000 VARVE_LARGE_FILE_MIB=9000 VARVE_LARGE_DEVICE_MIB=16000 make it the long
# run.
source "$(dirname "$0")/library.sh"
[ -z "$instrumented" ] || skip "an instrumented daemon needs more memory"
command -v python3 >/dev/null || skip "needs python3"
names=${VARVE_LARGE_NAMES:-40000}
# The device must not hold two of these.
file_mib=${VARVE_LARGE_FILE_MIB:-350}
device_mib=${VARVE_LARGE_DEVICE_MIB:-768}
cache_mib=32
memtable_mib=4
# Cache and memtables; code, stacks, request buffers and tables in use.
export MEMORY_MAX_KIB=$(((cache_mib + 4 * memtable_mib + ${VARVE_MEMORY_OVERHEAD_MIB:-100}) * 1024))

make_device loop512 "${device_mib}M"
"$varve" mkfs "$device" >/dev/null
mount_store -o cache=${cache_mib}M,memtable=${memtable_mib}M

step "$names names in one directory"
python3 -B "$(dirname "$0")/large_directory.py" "$mount_point" "$names" "$(daemon_pid)" /proc/sys/vm/drop_caches ||
  fail "many names"

step "a sparse file of 100 GiB"
sparse=$mount_point/sparse
truncate -s 100G "$sparse"
for at in 0 30000000001 107374182399; do
  printf X | dd of="$sparse" bs=1 seek=$at conv=notrunc status=none
done
[ "$(stat -c %s "$sparse")" = 107374182400 ] || fail "another size"
[ "$(stat -c %b "$sparse")" -le 64 ] || fail "$(stat -c %b "$sparse") blocks for three bytes"
# A copy by holes ends soon only if they are found without reading a hundred gigabytes.
cp --sparse=always "$sparse" "$mount_point/copy" && [ "$(stat -c %b "$mount_point/copy")" -le 64 ] || fail "the copy"
for file in "$sparse" "$mount_point/copy"; do
  for at in 0 30000000001 107374182399; do
    [ "$(dd if="$file" bs=1 skip=$at count=1 status=none)" = X ] || fail "byte $at of $file"
  done
done
fallocate --punch-hole --offset 0 --length 100G --keep-size "$sparse"
[ "$(stat -c %b "$sparse")" = 0 ] || fail "holes have blocks"
rm "$sparse" "$mount_point/copy"

step "a tree of a hundred levels"
path=$mount_point
for i in {1..100}; do path=$path/level-$i; done
mkdir -p "$path"
echo deep >"$path/leaf"
[ "$(find "$mount_point" -name leaf -printf '%d\n')" = 101 ] || fail "the leaf is not where it should be"
echo 3 >/proc/sys/vm/drop_caches
[ "$(cat "$path/leaf")" = deep ] || fail "the leaf cannot be read"
(cd "$path" && pwd -P >/dev/null && cd ../../.. && ls level-98/level-99/level-100/leaf >/dev/null) || fail "the way up"
mv "$mount_point/level-1/level-2" "$mount_point/moved"
[ "$(find "$mount_point/moved" -type d | wc -l)" = 99 ] || fail "the moved tree"
rm -r "$mount_point/moved" "$mount_point/level-1"

step "the removal of a file of $file_mib MiB, and another one in its place"
free_mib() { df --output=avail -m "$mount_point" | tail -n 1; }
[ "$(free_mib)" -lt $((file_mib * 2)) ] || fail "the device is too large to show anything"
dd if=/dev/urandom of="$mount_point/big" bs=1M count="$file_mib" status=none
sync
began=$(date +%s%N)
rm "$mount_point/big"
echo "removed in $((($(date +%s%N) - began) / 1000)) µs"
[ ! -e "$mount_point/big" ] || fail "it is still there"
dd if=/dev/urandom of="$mount_point/next" bs=1M count="$file_mib" conv=fsync status=none || fail "its space is not given back"
echo "its space was used again after $((($(date +%s%N) - began) / 1000000)) ms"
umount_store
check_store
