"""The table of ratios: each figure of each phase, for every subject, and varve's beside it."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Callable

from bench_report.curves import bytes_a_second, is_bulk
from bench_report.drawing import short, time_of
from bench_report.results import Results, latency, speed

# Within this a ratio counts as equal.
EQUAL_WITHIN = 0.03


@dataclass
class Figure:
    title: str
    of: Callable[[dict], float | None]
    show: Callable[[float], str]
    higher_is_better: bool = False


def _bytes(value: float) -> str:
    for factor, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"


def _cpu_microseconds(phase: dict) -> float | None:
    seconds, operations = phase.get("cpu_seconds"), phase.get("operations")
    return seconds * 1e6 / operations if seconds is not None and operations else None


SPEED = Figure("operations/s", speed, short, higher_is_better=True)
BANDWIDTH = Figure("bytes/s", bytes_a_second, lambda value: _bytes(value) + "/s", higher_is_better=True)
OTHERS = [
    Figure("latency p50", latency("p50"), time_of),
    Figure("latency p99", latency("p99"), time_of),
    Figure("latency p99.9", latency("p99.9"), time_of),
    Figure("latency p99.99", latency("p99.99"), time_of),
    Figure("write amplification", lambda phase: phase.get("write_amplification"), short),
    Figure("device reads / key found", lambda phase: phase.get("device_reads_per_found"), short),
    Figure("space", lambda phase: phase.get("space_bytes"), _bytes),
    Figure("processor time / operation", _cpu_microseconds, time_of),
    Figure("stalled", lambda phase: phase.get("stall_seconds"), lambda value: time_of(value * 1e6) if value else "0"),
    Figure("peak memory", lambda phase: phase.get("peak_memory_bytes"), _bytes),
]


def verdict_of(ratio: float, higher_is_better: bool) -> str:
    if abs(ratio - 1) <= EQUAL_WITHIN:
        return "equal"
    return "better" if (ratio > 1) == higher_is_better else "behind"


def _row(results: Results, phase: str, figure: Figure, lead: str) -> str | None:
    values = {each: results.median(phase, each, figure.of) for each in results.subjects}
    if sum(value is not None for value in values.values()) == 0:
        return None
    cells = []
    for subject, value in values.items():
        cells.append("<td>–</td>" if value is None else f"<td>{html.escape(figure.show(value))}</td>")
    for subject in results.subjects:
        if subject == results.reference:
            continue
        ratio = results.ratio(phase, subject, figure.of)
        if ratio is None:
            cells.append("<td>–</td>")
        else:
            verdict = verdict_of(ratio, figure.higher_is_better)
            cells.append(f'<td class="{verdict}" title="{verdict}">{ratio:.2f} ×</td>')
    return f"<tr>{lead}<td>{html.escape(figure.title)}</td>{''.join(cells)}</tr>"


def ratios(results: Results) -> str:
    peers = [each for each in results.subjects if each != results.reference]
    head = "".join(f"<th>{html.escape(each)}</th>" for each in results.subjects)
    head += "".join(f"<th>{html.escape(results.reference)} / {html.escape(each)}</th>" for each in peers)
    body = []
    for name, by_subject in results.phases.items():
        some = next(iter(next(iter(by_subject.values())).values()))
        figures = [BANDWIDTH if is_bulk(some) else SPEED, *OTHERS]
        rows = [row for figure in figures if (row := _row(results, name, figure, "{lead}"))]
        for number, row in enumerate(rows):
            lead = f'<th rowspan="{len(rows)}">{html.escape(name)}</th>' if number == 0 else ""
            body.append(row.replace("{lead}", lead, 1))
    return (
        f"<table><thead><tr><th>phase</th><th>figure</th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )
