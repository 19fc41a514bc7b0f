#!/bin/bash
# The hidden control directory: live figures as files that anybody's tools can read, and nothing can change.
source "$(dirname "$0")/library.sh"
command -v python3 >/dev/null || skip "needs python3"

make_device loop512 512M
"$varve" mkfs "$device" >/dev/null
mount_store
control=$mount_point/.varve
counter() { python3 -c 'import json, sys; print(json.load(sys.stdin)["requests"][sys.argv[1]])' "$1" <"$control/fuse.json"; }

step "it is there, and not listed"
[ -z "$(ls -A "$mount_point")" ] || fail "the root lists it"
[ -z "$(find "$mount_point" -mindepth 1)" ] || fail "find sees it"
for name in statistics.json fuse.json device.json levels.json cache.json process source scrub; do
  grep -qx "$name" <<<"$(ls "$control")" || fail "there is no $name"
done
ls -l "$control" >/dev/null

step "each file says what it should, whole, and anew each time"
[ "$(cat "$control/source")" = "$device" ] || fail "the source"
[ "$(cat "$control/process")" = "$(daemon_pid)" ] || fail "the process"
for file in "$control"/*.json; do
  python3 -m json.tool "$file" >/dev/null || fail "$file is no JSON"
  [ "$(stat -c %s "$file")" -gt 1 ] || fail "$file has no size"
done
before=$(counter mknod)
for i in 1 2 3; do echo "$i" >"$mount_point/$i"; done
[ "$(counter mknod)" = $((before + 3)) ] || fail "a counter stands still"
exec 9<"$control/fuse.json"
first=$(cat "$control/fuse.json" | wc -c)
ls "$mount_point" >/dev/null
[ "$(wc -c <&9)" -gt $((first / 2)) ] || fail "an open file is cut short"
exec 9<&-

step "nothing of it can be changed, and its name is taken"
expect_failure "permitted|exists" mkdir "$control"
expect_failure "permitted" rmdir "$control"
expect_failure "permitted|denied" touch "$control/new"
expect_failure "permitted|denied" rm "$control/source"
expect_failure "permitted|denied" bash -c "echo x >'$control/source'"
mkdir "$mount_point/other"
expect_failure "permitted" mv -T "$mount_point/other" "$control"
expect_failure "permitted" mv "$control" "$mount_point/moved"
expect_failure "stale|permitted|cross-device" ln "$control/source" "$mount_point/hard"
expect_failure "stale|permitted|cross-device" mv "$mount_point/1" "$control/1"
[ -d "$mount_point/other" ] && [ -f "$mount_point/1" ] || fail "something has gone"
mkdir "$mount_point/other/.varve" && rmdir "$mount_point/other/.varve" || fail "the name is free elsewhere"

step "only for root and who mounted"
chmod 755 "$folder"
! setpriv --reuid 1001 --regid 1001 --clear-groups ls "$control" 2>/dev/null || fail "another user reads it"

step "what the kernel has forgotten is not kept, and nothing of it reaches the store"
for i in {1..300}; do cat "$control/statistics.json" >/dev/null; done
echo 2 >/proc/sys/vm/drop_caches
cp -a "$mount_point/." "$folder/copy" && [ ! -e "$folder/copy/.varve" ] || fail "a copy takes it along"
umount_store
check_store
[ "$("$varve" ls "$device" / | grep -c varve)" = 0 ] || fail "it is in the store"

step "on a read-only mount as well"
mount_store -o ro
[ "$(cat "$control/source")" = "$device" ] || fail "the source"
umount_store
