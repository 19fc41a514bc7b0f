#!/usr/bin/python3 -B
"""tools/bench-report on results made up here: every picture and the table are on the page. Prints TAP.

Usage: bench_report_test.py ROOT
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

REPORT = pathlib.Path(sys.argv[1]).resolve() / "tools/bench-report"

# How fast each is made out to be, and how often it writes a byte.
ENGINES = {"varve": (90_000, 9.0), "rocksdb": (70_000, 12.0), "leveldb": (55_000, 14.5)}
FILESYSTEMS = {"varve": 10_000, "ntfs-3g": 6_000, "ext4": 40_000, "raw device": 70_000}


def histogram(typical_us: float, operations: int) -> list:
    """Times around `typical_us`, with a tail."""
    buckets = [(typical_us * 2 ** (i / 8 - 2), math.exp(-(((i - 16) / 6) ** 2)) + 1e-4 * 0.93**i) for i in range(96)]
    whole = sum(share for _, share in buckets)
    return [[upper, round(operations * share / whole)] for upper, share in buckets]


def latency(typical_us: float) -> dict:
    factors = {"p50": 1, "p99": 3, "p99.9": 20, "p99.99": 90, "max": 400, "mean": 1.2}
    return {name: typical_us * factor for name, factor in factors.items()}


def series(operations_a_second: float, seconds: int, reads: bool) -> list:
    entries, operations, hits = [], 0, 0
    for second in range(1, seconds + 1):
        grown = operations_a_second * (1 + 0.2 * math.sin(second))
        operations += grown
        hits += grown * (0.9 - 0.6 / second)
        entry = {"seconds": float(second), "operations": round(operations)}
        entry |= {"cache_hits": round(hits) if reads else 0, "cache_misses": round(operations - hits) if reads else 0}
        entries.append(entry | {"device_read_bytes": 0, "device_written_bytes": 0})
    return entries


def engine_phase(name: str, speed: float, amplification: float) -> dict:
    reads, seconds = name.startswith("read"), 20
    operations = round(speed * seconds)
    user_bytes = 0 if reads else operations * 116
    phase = {
        "name": name,
        "seconds": float(seconds),
        "operations": operations,
        "operations_per_second": speed,
        "user_bytes": user_bytes,
        "latency_us": latency(1e6 / speed),
        "latency_histogram": histogram(1e6 / speed, operations),
        "write_amplification": None if reads else amplification,
        "read_write_amplification": None if reads else amplification * 1.8,
        "device_reads_per_found": 1.02 if reads else None,
        "space_bytes": operations * 120,
        "stall_seconds": 0.0 if reads else 1.5,
        "cpu_seconds": 15.0,
        "peak_memory_bytes": 300 << 20,
        "series": series(speed, seconds, reads),
    }
    phase["levels"] = [
        {"level": level, "bytes": 1, "read_bytes": 1, "written_bytes": round(user_bytes * amplification / 4)}
        for level in range(4)
    ]
    return phase


def filesystem_phase(name: str, speed: float, operation_bytes: int) -> dict:
    operations = round(speed * 2)
    phase = {"name": name, "seconds": 2.0, "operations": operations, "operations_per_second": speed}
    phase |= {"user_bytes": operations * operation_bytes, "unmount_seconds": 0.5}
    return phase | {"latency_us": latency(1e6 / speed), "latency_histogram": histogram(1e6 / speed, operations)}


def engine_result() -> dict:
    runs = [
        {
            "engine": engine,
            "round": number,
            "phases": [
                engine_phase("fillrandom", speed * (1 + number / 20), amplification),
                engine_phase("readrandom", speed / 2 * (1 + number / 30), amplification),
            ],
        }
        for number in (1, 2, 3)
        for engine, (speed, amplification) in ENGINES.items()
    ]
    return {"varve": "0.1.0", "command": "varve bench", "machine": {"kernel": "6.1 <x>"}, "options": {}, "runs": runs}


def filesystem_result() -> dict:
    phases = {"create 1 KiB": 1024, "1 MiB sequential write": 1 << 20}
    runs = [
        {
            "filesystem": name,
            "round": number,
            "phases": [filesystem_phase(phase, speed / number, size) for phase, size in phases.items()],
        }
        for number in (1, 2)
        for name, speed in FILESYSTEMS.items()
    ]
    return {"varve": "0.1.0", "command": "varve bench-mount", "machine": {}, "options": {}, "runs": runs}


def techniques_result(value_bytes: int) -> dict:
    """Of varve without and with a technique, at one size of values."""
    runs = [
        {"engine": engine, "round": 1, "phases": [engine_phase("fillrandom", speed, amplification)]}
        for engine, speed, amplification in (("varve:none", 1000, 12.0), ("varve:block", 500 + value_bytes, 9.0))
    ]
    options = {"value_bytes": [value_bytes, value_bytes], "block_bytes": 4096}
    return {"varve": "0.1.0", "command": "varve bench", "machine": {}, "options": options, "runs": runs}


def report(folder: pathlib.Path, *documents: object, model: object = None) -> tuple[int, str, str]:
    """(exit code, the page, messages) for documents, or text in place of one."""
    paths = []
    for number, document in enumerate(documents):
        paths.append(folder / f"result{number}.json")
        paths[-1].write_text(document if isinstance(document, str) else json.dumps(document))
    out = folder / "page.html"
    out.unlink(missing_ok=True)
    options = []
    if model is not None:
        (folder / "model.json").write_text(json.dumps(model))
        options = ["--model", folder / "model.json"]
    run = subprocess.run([REPORT, *paths, *options, "--out", out], capture_output=True, text=True)
    return run.returncode, out.read_text() if out.exists() else "", run.stderr


def picture_files(folder: pathlib.Path, document: object) -> set[str]:
    """Names of those that --pictures writes, if each can be parsed."""
    (folder / "alone.json").write_text(json.dumps(document))
    made = folder / "pictures"
    subprocess.run([REPORT, folder / "alone.json", "--pictures", made, "--out", folder / "page.html"], check=True)
    return {path.name for path in made.iterdir() if xml.etree.ElementTree.parse(path)}


def pictures(page: str) -> dict[str, xml.etree.ElementTree.Element]:
    """The parsed SVG of each figure, by the figure's identifier."""
    found = re.findall(r'<figure id="([\w-]+)".*?(<svg.*?</svg>)', page, re.DOTALL)
    return {name: xml.etree.ElementTree.fromstring(svg) for name, svg in found}


def texts(svg: xml.etree.ElementTree.Element) -> set[str]:
    return {"".join(each.itertext()).strip() for each in svg.iter("{http://www.w3.org/2000/svg}text")}


def claims(folder: pathlib.Path):
    """(name, whether it holds) of each."""
    code, page, messages = report(folder, engine_result(), filesystem_result())
    print(messages, file=sys.stderr)
    drawn = pictures(page)
    yield "it succeeds", code == 0
    engine_pictures = ["speed-1", "throughput-1", "latency-1", "amplification-1", "levels-1", "hits-1"]
    yield "every picture is there", list(drawn) == [*engine_pictures, "speed-2", "latency-2"]
    yield "each names the subjects", all(
        set(ENGINES if name.endswith("1") else FILESYSTEMS) <= texts(svg) for name, svg in drawn.items()
    )
    yield "each has a panel for its phases", all(
        ({"fillrandom", "readrandom"} if name in engine_pictures else {"create 1 KiB"}) & texts(svg)
        for name, svg in drawn.items()
    )
    yield "hits are drawn for reads only", "fillrandom" not in texts(drawn["hits-1"])
    yield "creates are told with their unmount too", "create 1 KiB + unmount" in texts(drawn["speed-2"])
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    yield "no identifier is used twice", len(identifiers) == len(set(identifiers))
    yield "nothing is fetched from elsewhere", not re.search(r'(src|href)="(?!#)', page)
    yield "the ratio of medians is in the table", "varve / rocksdb" in page and ">1.29 ×<" in page
    yield "being behind is marked", 'class="behind"' in page
    yield "what a result says is escaped", "6.1 &lt;x&gt;" in page
    short = engine_result()
    for run in short["runs"]:
        for phase in run["phases"]:
            for member in ("series", "levels", "latency_histogram", "latency_us", "write_amplification"):
                phase.pop(member)
    code, page, _ = report(folder, short)
    yield "what was not measured is left out", code == 0 and list(pictures(page)) == ["speed-1", "amplification-1"]
    files = picture_files(pathlib.Path(tempfile.mkdtemp(dir=folder)), engine_result())
    yield "pictures are written one by one too", files == {f"{name}.svg" for name in engine_pictures}
    several = [techniques_result(value_bytes) for value_bytes in (100, 500, 1024)]
    code, page, messages = report(folder, *several)
    print(messages, file=sys.stderr)
    drawn = pictures(page)
    yield "several sizes are drawn in one picture", code == 0 and "sensitivity-fillrandom" in drawn
    yield "it names what differs", {"value 100", "value 500", "value 1K"} <= texts(drawn["sensitivity-fillrandom"])
    table = page[page.index("<section><h2>Sensitivity") : page.index("</section>")]
    yield "its ratios are to the first", all(f">{ratio:.2f}<" in table for ratio in (0.6, 1.0, 1.52, 0.75))
    yield "few results are no picture", "sensitivity" not in pictures(report(folder, *several[:2])[1])
    model = json.loads(json.dumps(several[0]).replace("varve:", "model:"))
    without, beside = (pictures(report(folder, several[0], model=each)[1])["levels-1"] for each in (None, model))
    paths = [len(list(svg.iter("{http://www.w3.org/2000/svg}path"))) for svg in (without, beside)]
    yield "the model is drawn beside what was measured", paths[1] > paths[0]
    code, page, messages = report(folder, '{"runs": [{"round": 1}]}')
    yield "what is no result is refused by name", code == 1 and not page and "result0.json" in messages
    code, page, messages = report(folder, "no JSON")
    yield "what is no JSON is refused by name", code == 1 and not page and "result0.json" in messages


def main() -> int:
    python = REPORT.read_text().split("\n")[0].removeprefix("#!").split()
    if subprocess.run([*python, "-c", "import matplotlib"], capture_output=True).returncode != 0:
        print("1..0 # SKIP there is no matplotlib")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, holds) in enumerate(claims(pathlib.Path(folder)), 1):
            print(f"{'ok' if holds else 'not ok'} {number} {name}", flush=True)
            failed += not holds
        print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
