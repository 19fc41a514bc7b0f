"""The command line of tools/bench-report."""

from __future__ import annotations

import argparse
import pathlib
import re
import sys

from bench_report.results import BadResult, load


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench-report",
        description="Draw what varve bench and varve bench-mount measured: one HTML page that needs nothing else.",
    )
    parser.add_argument("results", nargs="+", type=pathlib.Path, metavar="JSON", help="what --json wrote")
    parser.add_argument(
        "--model", type=pathlib.Path, metavar="JSON", help="what write-model --json wrote, to draw beside what was measured"
    )
    parser.add_argument("--pictures", type=pathlib.Path, metavar="FOLDER", help="write each picture into it too, as SVG")
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="FILE.html", help="the page")
    arguments = parser.parse_args()
    try:
        from bench_report.page import page
    except ImportError as error:
        print(f"bench-report: {error}; install it with: tools/install-packages report", file=sys.stderr)
        return 1
    try:
        results = [load(path) for path in arguments.results]
        model = load(arguments.model) if arguments.model else None
        for each in results:
            each.model = model
        text = page(results)
        arguments.out.write_text(text)
        if arguments.pictures:
            arguments.pictures.mkdir(parents=True, exist_ok=True)
            for name, picture in re.findall(r'<figure id="([\w-]+)".*?(<svg.*?</svg>)', text, re.DOTALL):
                (arguments.pictures / f"{name}.svg").write_text(picture + "\n")
    except (BadResult, OSError) as error:
        print(f"bench-report: {error}", file=sys.stderr)
        return 1
    return 0
