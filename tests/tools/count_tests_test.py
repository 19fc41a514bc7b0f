#!/usr/bin/python3 -B
"""tools/count_tests.py on results made up here: what passed, failed and was skipped is counted. Prints TAP.

Usage: count_tests_test.py ROOT
"""

import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(sys.argv[1]).resolve() / "tools/count_tests.py"


def suites(*cases: str) -> str:
    return f"<?xml version='1.0' encoding='utf8'?><testsuites><testsuite name='s'>{''.join(cases)}</testsuite></testsuites>"


def passing(name: str) -> str:
    return f"<testcase name='{name}'/>"


def failing(name: str, output: str = "") -> str:
    return f"<testcase name='{name}'><failure/><system-out>{output}</system-out></testcase>"


def program(name: str, result: str, output: str = "") -> str:
    return json.dumps({"name": name, "result": result, "stdout": output}, ensure_ascii=False) + "\n"


def counted(junit: str, log: str, meson_status: int) -> tuple[int, list[str]]:
    """The exit status and the lines of a count of these files."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "testlog.junit.xml").write_text(junit)
        (pathlib.Path(folder) / "testlog.json").write_text(log)
        command = [sys.executable, "-B", PROGRAM, folder, str(meson_status)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


def test_counts_cases() -> bool:
    skipped = "<testcase name='c'><skipped/></testcase>"
    return counted(suites(passing("a"), passing("b"), skipped), program("s", "OK"), 0) == (
        0,
        ["skipped: s  c", "2 passed, 0 failed"],
    )


def test_shows_what_failed() -> bool:
    status, lines = counted(suites(passing("a"), failing("b")), program("s", "FAIL", "why\n"), 1)
    return status == 1 and "failed: s  b" in lines and "failed:   | why" in lines and lines[-1] == "1 passed, 1 failed"


def test_a_program_that_died_is_a_failure() -> bool:
    status, lines = counted(suites(passing("a")), program("dead", "TIMEOUT"), 1)
    return status == 1 and lines[-1] == "1 passed, 1 failed"


def test_output_that_is_no_xml_hides_nothing() -> bool:
    status, lines = counted(
        suites(passing("a"), failing("b", "\x00\x1b[31m\x0c")), program("s", "FAIL", "\u2028\x85\x00"), 1
    )
    return status == 1 and "failed: s  b" in lines and lines[-1] == "1 passed, 1 failed"


def test_nothing_run_is_a_failure() -> bool:
    status, lines = counted(suites(), program("s", "OK"), 0)
    return status == 1 and lines == ["0 passed, 0 failed"]


def test_an_empty_log_is_a_failure_too() -> bool:
    status, lines = counted(suites(), "", 1)
    return status == 1 and lines == ["0 passed, 1 failed"]


TESTS = [
    test_counts_cases,
    test_shows_what_failed,
    test_a_program_that_died_is_a_failure,
    test_output_that_is_no_xml_hides_nothing,
    test_nothing_run_is_a_failure,
    test_an_empty_log_is_a_failure_too,
]

print(f"1..{len(TESTS)}")
failures = 0
for number, test in enumerate(TESTS, 1):
    good = test()
    failures += not good
    print(f"{'ok' if good else 'not ok'} {number} - {test.__name__}")
sys.exit(failures > 0)
