"""The page: for each result its circumstances, its pictures, and the table of ratios."""

from __future__ import annotations

import html

from bench_report import curves, engine_pictures, sensitivity, tables
from bench_report.results import Results

STYLE = """
body { font: 15px/1.5 sans-serif; color: #222; background: #fff; max-width: 1280px; margin: 2em auto; padding: 0 1em; }
h1, h2, h3 { line-height: 1.2; }
figure { margin: 1em 0 2em; }
figure svg { width: 100%; height: auto; }
figcaption { color: #555; max-width: 60em; }
pre { background: #f4f4f4; padding: .6em; overflow-x: auto; }
dl { display: grid; grid-template-columns: max-content auto; gap: .1em 1em; }
dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15em .7em; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
thead th { border-bottom: 2px solid #888; }
th:first-child, td:first-child, tr > td:nth-child(2), tbody th { text-align: left; vertical-align: top; }
.better { background: #d8efe3; }
.behind { background: #fbdfd3; }
"""

# (identifier, title, what it shows, how it is drawn); a picture may be None where nothing was measured for it.
BOTH = [
    (
        "speed",
        "Speed",
        "Each bar is the median of the rounds, each dot a round. Longer is faster.",
        curves.speed_bars,
    ),
]
LATENCY = (
    "latency",
    "Latency distribution",
    "Which share of the operations took longer than a time, all rounds together: the further left and down, the better. "
    "Both axes are logarithmic.",
    lambda results: curves.latency_curves(results) if curves.phases_with_latencies(results) else None,
)
ENGINE = [
    (
        "throughput",
        "Throughput over time",
        "The round with the median speed; the others are drawn thin.",
        engine_pictures.throughput_over_time,
    ),
    LATENCY,
    (
        "amplification",
        "Amplification by engine",
        "From the kernel's counters of the device: log, tables, and for those on a filesystem its own writes too; with what "
        "settling wrote, where it followed the phase.",
        engine_pictures.amplification_by_engine,
    ),
    (
        "levels",
        "Amplification by level",
        "What flushes and merges wrote into each level for each byte of the user, by the engines' own counters; hatched what "
        "the model of the write path says.",
        engine_pictures.amplification_by_level,
    ),
    (
        "hits",
        "Cache hits over time",
        "Of the data blocks that reads looked for. An engine that tells no counts has no line.",
        engine_pictures.hit_ratio_over_time,
    ),
]


def _facts(results: Results) -> str:
    document = results.document
    facts = {"varve": document.get("varve", "")}
    facts.update(document.get("machine") or {})
    facts["rounds"] = results.rounds
    rows = "".join(
        f"<dt>{html.escape(str(name).replace('_', ' '))}</dt><dd>{html.escape(str(value))}</dd>"
        for name, value in facts.items()
        if not isinstance(value, (dict, list))
    )
    return f"<pre>{html.escape(document.get('command', ''))}</pre><dl>{rows}</dl>"


def _section(number: int, results: Results) -> str:
    parts = [f"<h2>{html.escape(results.name)}: {'engines' if results.kind == 'engine' else 'filesystems'}</h2>"]
    parts.append(_facts(results))
    for identifier, title, caption, draw in BOTH + (ENGINE if results.kind == "engine" else [LATENCY]):
        picture = draw(results)
        if picture is None:
            continue
        # Identifiers inside the pictures must differ in one page.
        picture = picture.replace('id="', f'id="{identifier}{number}-').replace("url(#", f"url(#{identifier}{number}-")
        picture = picture.replace('href="#', f'href="#{identifier}{number}-')
        parts.append(
            f'<h3>{title}</h3><figure id="{identifier}-{number}" role="img" aria-label="{title}">{picture}'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    parts.append(
        "<h3>Ratios</h3><p>Medians of the rounds; a ratio is the median of the rounds' own. Green: "
        f'{html.escape(results.reference)} is ahead; red: it is behind.</p><div class="wide">{tables.ratios(results)}</div>'
    )
    return "<section>" + "\n".join(parts) + "</section>"


def page(all_results: list[Results]) -> str:
    sections = sensitivity.section(all_results)
    sections += "\n".join(_section(number, each) for number, each in enumerate(all_results, 1))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>varve: benchmarks</title>'
        f"<style>{STYLE}</style></head><body><h1>varve: benchmarks</h1>\n{sections}\n</body></html>\n"
    )
