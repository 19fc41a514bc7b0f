#!/bin/bash
# A real tree survives an unmount: contents, links, modes, owners, times, holes. The same after `sync` and a kill of the
# daemon. Arguments: the kind of device; "all" for everything below /usr/include and /usr/share/doc.
source "$(dirname "$0")/library.sh"
kind=$1
if [ "${2:-}" = all ]; then
  real_trees=(/usr/include /usr/share/doc)
else
  real_trees=(/usr/include/linux /usr/share/perl5)
fi
for i in "${!real_trees[@]}"; do [ -d "${real_trees[i]}" ] || unset "real_trees[i]"; done

make_device "$kind" 3G
"$varve" mkfs "$device" >/dev/null

step "make a tree with something of everything"
special=$folder/special
mkdir -p "$special/deep/a/b/c/d/e/f" "$special/empty"
(
  cd "$special"
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
  touch -d '2200-01-01 00:00:00' future
  head -c 70000000 /dev/urandom >large
  truncate -s 5G sparse
  printf 'island' | dd of=sparse bs=1 seek=3000000000 conv=notrunc status=none
  touch "$(printf 'n%.0s' {1..255})" $'new\nline' 'blank and *'
  setfattr -n user.colour -v blue first 2>/dev/null || true
  head -c 300 /dev/urandom >deep/a/b/c/d/e/f/leaf
  touch -d '2001-01-01 00:00:00' empty
)
trees=("${real_trees[@]}" "$special")

# compare FOLDER: the trees and their copies in it are the same in every respect.
compare() {
  local to=$1 tree copy differences
  for tree in "${trees[@]}"; do
    copy=$to/$(basename "$tree")
    diff -r --no-dereference --exclude=fifo --exclude=device --exclude=sparse "$tree" "$copy" || fail "contents differ"
    differences=$(rsync -naHXi --devices --specials --checksum --delete --exclude=/special/sparse "$tree" "$to/")
    [ -z "$differences" ] || fail "rsync sees differences: $(head -n 20 <<<"$differences")"
  done
  # The hole as rsync and diff would read it is 5 GB: look where the bytes are.
  [ "$(stat -c %s "$to/special/sparse")" = 5368709120 ] || fail "the sparse file has another size"
  [ "$(dd if="$to/special/sparse" bs=1 skip=3000000000 count=6 status=none)" = island ] ||
    fail "the sparse file has other bytes"
  [ "$(stat -c %b "$to/special/sparse")" -lt 20000 ] || fail "the sparse file is not sparse"
  [ "$(stat -c %h "$to/special/first")" = 2 ] || fail "the hard link is lost"
}

step "copy it, and compare at once"
mount_store
mkdir "$mount_point/copy"
cp -a --sparse=always "${trees[@]}" "$mount_point/copy/"
compare "$mount_point/copy"

step "unmount, check, mount, compare"
umount_store
is_mounted && fail "still mounted"
check_store
mount_store
compare "$mount_point/copy"

step "copy again, sync, kill the daemon, check, mount, compare"
mkdir "$mount_point/synced"
cp -a --sparse=always "${trees[@]}" "$mount_point/synced/"
if [ "$kind" = image ]; then
  sync "$mount_point/synced"  # fsync of a folder: a plain fuse mount is not told of sync
else
  sync
fi
kill_daemon
check_store
mount_store
compare "$mount_point/synced"

step "remove everything"
rm -rf "$mount_point/copy" "$mount_point/synced"
[ -z "$(ls -A "$mount_point")" ] || fail "something is left"
umount_store
check_store
