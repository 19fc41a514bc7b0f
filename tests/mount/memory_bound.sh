#!/bin/bash
# The daemon's memory stays within what its options say while many small files are created. VARVE_SMALL_FILES=1000000
# makes it the long run.
source "$(dirname "$0")/library.sh"
[ -z "$instrumented" ] || skip "an instrumented daemon needs more memory"
count=${VARVE_SMALL_FILES:-60000}
cache_mib=32
memtable_mib=8
# Beside cache and memtables (one that fills and those being flushed): code and stacks, request buffers, table indexes
# and filters in use, the node of each name that the kernel remembers.
overhead_mib=${VARVE_MEMORY_OVERHEAD_MIB:-160}
bytes_per_node=512

make_device loop512 "${VARVE_MEMORY_DEVICE_SIZE:-8G}"
"$varve" mkfs "$device" >/dev/null
mount_store -o cache=${cache_mib}M,memtable=${memtable_mib}M
pid=$(daemon_pid)
limit_mib=$((cache_mib + 4 * memtable_mib + overhead_mib + count * bytes_per_node / 1048576))
per_folder=20000

# create_files FOLDER: many small files, many times faster than the shell would make them.
create_files() {
  python3 - "$1" "$per_folder" <<'PYTHON'
import os
import sys

for number in range(int(sys.argv[2])):
    file = os.open(f"{sys.argv[1]}/file-{number:07}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(file, b"v" * 1000)
    os.close(file)
PYTHON
}

for ((from = 0; from < count; from += per_folder)); do
  mkdir "$mount_point/$from"
  create_files "$mount_point/$from"
  resident_mib=$(($(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status") / 1024))
  echo "$((from + per_folder)) files: $resident_mib MiB of $limit_mib"
  [ "$resident_mib" -le "$limit_mib" ] || fail "the daemon holds $resident_mib MiB"
done
umount_store
check_store
