#!/bin/bash
# The daemon touches the device only through io_uring, on a descriptor with O_DIRECT. Argument: the kind of device.
source "$(dirname "$0")/library.sh"
command -v strace >/dev/null || skip "needs strace"

make_device "$1" 512M
"$varve" mkfs "$device" >/dev/null
# The search for leaks is itself a tracer, of which there can be one; other tests have it.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 \
  strace -f -y -o "$folder/trace" -s 16 "$varve" mount "$device" "$mount_point" -f -o memtable=1M &
tracer=$!
for ((i = 0; i < 200; ++i)); do
  is_mounted && [ -n "$(getfattr --only-values -n user.varve.process "$mount_point" 2>/dev/null || ls "$mount_point")" ] &&
    break
  sleep 0.1
done
cp -a /usr/include/linux "$mount_point/"
sync -f "$mount_point"
rm -rf "$mount_point/linux"
ls -laR "$mount_point" >/dev/null
umount "$mount_point"
wait $tracer || fail "the daemon ended badly"

real=$(realpath "$device")
opens=$(grep -F "\"$real\"" "$folder/trace" | grep -E 'open(at)?\(' | grep -v ENOENT || true)
grep -q O_DIRECT <<<"$opens" || fail "the device was never opened with O_DIRECT"
grep -vE 'O_DIRECT|O_PATH' <<<"$opens" && fail "the device was opened without O_DIRECT"
plain=$(grep -F "<$real>" "$folder/trace" | grep -E ' (p?(read|write)v?2?|pread64|pwrite64|mmap|sendfile|splice)\(' || true)
[ -z "$plain" ] || fail "I/O outside io_uring: $(head -n 5 <<<"$plain")"
grep -q io_uring_enter "$folder/trace" || fail "io_uring was never entered"
