#!/bin/bash
# A full device answers ENOSPC, keeps what it has, lets files be removed, and takes new ones then.
source "$(dirname "$0")/library.sh"

make_device loop512 300M
"$varve" mkfs "$device" >/dev/null
mount_store -o memtable=4M
mkdir "$mount_point/kept" "$mount_point/fill"
head -c 5000000 /dev/urandom >"$folder/original"
cp "$folder/original" "$mount_point/kept/file"

for round in 1 2 3; do
  step "fill it, round $round"
  written=0
  for ((i = 0; i < 200; ++i)); do
    if ! head -c 4000000 /dev/urandom >"$mount_point/fill/$i" 2>"$folder/error"; then
      break
    fi
    written=$((written + 1))
  done
  grep -q "No space left" "$folder/error" || fail "no ENOSPC after $written files: $(cat "$folder/error")"
  [ "$written" -gt 45 ] || fail "full after $written files of 4 MB on 300 MB"
  cmp "$folder/original" "$mount_point/kept/file" || fail "what was written before is damaged"

  step "remove everything that filled it"
  rm -rf "$mount_point/fill"
  mkdir "$mount_point/fill"
  head -c 4000000 /dev/urandom >"$mount_point/fill/again" || fail "no room after everything was removed"
  [ "$(stat -c %s "$mount_point/fill/again")" = 4000000 ] || fail "no room after everything was removed"
done

umount_store
check_store
mount_store
cmp "$folder/original" "$mount_point/kept/file" || fail "what was written before is damaged"
