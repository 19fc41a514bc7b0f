#!/bin/bash
# fsx finds every byte as it left it: reads, writes, mappings, truncations, holes, copies within the file; on two files at once.
# Argument: the kind of device. VARVE_FSX_OPERATIONS=1000000 makes it the long run.
source "$(dirname "$0")/library.sh"
command -v fsx >/dev/null || skip "needs fsx"
kind=$1
operations=${VARVE_FSX_OPERATIONS:-8000}
seed=${VARVE_FSX_SEED:-$RANDOM}
echo "seed $seed"

make_device "$kind" 1G
"$varve" mkfs "$device" >/dev/null
mount_store -o memtable=1M

# run_fsx NAME SEED
run_fsx() {
  fsx -f "$(dirname "$0")/fsx.toml" -N "$operations" -S "$2" -P "$folder" "$mount_point/$1" >"$folder/$1.log" 2>&1 ||
    { tail -n 40 "$folder/$1.log" >&2; fail "fsx on $1 with seed $2"; }
}

step "$operations operations on each of two files"
run_fsx first "$seed" &
other=$!
run_fsx second $((seed + 1))
wait $other || fail "fsx on the first file"
sums=$(cd "$mount_point" && sha256sum first second)

step "the same bytes after an unmount"
umount_store
check_store
mount_store
(cd "$mount_point" && sha256sum --check --quiet <<<"$sums") || fail "a file has changed"
umount_store
