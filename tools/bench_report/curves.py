"""Pictures that engines and filesystems share: bars of speeds and the distribution of latencies."""

from __future__ import annotations

from collections import Counter

from bench_report.drawing import SHORT_TICKS, TIME_TICKS, colour_of, grid, legend, short, to_svg
from bench_report.results import Results, speed

# Phases whose operations are this large are told in bytes a second.
BULK_BYTES = 64 * 1024


def is_bulk(phase: dict) -> bool:
    return phase.get("operations", 0) > 0 and (phase.get("user_bytes") or 0) / phase["operations"] >= BULK_BYTES


def bytes_a_second(phase: dict) -> float | None:
    return phase["user_bytes"] / phase["seconds"] if phase.get("seconds") else None


def speed_bars(results: Results) -> str:
    """A panel a phase, a bar a subject: the median, every round as a dot."""
    figure, panels = grid(len(results.phases), panel=(4.1, 0.9 + 0.32 * len(results.subjects)))
    for panel, (name, by_subject) in zip(panels, results.phases.items()):
        some = next(iter(next(iter(by_subject.values())).values()))
        measure, unit = (bytes_a_second, "bytes/s") if is_bulk(some) else (speed, "operations/s")
        subjects = [each for each in results.subjects if each in by_subject]
        values = [results.median(name, each, measure) or 0 for each in subjects]
        largest = max(values, default=0) or 1
        for row, (subject, value) in enumerate(zip(subjects, values)):
            panel.barh(row, value, color=colour_of(subject, results.subjects), height=0.72)
            rounds = [measure(each) or 0 for each in results.of(name, subject)]
            if len(rounds) > 1:
                panel.plot(rounds, [row] * len(rounds), "o", color="black", markersize=2.6, alpha=0.65)
            panel.text(max([value, *rounds]) + largest * 0.02, row, short(value), va="center", fontsize=8.5)
        panel.set_title(name, loc="left")
        panel.set_yticks(range(len(subjects)), subjects)
        panel.invert_yaxis()
        panel.set_xlim(0, largest * 1.22)
        panel.set_xlabel(unit)
        panel.xaxis.set_major_formatter(SHORT_TICKS)
        panel.grid(axis="y", visible=False)
    return to_svg(figure)


def _histogram(results: Results, phase: str, subject: str) -> list[tuple[float, int]]:
    """(upper bound in µs, count), of all rounds together."""
    counts: Counter[float] = Counter()
    for each in results.of(phase, subject):
        for upper, count in each.get("latency_histogram") or []:
            counts[upper] += count
    return sorted(counts.items())


def phases_with_latencies(results: Results) -> list[str]:
    return [name for name in results.phases if any(_histogram(results, name, each) for each in results.subjects)]


def _slower_than(histogram: list[tuple[float, int]]) -> tuple[list[float], list[float]]:
    """The share of operations that took longer than each bound; steps begin at 1."""
    total = sum(count for _, count in histogram)
    left = total
    times, shares = [histogram[0][0]], [1.0]
    for upper, count in histogram:
        left -= count
        times.append(upper)
        # The slowest ends the curve; 0 has no place on a logarithmic axis.
        shares.append(max(left, 0.5) / total)
    return times, shares


def latency_curves(results: Results) -> str:
    """A panel a phase: which share of the operations took longer than a time; both axes logarithmic."""
    names = phases_with_latencies(results)
    figure, panels = grid(len(names))
    for panel, name in zip(panels, names):
        lowest = 1e-4
        for subject in results.subjects:
            if histogram := _histogram(results, name, subject):
                times, shares = _slower_than(histogram)
                lowest = min(lowest, shares[-1])
                panel.step(times, shares, where="post", color=colour_of(subject, results.subjects), linewidth=1.7)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylim(max(lowest, 1e-7), 1.3)
        panel.xaxis.set_major_formatter(TIME_TICKS)
        panel.xaxis.set_minor_formatter(lambda *_: "")
        panel.set_yticks([0.5, 1e-1, 1e-2, 1e-3, 1e-4], ["p50", "p90", "p99", "p99.9", "p99.99"])
        panel.minorticks_off()
        panel.set_title(name, loc="left")
        panel.set_xlabel("latency")
        panel.set_ylabel("slower than")
    legend(figure, results.subjects)
    return to_svg(figure)
