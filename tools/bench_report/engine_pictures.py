"""Pictures of an engine's inside: its phases over time, and what each byte of the user costs the device."""

from __future__ import annotations

from bench_report.drawing import SHORT_TICKS, colour_of, grid, legend, short, to_svg
from bench_report.results import Results

# A curve needs that many points.
POINTS_MIN = 2


def _steps(phase: dict) -> list[tuple[float, float, dict]]:
    """(begin, end, growth of each count) between the entries of a phase's series, which count from its begin."""
    before = {"seconds": 0.0}
    steps = []
    for entry in phase.get("series") or []:
        growth = {key: (value or 0) - (before.get(key) or 0) for key, value in entry.items()}
        # The last entry may come right after the one before it: too short a time to be worth a point.
        if growth["seconds"] > 0.2 or not steps and growth["seconds"] > 0:
            steps.append((before["seconds"], entry["seconds"], growth))
            before = entry
    return steps


def _hit_ratio(growth: dict) -> float | None:
    asked = growth.get("cache_hits", 0) + growth.get("cache_misses", 0)
    return growth["cache_hits"] / asked if asked > 0 else None


def _operations_a_second(growth: dict) -> float | None:
    return growth["operations"] / growth["seconds"] if "operations" in growth else None


def _curve(phase: dict, figure_of) -> tuple[list[float], list[float]]:
    points = [((begin + end) / 2, figure_of(growth)) for begin, end, growth in _steps(phase)]
    points = [(time, value) for time, value in points if value is not None]
    return [time for time, _ in points], [value for _, value in points]


def _phases_with_curves(results: Results, figure_of) -> list[str]:
    """Those in which some round has enough points, and not all of them are 0."""

    def is_curve(phase: dict) -> bool:
        values = _curve(phase, figure_of)[1]
        return len(values) >= POINTS_MIN and any(values)

    return [
        name
        for name in results.phases
        if any(is_curve(phase) for subject in results.subjects for phase in results.of(name, subject))
    ]


def _over_time(results: Results, figure_of, label: str, share: bool) -> str | None:
    """A panel a phase: the median round as a line, the others faint behind it."""
    names = _phases_with_curves(results, figure_of)
    if not names:
        return None
    figure, panels = grid(len(names))
    for panel, name in zip(panels, names):
        for subject in results.subjects:
            middle = results.middle(name, subject)
            for phase in results.of(name, subject):
                times, values = _curve(phase, figure_of)
                bold = phase is middle
                panel.plot(
                    times,
                    values,
                    "o-" if len(times) < POINTS_MIN else "-",
                    markersize=4,
                    color=colour_of(subject, results.subjects),
                    linewidth=1.7 if bold else 0.8,
                    alpha=1 if bold else 0.35,
                )
        panel.set_title(name, loc="left")
        panel.set_xlabel("seconds")
        panel.set_ylabel(label)
        panel.set_xlim(left=0)
        panel.set_ylim(0, 1.02 if share else None)
        if share:
            panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        else:
            panel.yaxis.set_major_formatter(SHORT_TICKS)
    legend(figure, results.subjects)
    return to_svg(figure)


def throughput_over_time(results: Results) -> str | None:
    return _over_time(results, _operations_a_second, "operations/s", share=False)


def hit_ratio_over_time(results: Results) -> str | None:
    return _over_time(results, _hit_ratio, "cache hits", share=True)


def _figure_named(name: str):
    return lambda phase: phase.get(name)


# What is drawn by engine: (member of the phase, title).
AMPLIFICATIONS = [
    ("write_amplification", "Device writes / user's byte"),
    ("read_write_amplification", "Device reads + writes / user's byte"),
    ("device_reads_per_found", "Device reads / key found"),
]


def _grouped_bars(panel, results: Results, names: list[str], member: str) -> None:
    """A group a phase, a bar an engine."""
    height = 0.8 / len(results.subjects)
    largest = 0.0
    for number, subject in enumerate(results.subjects):
        for place, name in enumerate(names):
            value = results.median(name, subject, _figure_named(member))
            if value is None:
                continue
            y = place + (number - (len(results.subjects) - 1) / 2) * height
            panel.barh(y, value, height * 0.92, color=colour_of(subject, results.subjects))
            panel.text(value, y, " " + short(value), va="center", fontsize=8.5)
            largest = max(largest, value)
    panel.set_yticks(range(len(names)), names)
    panel.invert_yaxis()
    panel.set_xlim(0, largest * 1.2)
    panel.grid(axis="y", visible=False)


def amplification_by_engine(results: Results) -> str | None:
    """A panel a kind of amplification."""
    shown = []
    for member, title in AMPLIFICATIONS:
        names = [
            name
            for name in results.phases
            if any(results.median(name, each, _figure_named(member)) for each in results.subjects)
        ]
        if names:
            shown.append((member, title, names))
    if not shown:
        return None
    groups = max(len(names) for _, _, names in shown)
    figure, panels = grid(len(shown), panel=(4.1, 0.8 + groups * (0.2 + 0.24 * len(results.subjects))))
    for panel, (member, title, names) in zip(panels, shown):
        _grouped_bars(panel, results, names, member)
        panel.set_title(title, loc="left")
    legend(figure, results.subjects)
    return to_svg(figure)


def _written_by_level(phase: dict | None) -> dict[int, float]:
    """Bytes that merges wrote into each level for each byte of the user."""
    user_bytes = (phase or {}).get("user_bytes") or 0
    if not user_bytes:
        return {}
    levels = phase.get("levels") or []
    return {each["level"]: each["written_bytes"] / user_bytes for each in levels if each.get("written_bytes")}


def _modelled_by_level(results: Results, name: str, subject: str) -> dict[int, float]:
    """What the model says of "varve:TECHNIQUES", it says of "model:TECHNIQUES"."""
    if results.model is None or name not in results.model.phases:
        return {}
    return _written_by_level(results.model.middle(name, subject.replace("varve:", "model:")))


def amplification_by_level(results: Results) -> str | None:
    """A panel a phase that writes, a group of bars a level; hatched what the model says, where there is one."""
    names = [
        name
        for name in results.phases
        if any(_written_by_level(results.middle(name, each)) for each in results.subjects)
    ]
    if not names:
        return None
    figure, panels = grid(len(names), panel=(max(4.1, 1.3 * len(results.subjects)), 3.0))
    for panel, name in zip(panels, names):
        # Each with what the model says of it behind it.
        bars = []
        for subject in results.subjects:
            bars.append((subject, None, _written_by_level(results.middle(name, subject))))
            if modelled := _modelled_by_level(results, name, subject):
                bars.append((subject, "///", modelled))
        levels = sorted({level for _, _, written in bars for level in written})
        width = 0.8 / len(bars)
        for number, (subject, hatch, written) in enumerate(bars):
            for place, level in enumerate(levels):
                x = place + (number - (len(bars) - 1) / 2) * width
                value = written.get(level, 0)
                colour = colour_of(subject, results.subjects)
                panel.bar(x, value, width * 0.92, color=colour, hatch=hatch, edgecolor="white")
                if value:
                    panel.text(x, value, f"{value:.2g}", ha="center", va="bottom", fontsize=7)
        panel.set_title(name, loc="left")
        panel.set_xticks(range(len(levels)), [f"L{level}" for level in levels])
        panel.set_ylabel("written / user's byte")
        panel.margins(y=0.15)
        panel.grid(axis="x", visible=False)
    legend(figure, results.subjects)
    return to_svg(figure)
