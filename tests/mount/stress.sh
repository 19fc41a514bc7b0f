#!/bin/bash
# stress-ng's filesystem stressors find nothing, two of each at once, and fsck finds the store whole afterwards.
# VARVE_STRESS_SECONDS=60 makes it the long run.
source "$(dirname "$0")/library.sh"
command -v stress-ng >/dev/null || skip "needs stress-ng"
seconds=${VARVE_STRESS_SECONDS:-1}

make_device loop512 8G
"$varve" mkfs "$device" >/dev/null
mount_store
mkdir "$mount_point/stress"
known=$(stress-ng --help)
for stressor in access chmod chown copy-file dentry dir dirdeep dirmany fallocate fcntl file-ioctl filename flock \
  getdent handle hdd iomix lease link locka lockf lockofd mknod open punch readahead rename seek sendfile symlink \
  sync-file touch truncate unlink utime xattr; do
  # Older versions lack some.
  grep -q -- "--$stressor N" <<<"$known" || continue
  stress-ng --temp-path "$mount_point/stress" --"$stressor" 2 --timeout "$seconds" --verify >"$folder/stress.log" 2>&1 || {
    cat "$folder/stress.log" >&2
    fail "stress-ng --$stressor"
  }
  echo "$stressor: ok"
done
umount_store
check_store
