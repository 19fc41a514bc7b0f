#!/usr/bin/env python3
"""Checks the rules of the tree, one TAP line a rule. Usage: style_test.py ROOT"""

import pathlib
import sys

import checks
from tree import Tree


def main() -> int:
    tree = Tree(pathlib.Path(sys.argv[1]).resolve())
    failed = 0
    print(f"1..{len(checks.ALL)}")
    for number, check in enumerate(checks.ALL, 1):
        found = check(tree)
        name = check.__name__
        if found is None:
            print(f"ok {number} {name} # SKIP the tool is not installed")
            continue
        for violation in found:
            print(violation, file=sys.stderr)
        print(f"{'not ok' if found else 'ok'} {number} {name}")
        failed += bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
