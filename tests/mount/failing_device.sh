#!/bin/bash
# A device that turns to errors under a mount: the file behind the loop device lies on a filesystem that fills up, so that
# writes to fresh places fail while what was written can still be read. The mount refuses writes and says why, goes on
# answering reads of good data, and unmounts; on a mended device everything that was synced is there.
source "$(dirname "$0")/library.sh"

mkdir "$folder/small"
mount -t tmpfs -o size=200M varve-test "$folder/small" || skip "no tmpfs here"
also_mounted+=("$folder/small")
make_device loop512 1G "$folder/small"
"$varve" mkfs "$device" >/dev/null
mount_store -o memtable=2M,cache=4M
pid=$(daemon_pid)
mkdir "$mount_point/kept"
for i in {1..20}; do
  head -c 1000000 /dev/urandom >"$folder/original.$i"
  cp "$folder/original.$i" "$mount_point/kept/$i"
done
sync -f "$mount_point"

step "the device turns to errors"
head -c 200M /dev/zero >"$folder/small/filler" 2>/dev/null || true
failed=no
for i in {1..200}; do
  # The error's file first: the mount may be read-only before this one is opened.
  if ! head -c 1000000 /dev/urandom 2>"$folder/error" >"$mount_point/fill.$i" || ! sync "$mount_point/fill.$i" 2>>"$folder/error"; then
    failed=yes
    break
  fi
done
[ $failed = yes ] || fail "200 MB were written to a device without room for them"
grep -qE "Input/output error|Read-only file system" "$folder/error" || fail "the error is another: $(cat "$folder/error")"

step "it is read-only now, and says why"
expect_failure "Read-only file system|Input/output error" touch "$mount_point/more"
[ -d "/proc/$pid" ] || fail "the daemon ended"
"$varve" stats --json "$mount_point" >"$folder/stats"
grep -q '"read_only_reason": *"..*"' "$folder/stats" || fail "varve stats does not say why: $(head -c 300 "$folder/stats")"

step "good data can be read"
for i in {1..20}; do
  cmp "$folder/original.$i" "$mount_point/kept/$i" || fail "kept/$i"
done

step "it unmounts, and with a device that works again all is there"
umount "$mount_point" || fail "umount"
wait_until_gone "$pid" "after umount"
rm "$folder/small/filler"
check_store
mount_store
for i in {1..20}; do
  cmp "$folder/original.$i" "$mount_point/kept/$i" || fail "kept/$i after the repair"
done
touch "$mount_point/more" || fail "it cannot be written to again"
umount_store
