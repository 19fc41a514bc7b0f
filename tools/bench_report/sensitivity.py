"""Several results that differ in some options: how far each subject is from the first as the options change."""

from __future__ import annotations

import html

from bench_report.drawing import colour_of, grid, legend, to_svg
from bench_report.results import Results, speed
from bench_report.tables import verdict_of

# Title, figure, and whether more of it is better.
FIGURES = [
    ("operations a second", speed, True),
    ("bytes written for a byte of the user", lambda phase: phase.get("write_amplification"), False),
    ("space", lambda phase: phase.get("space_bytes"), False),
]


def _shown(value) -> str:
    if isinstance(value, list):
        return "-".join(_shown(each) for each in dict.fromkeys(value))
    for factor, letter in ((2**20, "M"), (2**10, "K")):
        if isinstance(value, int) and value >= factor and value % factor == 0:
            return f"{value // factor}{letter}"
    return str(value)


# How the options that make a difference are called; others follow from them.
NAMES = {"value_bytes": "value", "key_bytes": "key", "block_bytes": "block", "table_bytes": "table"}


def labels(all_results: list[Results]) -> list[str]:
    """Each result by the options in which not all agree."""
    options = [each.document.get("options") or {} for each in all_results]
    differing = [name for name in NAMES if len({str(each.get(name)) for each in options}) > 1]
    return [" ".join(f"{NAMES[name]} {_shown(each.get(name))}" for name in differing) for each in options]


def phases(all_results: list[Results]) -> list[str]:
    """Those that write and that every result has; none where the results are not alike."""
    first = all_results[0]
    if len(all_results) < 3 or any(each.subjects != first.subjects or each.kind != "engine" for each in all_results):
        return []
    if len(first.subjects) < 2 or len(set(labels(all_results))) < len(all_results):
        return []
    written = [name for name in first.phases if name.startswith(("fill", "overwrite"))]
    return [name for name in written if all(name in each.phases for each in all_results)]


def _ratio(results: Results, phase: str, subject: str, figure) -> float | None:
    ratio = results.ratio(phase, subject, figure)
    return 1 / ratio if ratio else None


def picture(all_results: list[Results], phase: str) -> str:
    names, subjects = labels(all_results), all_results[0].subjects[1:]
    figure, panels = grid(len(FIGURES), panel=(4.6, 1.0 + 0.28 * len(names)))
    for panel, (title, of, _) in zip(panels, FIGURES):
        for subject in subjects:
            ratios = [_ratio(each, phase, subject, of) for each in all_results]
            panel.plot(ratios, range(len(names)), "o-", color=colour_of(subject, subjects), markersize=4)
        panel.axvline(1, color="#222222", linewidth=0.8)
        panel.set_yticks(range(len(names)), names)
        panel.invert_yaxis()
        panel.set_title(f"{phase}: {title}", loc="left")
    legend(figure, subjects)
    return to_svg(figure)


def table(all_results: list[Results], phase: str) -> str:
    names, subjects = labels(all_results), all_results[0].subjects[1:]
    head = "".join(f"<th>{html.escape(subject)}: {title}</th>" for subject in subjects for title, _, _ in FIGURES)
    rows = []
    for name, each in zip(names, all_results):
        cells = ""
        for subject in subjects:
            for _, of, higher_is_better in FIGURES:
                ratio = _ratio(each, phase, subject, of)
                if ratio is None:
                    cells += "<td>–</td>"
                    continue
                verdict = verdict_of(ratio, higher_is_better)
                cells += f'<td class="{verdict}" title="{verdict}">{ratio:.2f}</td>'
        rows.append(f"<tr><th>{html.escape(name)}</th>{cells}</tr>")
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def section(all_results: list[Results]) -> str:
    """Empty where the results cannot be compared so."""
    parts = []
    for phase in phases(all_results):
        drawn = picture(all_results, phase).replace('id="', f'id="sensitivity-{phase}-')
        drawn = drawn.replace("url(#", f"url(#sensitivity-{phase}-").replace('href="#', f'href="#sensitivity-{phase}-')
        parts.append(
            f'<figure id="sensitivity-{phase}" role="img" aria-label="Sensitivity of {phase}">{drawn}'
            f"<figcaption>Each as a ratio to {html.escape(all_results[0].reference)} in the same run.</figcaption></figure>"
            f'<div class="wide">{table(all_results, phase)}</div>'
        )
    return f"<section><h2>Sensitivity</h2>{''.join(parts)}</section>" if parts else ""
