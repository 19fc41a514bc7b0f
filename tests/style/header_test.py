#!/usr/bin/env python3
"""Every header compiles alone. Usage: header_test.py ROOT BUILD_FOLDER COMPILER...

A header whose own source file includes it first has been compiled alone by the build; the others are compiled here, each as
a file of its own.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

from tree import Tree

PACKAGES = ["fmt", "liburing", "libxxhash", "blkid", "fuse3", "CLI11", "gmock"]


def flags() -> list[str]:
    cflags = subprocess.run(["pkg-config", "--cflags", *PACKAGES], capture_output=True, text=True, check=True)
    return ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-x", "c++", "-I.", *cflags.stdout.split()]


def compile_alone(root: pathlib.Path, compiler: list[str], header: str) -> str:
    """The compiler's complaints; empty when the header compiles."""
    # Through an including line, since `#pragma once` in a main file is warned about.
    done = subprocess.run(
        [*compiler, *flags(), "-"], cwd=root, input=f'#include "{header}"\n', capture_output=True, text=True
    )
    return done.stderr if done.returncode != 0 else ""


def compiled_sources(root: pathlib.Path, build_folder: pathlib.Path) -> set[str]:
    """What the build compiles, seen from the root."""
    commands = json.loads((build_folder / "compile_commands.json").read_text())
    return {
        os.path.relpath(os.path.join(command["directory"], command["file"]), root) for command in commands
    }


def is_first_in_its_source(root: pathlib.Path, header: str, compiled: set[str]) -> bool:
    """Whether the build has compiled the header with nothing before it."""
    source = header.removesuffix(".h") + ".cc"
    if source not in compiled:
        return False
    first = re.search(r"^\s*#\s*(\w.*)$", (root / source).read_text(), re.MULTILINE)
    return first is not None and first.group(1) == f'include "{header}"'


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    compiled = compiled_sources(root, pathlib.Path(sys.argv[2]))
    compiler = [part for part in sys.argv[3:] if os.path.basename(part) != "ccache"]
    headers = Tree(root).headers()
    alone = [header for header in headers if not is_first_in_its_source(root, header, compiled)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        results = dict(zip(alone, pool.map(lambda header: compile_alone(root, compiler, header), alone)))
    print(f"1..{len(headers)}")
    for number, header in enumerate(headers, 1):
        complaints = results.get(header, "")
        for line in complaints.splitlines():
            print(line, file=sys.stderr)
        how = "compiles alone" if header in results else "is the first that its source includes"
        print(f"{'not ok' if complaints else 'ok'} {number} {header} {how}")
        failed += bool(complaints)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
