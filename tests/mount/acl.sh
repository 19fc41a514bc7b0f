#!/bin/bash
# Access control lists, set-user-id bits and capabilities do on the mount what they do on ext4: the same commands leave
# the same modes and lists, and let the same users through.
source "$(dirname "$0")/library.sh"
for program in setfacl getfacl mkfs.ext4 setpriv python3; do
  command -v $program >/dev/null || skip "needs $program"
done

make_device loop512 512M
"$varve" mkfs "$device" >/dev/null
mount_store -o suid,dev
truncate -s 64M "$folder/ext4.img"
mkfs.ext4 -q "$folder/ext4.img"
mkdir "$folder/ext4"
mount -o loop "$folder/ext4.img" "$folder/ext4" || skip "no ext4 to compare with"
also_mounted+=("$folder/ext4")
chmod 755 "$folder"
# ext4's own.
rmdir "$folder/ext4/lost+found"
chmod 755 "$mount_point" "$folder/ext4"

as() { setpriv --reuid "$1" --regid "$2" --clear-groups -- "${@:3}"; }
may() { if as "$@" 2>/dev/null; then echo yes; else echo no; fi; }
state() {
  find . ! -type l -print0 | sort -z | xargs -0 getfacl --numeric --absolute-names
  find . -printf '%p %m %u %g\n' | sort
}

# Everything that is done, in the current folder. What it prints is compared.
lists() {
  mkdir plain && setfacl -m u:1001:rwx,g:1002:r-x plain && stat -c '%a' plain
  chmod 700 plain && getfacl -cn plain
  chmod 2775 plain && getfacl -cn plain
  setfacl -b plain && stat -c '%a' plain && getfacl -cn plain
  setfacl -k plain && setfacl -b plain && echo "nothing to take away"

  mkdir default && setfacl -d -m u:1001:rwx,g:1002:r-x,o::- default
  (umask 077 && cd default && mkdir sub && touch file && mkfifo fifo && ln -s file link && mkdir -m 700 narrow)
  (umask 0 && cd default && touch wide && mkdir sub/deeper && touch sub/deeper/leaf)
  python3 -c 'import os
os.umask(0o27)
made = os.open("default", os.O_TMPFILE | os.O_WRONLY, 0o666)
os.link(f"/proc/self/fd/{made}", "default/temporary", src_dir_fd=made, follow_symlinks=True)'
  (umask 027 && mkdir masked && touch masked/file)
  (umask 0 && mkdir unmasked && touch unmasked/file)

  cp -a default copied
  mv default/file default/moved
  setfacl -m m::r default/wide
  setfacl -x u:1001 default/moved
  setfacl -d -m m::- default/sub && (umask 0 && touch default/sub/none)

  # Who gets through.
  echo secret >guarded && chmod 600 guarded
  may 1001 1001 cat guarded
  setfacl -m u:1001:r guarded
  may 1001 1001 cat guarded
  may 1003 1003 cat guarded
  chmod 600 guarded
  may 1001 1001 cat guarded
  chmod 640 guarded
  may 1001 1001 cat guarded
  setfacl -m g:1003:r guarded
  may 1003 1003 cat guarded
  setfacl -x g:1003 guarded
  may 1003 1003 cat guarded
  mkdir closed && touch closed/file && chmod 700 closed
  may 1001 1001 ls closed/file
  setfacl -m u:1001:rx closed
  may 1001 1001 ls closed/file
  setfacl -b closed && chmod 700 closed
  may 1001 1001 ls closed/file

  # A set-group-id bit that its owner may not keep, once the list changes.
  touch grouped && chown 1001:1002 grouped && chmod 2755 grouped
  as 1001 1001 setfacl -m u:1003:r grouped; stat -c '%a' grouped
  chmod 2755 grouped && setfacl -m u:1004:r grouped && stat -c '%a' grouped

  mkdir inheriting && chgrp 1002 inheriting && chmod 2777 inheriting && setfacl -d -m g:1003:rwx inheriting
  as 1001 1001 touch inheriting/file; as 1001 1001 mkdir inheriting/sub; stat -c '%a %u %g' inheriting/*
}

capabilities() { getfattr --absolute-names -m security.capability "$1" 2>/dev/null | grep -c capability; }

# Capabilities and set-user-id bits end when the bytes change, whoever changes them and however.
privileges() {
  local way
  for way in 'printf x >>file' 'truncate -s 1 file' 'dd if=/dev/zero of=file bs=512 count=1 conv=notrunc status=none oflag=direct' \
    'chown 1005 file' 'fallocate -l 100 file' 'python3 -c "import mmap, os; f = os.open(\"file\", os.O_RDWR); os.pwrite(f, b\"y\", 0)"'; do
    printf 'some bytes' >file
    chmod 6755 file && chown 1001:1001 file && chmod 6755 file
    setfattr -n security.capability -v 0x0100000202000000000000000000000000000000 file
    chmod 777 . && chmod o+w file
    echo "capabilities before: $(capabilities file)"
    as 1001 1001 bash -c "$way" 2>/dev/null || bash -c "$way"
    echo "$way: $(stat -c %a file) $(capabilities file)"
    rm -f file
  done
  touch attributes
  setfattr -n trusted.name -v one attributes && setfattr -n security.name -v two attributes && setfattr -n user.name -v three attributes
  getfattr --absolute-names -d -m - attributes
  may 1001 1001 getfattr --absolute-names -n trusted.name attributes
  may 1001 1001 setfattr -n trusted.name -v x attributes
  may 1001 1001 setfattr -n user.name -v x attributes
  chmod 666 attributes
  may 1001 1001 setfattr -n user.name -v x attributes
}

# run_both WHAT FUNCTION
run_both() {
  step "$1"
  local place
  for place in "$folder/ext4" "$mount_point"; do
    mkdir "$place/$2"
    (cd "$place/$2" && "$2" && state) >"$folder/$(basename "$place").$2" 2>&1 || true
  done
  diff "$folder/ext4.$2" "$folder/mnt.$2" || fail "$1: < ext4, > varve"
  [ "$(wc -l <"$folder/mnt.$2")" -ge 10 ] || fail "nothing was compared"
}

run_both "lists and modes" lists
run_both "privileges" privileges

step "the same after an unmount"
(cd "$mount_point/lists" && state) >"$folder/before"
umount_store
check_store
mount_store
(cd "$mount_point/lists" && state) >"$folder/after"
diff "$folder/before" "$folder/after" || fail "the lists have changed"

step "rsync and tar carry the lists"
mkdir "$mount_point/rsynced"
if command -v rsync >/dev/null; then
  rsync -aAX "$folder/ext4/lists/" "$mount_point/rsynced/"
  (cd "$mount_point/rsynced" && state) >"$folder/rsynced"
  (cd "$folder/ext4/lists" && state) | diff - "$folder/rsynced" || fail "rsync -aAX"
fi
mkdir "$mount_point/untarred"
tar -C "$folder/ext4/lists" --acls --xattrs -cf - . | tar -C "$mount_point/untarred" --acls --xattrs -xf -
(cd "$mount_point/untarred" && state) >"$folder/untarred"
(cd "$folder/ext4/lists" && state) | diff - "$folder/untarred" || fail "tar --acls"
umount_store
check_store
