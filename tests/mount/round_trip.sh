#!/bin/bash
# A real tree survives an unmount: contents, links, modes, owners, times, holes. The same after `sync` and a kill of the
# daemon. Argument: the kind of device.
source "$(dirname "$0")/library.sh"
kind=$1

make_device "$kind" 3G
"$varve" mkfs "$device" >/dev/null

step "make a tree with something of everything"
source_tree=$folder/source
mkdir -p "$source_tree/special" "$source_tree/deep/a/b/c/d/e/f" "$source_tree/empty"
cp -a /usr/include "$source_tree/include"
[ ! -d /usr/share/doc ] || cp -a /usr/share/doc "$source_tree/doc"
(
  cd "$source_tree/special"
  printf 'one name' >first
  ln first second
  ln -s first symbolic
  ln -s /nowhere/at/all dangling
  mkfifo fifo
  mknod device c 1 3
  install -m 4755 /bin/true setuid
  install -m 1777 -d sticky
  printf 'x' >owned && chown 12345:54321 owned
  touch -d '1971-02-03 04:05:06.789012345' old
  touch -d '2300-01-01 00:00:00' future
  head -c 70000000 /dev/urandom >large
  truncate -s 5G sparse
  printf 'island' | dd of=sparse bs=1 seek=3000000000 conv=notrunc status=none
  touch "$(printf 'n%.0s' {1..255})" $'new\nline' 'blank and *'
  if setfattr -n user.colour -v blue first 2>/dev/null; then :; fi
  head -c 300 /dev/urandom >../deep/a/b/c/d/e/f/leaf
)
touch -d '2001-01-01 00:00:00' "$source_tree/empty"

compare() {
  diff -r --no-dereference --exclude=fifo --exclude=device --exclude=sparse "$source_tree" "$mount_point/copy" ||
    fail "contents differ"
  # The hole as rsync and diff would read it is 5 GB: look where the bytes are.
  [ "$(stat -c %s "$mount_point/copy/special/sparse")" = 5368709120 ] || fail "the sparse file has another size"
  [ "$(dd if="$mount_point/copy/special/sparse" bs=1 skip=3000000000 count=6 status=none)" = island ] ||
    fail "the sparse file has other bytes"
  [ "$(stat -c %b "$mount_point/copy/special/sparse")" -lt 20000 ] || fail "the sparse file is not sparse"
  local differences
  differences=$(rsync -naHXi --devices --specials --checksum --delete --exclude=sparse "$source_tree/" \
    "$mount_point/copy/")
  [ -z "$differences" ] || fail "rsync sees differences: $(head -n 20 <<<"$differences")"
  [ "$(stat -c %h "$mount_point/copy/special/first")" = 2 ] || fail "the hard link is lost"
}

step "copy it, and compare at once"
mount_store
cp -a --sparse=always "$source_tree" "$mount_point/copy"
compare

step "unmount, check, mount, compare"
umount_store
is_mounted && fail "still mounted"
check_store
mount_store
compare

step "sync, kill the daemon, check, mount, compare"
cp -a "$source_tree/special" "$mount_point/copy-of-special"
sync -f "$mount_point"
[ "$kind" = image ] && sync "$mount_point/copy-of-special/large" "$mount_point/copy-of-special"
kill_daemon
check_store
mount_store
compare
diff -r --no-dereference --exclude=fifo --exclude=device --exclude=sparse "$source_tree/special" \
  "$mount_point/copy-of-special" || fail "what was synced differs"

step "remove everything"
rm -rf "$mount_point/copy" "$mount_point/copy-of-special"
[ -z "$(ls -A "$mount_point")" ] || fail "something is left"
umount_store
check_store
