"""The command line of tools/bench-report."""

from __future__ import annotations

import argparse
import pathlib
import sys

from bench_report.results import BadResult, load


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench-report",
        description="Draw what varve bench and varve bench-mount measured: one HTML page that needs nothing else.",
    )
    parser.add_argument("results", nargs="+", type=pathlib.Path, metavar="JSON", help="what --json wrote")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="FILE.html", help="the page")
    arguments = parser.parse_args()
    try:
        from bench_report.page import page
    except ImportError as error:
        print(f"bench-report: {error}; install it with: tools/install-packages report", file=sys.stderr)
        return 1
    try:
        arguments.out.write_text(page([load(path) for path in arguments.results]))
    except (BadResult, OSError) as error:
        print(f"bench-report: {error}", file=sys.stderr)
        return 1
    return 0
