#!/usr/bin/env python3
"""Counts the cases of a `meson test` run. Usage: count_tests.py MESON_LOGS_FOLDER EXIT_STATUS_OF_MESON

A gtest program and a TAP script count each case, any other test counts as one. The last line printed is
"N passed, M failed"; the exit status is 0 when something passed and nothing failed.
"""

import json
import pathlib
import re
import sys
import xml.etree.ElementTree

BAD_RESULTS = {"FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"}

# Of a failed program's output, so much is shown again beside its name.
LAST_LINES = 20

# What XML cannot hold, and meson copies into its file when a program prints it.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def count_cases(junit: pathlib.Path) -> tuple[int, list[str], list[str]]:
    """(passed, names of failed, names of skipped) of a JUnit file."""
    passed, failed, skipped = 0, [], []
    text = NOT_XML.sub("?", junit.read_text(encoding="utf-8", errors="replace"))
    # As bytes: the file's own declaration of its encoding is refused in a string.
    for suite in xml.etree.ElementTree.fromstring(text.encode()).iter("testsuite"):
        for case in suite.iter("testcase"):
            name = f"{suite.get('name')} {case.get('classname') or ''} {case.get('name')}"
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                skipped.append(name)
            else:
                passed += 1
    return passed, failed, skipped


def failed_programs(log: pathlib.Path) -> dict[str, list[str]]:
    """Tests that failed as a whole, a crash or a time-out included, which leave no failed case behind; the last
    lines that each printed."""
    # One a line; what else ends a line to str.splitlines may stand in a program's output.
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    tests = map(json.loads, filter(None, lines))
    return {
        test["name"]: (test.get("stdout", "") + test.get("stderr", "")).splitlines()[-LAST_LINES:]
        for test in tests
        if test["result"] in BAD_RESULTS
    }


def main() -> int:
    logs = pathlib.Path(sys.argv[1])
    meson_status = int(sys.argv[2])
    if not (logs / "testlog.junit.xml").exists():
        print("no test was run")
        print("0 passed, 1 failed")
        return 1
    passed, failed, skipped = count_cases(logs / "testlog.junit.xml")
    programs = failed_programs(logs / "testlog.json")
    # A program that died half-way wrote no list of its cases.
    count = max(len(failed), len(programs))
    if meson_status != 0 and count == 0:
        count = 1
    for name in skipped:
        print(f"skipped: {name}")
    for name in sorted(set(failed) | set(programs)):
        print(f"failed: {name}")
        for line in programs.get(name, []):
            print(f"failed:   | {line}")
    print(f"{passed} passed, {count} failed")
    return 0 if count == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
