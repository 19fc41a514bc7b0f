"""The rooms of the tree, lowest layer first. docs/architecture.md shows the same table; a check compares them."""

from __future__ import annotations

# (layer, room). A file may include its own room and rooms of lower layers, never a room of its own layer.
LAYERS = [
    (0, "engine/base"),
    (1, "engine/ring"),
    (2, "engine/device"),
    (3, "engine/space"),
    (3, "engine/cache"),
    (3, "engine/memtable"),
    (4, "engine/wal"),
    (4, "engine/table"),
    (5, "engine/version"),
    (6, "engine/sst_log"),
    (6, "engine/compaction_buffer"),
    (6, "engine/compaction"),
    (7, "engine/tree"),
    (8, "engine/store"),
    (9, "fs/namespace"),
    (10, "fs/content"),
    (11, "fs/ops"),
    (12, "fs/fuse"),
    (13, "tools"),
    (14, "tools/bench"),
    (15, "src"),
]

LAYER_OF = {room: layer for layer, room in LAYERS}

# What the filesystem may see of the engine: the contract of the store, not its parts.
ENGINE_SEEN_BY_FS = {"engine/base", "engine/ring", "engine/store"}

# External headers that only some rooms may include: (what the include starts with or equals, rooms).
RESTRICTED_HEADERS = [
    ("liburing.h", {"engine/ring", "engine/device", "fs/fuse"}),
    ("liburing/", {"engine/ring", "engine/device", "fs/fuse"}),
    ("fuse3/", {"fs/fuse"}),
    ("fuse", {"fs/fuse"}),  # fuse.h, fuse_lowlevel.h, fuse_opt.h by their short names
    ("linux/fuse.h", {"fs/fuse"}),
    ("rocksdb/", {"tools/bench"}),
    ("leveldb/", {"tools/bench"}),
    ("nlohmann/", {"tools", "tools/bench"}),
    ("CLI/", {"src", "tools", "tools/bench"}),
]

# Rooms whose code runs on executors it is given: no threads of its own.
ROOMS_WITHOUT_THREADS = {room for room in LAYER_OF if room.startswith("engine/")} | {
    "fs/namespace",
    "fs/content",
    "fs/ops",
}


def room_of(path: str) -> str | None:
    """The room that a path relative to the root lies in, or None."""
    parts = path.split("/")
    for length in (2, 1):
        candidate = "/".join(parts[:length])
        if len(parts) > length and candidate in LAYER_OF:
            return candidate
    return None
