"""Makes, lists and removes many names in one directory, and watches the daemon's memory.
Usage: large_directory.py MOUNT_POINT NAMES DAEMON_PID DROP_CACHES

Times are printed, not judged."""

import json
import os
import sys
import time

mount_point, names, daemon, drop_caches = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
folder = os.path.join(mount_point, "directory")
# docs/design/fuse.md: what a node costs beside its name, and what tables round up to.
NODE_BYTES_MAX = 128
# Block cache and memtables fill meanwhile: their limits are the mount's options, which the caller knows.
MEMORY_MAX_KIB = int(os.environ["MEMORY_MAX_KIB"])


def filesystem() -> dict[str, int]:
    return json.loads(os.getxattr(mount_point, "user.varve.statistics"))["filesystem"]


def resident_kib() -> int:
    with open(f"/proc/{daemon}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


# The kernel forgets when it likes, and tells of it later still.
def drop() -> dict[str, int]:
    for _ in range(100):
        with open(drop_caches, "w") as file:
            file.write("3")
        left = filesystem()
        if left["nodes"] < 100:
            return left
        time.sleep(0.1)
    sys.exit(f"FAILED: {left['nodes']} nodes are kept that the kernel has forgotten")


def check(holds: bool, claim: str) -> None:
    if not holds:
        sys.exit(f"FAILED: {claim}")


def name_of(number: int) -> str:
    return f"{folder}/name-{number * 2654435761 % 4294967296:010}"


os.mkdir(folder)
tenths = []
for tenth in range(10):
    began = time.monotonic()
    for number in range(names * tenth // 10, names * (tenth + 1) // 10):
        os.close(os.open(name_of(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    tenths.append(time.monotonic() - began)
print(f"made {names}: {sum(tenths):.1f} s, the last tenth {tenths[-1] / tenths[0]:.2f} times the first")

known = filesystem()
print(f"nodes {known['nodes']}, {known['node_bytes'] / max(known['nodes'], 1):.0f} bytes each; {resident_kib()} KiB resident")
check(known["node_bytes"] <= known["nodes"] * NODE_BYTES_MAX, "a node costs more than is stated")

forgotten = drop()
print(f"dropped: nodes {forgotten['nodes']}, {forgotten['node_bytes']} bytes; {resident_kib()} KiB resident")
check(forgotten["node_bytes"] < 65536, "memory of forgotten nodes is kept")


for turn in range(3):
    began = time.monotonic()
    found = sum(1 for entry in os.scandir(folder) if entry.name.startswith("name-"))
    check(found == names, f"{found} of {names} names are listed")
    seen = sum(entry.stat(follow_symlinks=False).st_ino > 0 for entry in os.scandir(folder))
    check(seen == names, f"{seen} of {names} names have attributes")
    print(f"listed twice, once with attributes: {time.monotonic() - began:.1f} s; {resident_kib()} KiB resident")
    drop()
    check(resident_kib() <= MEMORY_MAX_KIB, f"{resident_kib()} KiB are resident where {MEMORY_MAX_KIB} are allowed")

began = time.monotonic()
for number in range(names):
    os.unlink(name_of(number))
print(f"removed: {time.monotonic() - began:.1f} s; {resident_kib()} KiB resident")
check(os.listdir(folder) == [], "something is left")
os.rmdir(folder)
check(resident_kib() <= MEMORY_MAX_KIB, f"{resident_kib()} KiB are resident where {MEMORY_MAX_KIB} are allowed")
