#!/bin/bash
# Small files through varve and through ntfs-3g, side by side on one RAM-backed loop device: create, read and remove.
# Run it as root: compare_small_files.sh VARVE TOOLS_FOLDER [RUNS] [FILES] [BYTES]
#
# Neither daemon is pinned by the test. Every run is printed, since ntfs-3g is fast or slow by which CPU the scheduler
# puts it on; the medians are what counts.
export VARVE_TEST_FOLDER=${VARVE_TEST_FOLDER:-/dev/shm}
source "$(dirname "$0")/library.sh"
runs=${1:-5}
files=${2:-20000}
bytes=${3:-1024}
command -v ntfs-3g >/dev/null || skip "needs ntfs-3g"

make_device loop512 2G

measure() { "$tools/small_files" "$mount_point" "$files" "$bytes"; }
report() { printf '%-8s create %8.1f  read %8.1f  remove %8.1f ms\n' "$1" $2; }

for ((run = 1; run <= runs; ++run)); do
  mkfs.ntfs -Q -F "$device" >/dev/null 2>&1
  ntfs-3g "$device" "$mount_point"
  result=$(measure)
  report ntfs-3g "$result"
  echo "$result" >>"$folder/ntfs-3g"
  umount "$mount_point"

  "$varve" mkfs --force "$device" >/dev/null
  mount_store
  result=$(measure)
  report varve "$result"
  echo "$result" >>"$folder/varve"
  umount_store
done

# median FILE COLUMN
median() { awk -v column="$2" '{ print $column }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
echo "medians of $runs:"
slower=0
column=0
for phase in create read remove; do
  column=$((column + 1))
  theirs=$(median "$folder/ntfs-3g" $column)
  ours=$(median "$folder/varve" $column)
  verdict=$(awk -v a="$theirs" -v b="$ours" 'BEGIN { printf "%.2f times as fast", a / b }')
  printf '%-7s ntfs-3g %8.1f ms, varve %8.1f ms: %s\n' $phase "$theirs" "$ours" "$verdict"
  awk -v a="$theirs" -v b="$ours" 'BEGIN { exit b > a }' || slower=1
done
exit $slower
