#!/bin/bash
# A scrub of a mounted store: clean when it is; damage that comes under the mount is found and told by the file's name;
# only who may ask may; read-only mounts too; unmounting ends it.
source "$(dirname "$0")/library.sh"
make_device image 512M
"$varve" mkfs "$device" >/dev/null

# scrub CODE: runs it, and compares the exit code. Its output is in $folder/scrub.log.
scrub() {
  local code=0
  "$varve" scrub "$mount_point" >"$folder/scrub.log" 2>&1 || code=$?
  [ "$code" -eq "$1" ] || { cat "$folder/scrub.log" >&2; fail "scrub: exit code $code instead of $1"; }
}

step "an empty store is clean, and so is a full one"
mount_store
scrub 0
mkdir "$mount_point/d"
for i in $(seq 20); do head -c 3000000 /dev/urandom >"$mount_point/d/file$i"; done
sha256sum "$mount_point"/d/* >"$folder/sums"
umount_store
mount_store
scrub 0
grep -q clean "$folder/scrub.log" || fail "it does not say so"

step "writes go on meanwhile"
for i in $(seq 5); do head -c 3000000 /dev/urandom >"$mount_point/d/more$i"; scrub 0; done
rm "$mount_point"/d/more*

step "only root and who mounted it may ask"
if id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null; then
  chmod 755 "$folder"
  code=0
  setpriv --reuid nobody --clear-groups "$varve" scrub "$mount_point" >"$folder/scrub.log" 2>&1 || code=$?
  [ "$code" -eq 8 ] || fail "another user: exit code $code"
fi
expect_failure "root of a mounted" "$varve" scrub "$mount_point/d"
expect_failure "root of a mounted" "$varve" scrub /

step "damage under the mount is found, and told by the names of files"
mkdir "$mount_point.was"
cp "$mount_point"/d/file{3,9,17} "$mount_point.was"
umount_store
# Three files' bytes, where they lie. What mounting itself reads (the root, the store's counters) is in other blocks.
mapfile -t damaged < <(python3 - "$device" "$mount_point.was" <<'SCRIPT'
import mmap, sys
with open(sys.argv[1], "rb") as device:
    bytes_of_device = mmap.mmap(device.fileno(), 0, prot=mmap.PROT_READ)
for name in ("file3", "file9", "file17"):
    with open(f"{sys.argv[2]}/{name}", "rb") as file:
        file.seek(1_500_000)
        piece = file.read(64)
    at = bytes_of_device.find(piece)
    # Copies in tables that were merged away, and in the log, are free space: to damage them as well does no harm.
    while at >= 0:
        print(at)
        at = bytes_of_device.find(piece, at + 1)
SCRIPT
)
[ ${#damaged[@]} -ge 3 ] || fail "the files' bytes are not found on the device"
mount_store
for at in "${damaged[@]}"; do
  printf 'damage' | dd of="$device" bs=1 seek="$at" conv=notrunc status=none
done
sync "$device"
scrub 4
for i in 3 9 17; do
  grep -qE "^  /d/file$i: bytes [0-9]+ to [0-9]+\$" "$folder/scrub.log" ||
    { cat "$folder/scrub.log" >&2; fail "file$i is not named"; }
done
# A file is named exactly when it cannot be read.
echo 3 >/proc/sys/vm/drop_caches
for i in $(seq 20); do
  if cat "$mount_point/d/file$i" >/dev/null 2>&1; then readable=yes; else readable=no; fi
  if grep -q "^  /d/file$i: " "$folder/scrub.log"; then named=yes; else named=no; fi
  [ $readable != $named ] || fail "file$i: readable: $readable, named: $named"
done

step "a read-only mount, too; and fsck says the same"
umount_store
mount_store -o ro
sed -n 's/^  //p' "$folder/scrub.log" | sort >"$folder/live"
scrub 4
sed -n 's/^  //p' "$folder/scrub.log" | sort | cmp - "$folder/live" || fail "the read-only mount says something else"
umount_store
code=0
"$varve" fsck "$device" >"$folder/fsck.log" 2>&1 || code=$?
[ $code -eq 4 ] || fail "fsck: exit code $code"
sed -n 's/^  //p' "$folder/fsck.log" | sort | cmp - "$folder/live" || fail "fsck says something else"

step "an unmount does not wait for a scrub"
mount_store -o ro
"$varve" scrub "$mount_point" >/dev/null 2>&1 &
scrubbing=$!
# For the moment of each of its questions a scrub uses the mount, as any program does.
for _ in {1..100}; do
  ! "$varve" umount "$mount_point" 2>/dev/null || break
  sleep 0.05
done
! is_mounted || fail "still mounted"
wait "$scrubbing" || true
