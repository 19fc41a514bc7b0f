"""How many requests common actions cost, counted by the daemon. Usage: requests.py MOUNT_POINT DROP_CACHES

Each action is measured once the kernel knows what it would know in daily use; an exact bill of requests stands beside
it. More than that is a loss that users feel, and less is a bill to be lowered here.
"""

import json
import os
import shutil
import subprocess
import sys
import time

ROOT = sys.argv[1]
WORK = os.path.join(ROOT, "requests")
failures = 0


def counters() -> dict[str, int]:
    statistics = json.loads(os.getxattr(ROOT, "user.varve.statistics"))
    return statistics["fuse"]["requests"]


def bill_of(action) -> dict[str, int]:
    before = counters()
    action()
    # Nobody waits for RELEASEDIR: on another CPU's queue it may be behind the question.
    time.sleep(0.02)
    after = counters()
    bill = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    # What forgets nodes comes later, whenever the kernel likes.
    for name in ("forget", "batch_forget"):
        bill.pop(name, None)
    return bill


def nothing():
    pass


# What the asking costs.
bill_of(nothing)
ASKING = bill_of(nothing)


def judge(what: str, action, limit: str, expected: dict[str, int], agrees) -> None:
    global failures
    bill = bill_of(action)
    for name, count in ASKING.items():
        bill[name] = bill.get(name, 0) - count
    bill = {name: count for name, count in bill.items() if count != 0}
    good = agrees(bill)
    failures += not good
    print(f"{what}: {bill or 'none'} {'ok' if good else f'EXPECTED {limit} {expected}'}", flush=True)


def expect(what: str, action, expected: dict[str, int]) -> None:
    judge(what, action, "exactly", expected, lambda bill: bill == expected)


# For programs whose versions differ in what they ask.
def expect_at_most(what: str, action, expected: dict[str, int]) -> None:
    judge(what, action, "at most", expected, lambda bill: all(n <= expected.get(k, 0) for k, n in bill.items()))


def at(name: str) -> str:
    return os.path.join(WORK, name)


def write(name: str, data: bytes) -> None:
    with open(at(name), "wb", buffering=0) as file:
        file.write(data)


def read(name: str) -> bytes:
    with open(at(name), "rb", buffering=0) as file:
        return file.read()


def list_long(folder: str) -> None:
    for entry in os.scandir(at(folder)):
        entry.stat(follow_symlinks=False)


def git(*arguments: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "safe.directory=*", "-c", "gc.auto=0"]
    subprocess.run(["git", "--no-optional-locks", *identity, "-C", at("tree"), *arguments], check=True, env=environment,
                   stdout=subprocess.DEVNULL)


def absent() -> None:
    assert not os.path.exists(at("absent"))


def append_to_known() -> None:
    with open(at("known"), "ab", buffering=0) as file:
        file.write(b"more")


def replace() -> None:
    write("new", b"x" * 1000)
    os.rename(at("new"), at("known"))


def write_durably() -> None:
    with open(at("durable"), "wb", buffering=0) as file:
        file.write(b"x")
        os.fsync(file.fileno())


os.mkdir(WORK)
write("known", b"x" * 1000)
read("known")
os.stat(at("known"))

expect("stat again", lambda: os.stat(at("known")), {})
expect("open, read, close of a cached file", lambda: read("known"), {})
expect("a name that is not there", absent, {"lookup": 1})
expect("the same again", absent, {})
CREATE = {"lookup": 1, "mknod": 1, "getxattr": 1, "write": 1}
expect("create, write, close of a small file", lambda: write("small", b"x" * 1000), CREATE)
# The kernel keeps no page of which it was given a part only, nor the attributes of what a write or a new name has changed:
# the directory's are asked for again when a name is looked up in it.
expect("open, read, close of what was just written", lambda: read("small"), {"getattr": 2, "read": 1})
# A read or a listing may have changed the time of the last access, as far as the kernel knows: it asks when somebody looks.
expect("the same again", lambda: read("small"), {"getattr": 1})
expect("and once more", lambda: read("small"), {})
expect("append to a known file", append_to_known, {"getxattr": 1, "write": 1})
expect("create, write, fsync, close", write_durably, {**CREATE, "fsync": 1})
REPLACE = {**CREATE, "lookup": 2, "getattr": 2, "rename": 1}
expect("write anew and rename over", replace, REPLACE)
expect("unlink", lambda: os.unlink(at("small")), {"getattr": 1, "unlink": 1})
expect("mkdir", lambda: os.mkdir(at("folder")), {"lookup": 1, "getattr": 1, "mkdir": 1})
expect("rmdir", lambda: os.rmdir(at("folder")), {"getattr": 1, "rmdir": 1})
LINK = {"lookup": 1, "getattr": 2, "symlink": 1, "readlink": 1}
expect("symlink and readlink", lambda: (os.symlink("to", at("link")), os.readlink(at("link"))), LINK)
expect("readlink again", lambda: os.readlink(at("link")), {})
expect("chmod", lambda: os.chmod(at("known"), 0o600), {"setattr": 1})

os.mkdir(at("many"))
for number in range(100):
    write(f"many/{number:03}", b"x")
# The second answer is the empty one that ends the listing.
LISTING = {"opendir": 1, "readdirplus": 2, "releasedir": 1}
list_long("many")
os.stat(at("many"))
expect("ls -l of a hundred known files", lambda: list_long("many"), LISTING)
KEPT = {"opendir": 1, "releasedir": 1}
os.stat(at("many"))
expect("the same again: the kernel has kept it", lambda: list_long("many"), KEPT)
os.rename(at("many/099"), at("many/09x"))
list_long("many")
os.stat(at("many"))
expect("ls -l after a change, for the second time", lambda: list_long("many"), LISTING)
os.stat(at("many"))
expect("for the third time", lambda: list_long("many"), KEPT)
with open(sys.argv[2], "w") as drop:
    drop.write("3")
os.stat(at("many"))
expect("ls -l of a hundred unknown files", lambda: list_long("many"), LISTING)
# Since 6.16 the kernel asks for as much as its caller does, and he for as much as st_blksize says: here 128 KiB.
if tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2]) >= (6, 16):
    for number in range(2000):
        write(f"many/{number:04}-of-many", b"x")
    os.listdir(at("many"))
    NAMES = {"getattr": 1, "opendir": 1, "readdirplus": 1, "readdir": 2, "releasedir": 1}
    expect("the names of two thousand files", lambda: os.listdir(at("many")), NAMES)

if shutil.which("git"):
    os.mkdir(at("tree"))
    git("init", "-q")
    for folder in range(5):
        os.mkdir(at(f"tree/{folder}"))
        for number in range(20):
            write(f"tree/{folder}/{number}", b"content")
    git("add", ".")
    git("commit", "-qm", "all")
    git("status")
    git("status")
    # Six folders, .git and .git/refs are opened, some twice; of their names and files nothing is asked.
    expect_at_most("git status of a hundred files", lambda: git("status"),
                   {"getattr": 10, "opendir": 8, "releasedir": 8})

print(f"{failures} failures")
sys.exit(failures != 0)
