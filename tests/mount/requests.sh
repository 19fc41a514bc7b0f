#!/bin/bash
# What common actions cost in requests stays as small as the protocol allows (requests.py has the bills).
source "$(dirname "$0")/library.sh"
command -v python3 >/dev/null || skip "needs python3"
# Earlier ones read directories in smaller pieces.
kernel=$(uname -r)
[ "$(printf '%s\n6.16\n' "$kernel" | sort -V | head -n 1)" = 6.16 ] || skip "the bills are those of kernel 6.16, not $kernel"

make_device loop512 512M
"$varve" mkfs "$device" >/dev/null
mount_store
python3 -B "$(dirname "$0")/requests.py" "$mount_point" /proc/sys/vm/drop_caches || fail "an action costs something else"
umount_store
check_store
