"""The project's files as the checks see them: paths relative to the root, and their text."""

from __future__ import annotations

import os
import pathlib
import re

SKIPPED_NAMES = {".git", "__pycache__"}
# Images and other bulk that a user keeps beside the sources are not the project's.
FILE_BYTES_MAX = 1 << 20
SOURCE_SUFFIXES = (".h", ".cc")
TOP_FOLDERS = ("engine", "fs", "tools", "src", "tests", "docs", ".ci")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


class Tree:
    def __init__(self, root: pathlib.Path):
        self.root = root
        self.files: dict[str, str] = {}
        for folder, folders, names in os.walk(root):
            relative = pathlib.Path(folder).relative_to(root)
            folders[:] = sorted(
                name
                for name in folders
                if name not in SKIPPED_NAMES and (relative.parts or name in TOP_FOLDERS)
            )
            for name in sorted(names):
                path = pathlib.Path(folder) / name
                if path.is_symlink() or name in SKIPPED_NAMES or path.stat().st_size > FILE_BYTES_MAX:
                    continue
                try:
                    text = path.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    text = ""  # a picture or sample data: it exists, and no check reads it
                self.files[(relative / name).as_posix()] = text

    def sources(self) -> list[str]:
        return [path for path in self.files if path.endswith(SOURCE_SUFFIXES)]

    def product_sources(self) -> list[str]:
        return [path for path in self.sources() if not path.startswith("tests/")]

    def headers(self) -> list[str]:
        return [path for path in self.files if path.endswith(".h")]

    def pages(self) -> list[str]:
        return [path for path in self.files if path.endswith(".md")]

    def exists(self, path: str) -> bool:
        return (self.root / path).exists()

    def includes(self, path: str) -> list[tuple[int, bool, str]]:
        """(line, quoted, what) of each include."""
        text = self.files[path]
        return [
            (text.count("\n", 0, match.start()) + 1, match[1] == '"', match[2])
            for match in INCLUDE.finditer(text)
        ]
