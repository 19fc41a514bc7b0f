#!/usr/bin/env python3
"""Every header compiles alone: compiles each as a file of its own. Usage: header_test.py ROOT COMPILER..."""

import concurrent.futures
import os
import pathlib
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


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    compiler = [part for part in sys.argv[2:] if os.path.basename(part) != "ccache"]
    headers = Tree(root).headers()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        results = list(pool.map(lambda header: compile_alone(root, compiler, header), headers))
    print(f"1..{len(headers)}")
    for number, (header, complaints) in enumerate(zip(headers, results), 1):
        for line in complaints.splitlines():
            print(line, file=sys.stderr)
        print(f"{'not ok' if complaints else 'ok'} {number} {header} compiles alone")
        failed += bool(complaints)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
