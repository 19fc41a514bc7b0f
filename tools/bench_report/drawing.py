"""How every picture looks: colours, units, grids of panels, and its way into the page."""

from __future__ import annotations

import io
import math

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

# Okabe and Ito's colours, which colour-blind people tell apart too.
COLOURS = {
    "varve": "#0072B2",
    "rocksdb": "#D55E00",
    "leveldb": "#009E73",
    "ntfs-3g": "#E69F00",
    "fuse2fs": "#CC79A7",
    "ext4": "#56B4E9",
    "raw device": "#8A8A8A",
}
OTHER_COLOURS = ["#7B4FA3", "#B8860B", "#2F4F4F", "#A52A2A", "#6B8E23"]

COLUMNS = 3
PANEL_INCHES = (4.1, 2.75)

plt.rcParams.update(
    {
        # Text stays text: it can be searched and read aloud.
        "svg.fonttype": "none",
        "svg.hashsalt": "varve",
        "font.family": ["sans-serif"],
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#DDDDDD",
        "grid.linewidth": 0.6,
        "legend.frameon": False,
    }
)


def colour_of(subject: str, subjects: list[str]) -> str:
    others = [each for each in subjects if each not in COLOURS]
    return COLOURS.get(subject) or OTHER_COLOURS[others.index(subject) % len(OTHER_COLOURS)]


def short(value: float) -> str:
    """Three digits and a factor: 950, 1.24 k, 2.5 M."""
    if value == 0:
        return "0"
    for factor, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= factor * 0.9995:
            return f"{value / factor:.3g}{letter}"
    return f"{value:.3g}"


def time_of(microseconds: float) -> str:
    """With the unit that makes it short: 850 ns, 12 µs, 3.5 ms, 2 s."""
    for factor, unit in ((1e6, "s"), (1e3, "ms"), (1, "µs")):
        if microseconds >= factor * 0.9995:
            return f"{microseconds / factor:.3g} {unit}"
    return f"{microseconds * 1e3:.3g} ns"


SHORT_TICKS = FuncFormatter(lambda value, _: short(value))
TIME_TICKS = FuncFormatter(lambda value, _: time_of(value) if value > 0 else "0")


def grid(count: int, columns: int = COLUMNS, panel: tuple[float, float] = PANEL_INCHES):
    """A figure with `count` panels, and the panels."""
    columns = max(1, min(columns, count))
    rows = max(1, math.ceil(count / columns))
    figure, axes = plt.subplots(rows, columns, figsize=(panel[0] * columns, panel[1] * rows + 0.4), squeeze=False)
    panels = list(axes.flat)
    for unused in panels[count:]:
        unused.set_axis_off()
    return figure, panels[:count]


def legend(figure, subjects: list[str]) -> None:
    """One for all panels, above them."""
    handles = [plt.Line2D([], [], color=colour_of(each, subjects), linewidth=4) for each in subjects]
    figure.legend(handles, subjects, loc="upper left", ncol=len(subjects), fontsize=10, handlelength=1.2)


def to_svg(figure) -> str:
    """The picture as it goes into a page; the figure is used up."""
    height = figure.get_size_inches()[1]
    above = 0.4 / height if figure.legends else 0
    figure.tight_layout(rect=(0, 0, 1, 1 - above), h_pad=1.8, w_pad=1.6)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return text.getvalue()[text.getvalue().index("<svg") :]
