#!/bin/bash
# Every byte is found as it was left: reads, writes, mappings, truncations, holes, zeroed ranges, copies within the file;
# through the page cache, past it, and both. fsx does what it can where it is installed, our own exerciser the rest, several
# files at once. Argument: the kind of device. VARVE_FSX_OPERATIONS=1000000 makes it the long run
# (our own exerciser takes ten times as long as fsx: VARVE_OWN_OPERATIONS sets its number by itself).
source "$(dirname "$0")/library.sh"
kind=$1
operations=${VARVE_FSX_OPERATIONS:-8000}
own_operations=${VARVE_OWN_OPERATIONS:-$operations}
seed=${VARVE_FSX_SEED:-$RANDOM}
# By odd seeds a small file: now a record of its own, now chunks, and often short enough to be read whole.
config=$folder/fsx.toml
cp "$(dirname "$0")/fsx.toml" "$config"
((seed % 2 == 0)) || sed -i -e 's/^flen = .*/flen = 65536/' -e 's/^max = .*/max = 16384/' "$config"
echo "seed $seed, $(grep ^flen "$config")"

make_device "$kind" 1G
"$varve" mkfs "$device" >/dev/null
mount_store -o memtable=1M

# Whatever this shell runs from now on opens the files of the mount with O_DIRECT.
direct() { export LD_PRELOAD=$tools/libopen_direct.so VARVE_OPEN_DIRECT=$mount_point/; }
opened_with() { bash -c 'exec 3<"$1" && grep ^flags: /proc/self/fdinfo/3' - "$mount_point/fsx.opened"; }
# run_fsx WAY SEED: in rounds, for it leaves mappings behind (version 0.3.0), and the kernel gives it 65530.
run_fsx() {
  local left part number=$2
  [ "$1" != direct ] || direct
  for ((left = operations; left > 0; left -= part)); do
    part=$((left < 20000 ? left : 20000))
    fsx -f "$config" -N "$part" -S "$number" -P "$folder" "$mount_point/fsx.$1" >"$folder/fsx.$1.log" 2>&1 ||
      { tail -n 40 "$folder/fsx.$1.log" >&2; fail "fsx, $1, with seed $number"; }
    number=$((number + 1000))
  done
}
# run_own WAY SEED
run_own() {
  "$tools/file_exerciser" "$mount_point/$1" "$own_operations" "$2" "$1" >"$folder/$1.log" 2>&1 ||
    { cat "$folder/$1.log" >&2; fail "file_exerciser $1 with seed $2"; }
}

# at_once COMMAND…: each of the commands on a seed of its own.
at_once() {
  local jobs=() job
  for job in "$@"; do
    $job "$seed" &
    jobs+=($!)
    seed=$((seed + 1))
  done
  for job in "${jobs[@]}"; do wait "$job" || fail "one of: $*"; done
}

if command -v fsx >/dev/null; then
  step "fsx: $operations operations on each of two files: cached, direct"
  touch "$mount_point/fsx.opened"
  [ "$(opened_with)" != "$(direct; opened_with)" ] || fail "files are not opened with O_DIRECT"
  at_once "run_fsx cached" "run_fsx direct"
fi
step "our own: $own_operations operations on each of three files: cached, direct, mixed"
at_once "run_own cached" "run_own direct" "run_own mixed"
sums=$(cd "$mount_point" && sha256sum -- *)

step "the same bytes after an unmount"
umount_store
check_store
mount_store
(cd "$mount_point" && sha256sum --check --quiet <<<"$sums") || fail "a file has changed"
umount_store
