"""What a bench wrote, arranged by subject (an engine or a filesystem), phase and round."""

from __future__ import annotations

import json
import pathlib
import statistics
from dataclasses import dataclass, field


class BadResult(Exception):
    """The file is no result of a bench."""


REFERENCE = "varve"


@dataclass
class Results:
    """One file. `kind` is "engine" or "filesystem": what its runs are told apart by."""

    name: str
    kind: str
    document: dict
    # phase name -> subject -> round -> phase, the first two in the order in which they ran.
    phases: dict[str, dict[str, dict[int, dict]]] = field(default_factory=dict)
    # What tools/write_model says of the same load.
    model: Results | None = None

    @property
    def subjects(self) -> list[str]:
        seen = dict.fromkeys(run[self.kind] for run in self.document["runs"])
        return sorted(seen, key=lambda subject: subject != REFERENCE)

    @property
    def reference(self) -> str:
        """What the others are compared with: varve, or the first of several varves."""
        return REFERENCE if REFERENCE in self.subjects else self.subjects[0]

    @property
    def rounds(self) -> int:
        return max((run.get("round", 1) for run in self.document["runs"]), default=0)

    def of(self, phase: str, subject: str) -> list[dict]:
        """The phase in each round of the subject."""
        return list(self.phases[phase].get(subject, {}).values())

    def middle(self, phase: str, subject: str) -> dict | None:
        """The round with the median speed: of an even number the slower one of the two."""
        rounds = sorted(self.of(phase, subject), key=speed)
        return rounds[(len(rounds) - 1) // 2] if rounds else None

    def median(self, phase: str, subject: str, figure) -> float | None:
        values = [value for each in self.of(phase, subject) if (value := figure(each)) is not None]
        return statistics.median(values) if values else None

    def ratio(self, phase: str, subject: str, figure) -> float | None:
        """The reference's figure over the subject's, both of one round: the median over the rounds."""
        ours, theirs = self.phases[phase].get(self.reference, {}), self.phases[phase].get(subject, {})
        ratios = [
            figure(ours[number]) / figure(theirs[number])
            for number in ours.keys() & theirs.keys()
            if figure(ours[number]) is not None and figure(theirs[number])
        ]
        return statistics.median(ratios) if ratios else None


def speed(phase: dict) -> float | None:
    return phase.get("operations_per_second")


def latency(name: str):
    """A figure: the percentile `name` in microseconds."""
    return lambda phase: (phase.get("latency_us") or {}).get(name)


def _with_unmount(phase: dict) -> dict | None:
    """A filesystem that keeps in memory what was created pays when it is unmounted: both together."""
    if not phase["name"].startswith("create") or "unmount_seconds" not in phase:
        return None
    seconds = phase["seconds"] + phase["unmount_seconds"]
    return {
        "name": phase["name"] + " + unmount",
        "seconds": seconds,
        "operations": phase["operations"],
        "operations_per_second": phase["operations"] / seconds if seconds else None,
    }


def load(path: pathlib.Path) -> Results:
    try:
        document = json.loads(path.read_text())
        runs = document["runs"]
        kind = "filesystem" if any("filesystem" in run for run in runs) else "engine"
        results = Results(path.name, kind, document)
        for run in runs:
            for measured in run["phases"]:
                for phase in filter(None, (measured, _with_unmount(measured))):
                    subjects = results.phases.setdefault(phase["name"], {})
                    subjects.setdefault(run[kind], {})[run.get("round", 1)] = phase
    except (OSError, ValueError) as error:
        raise BadResult(f"{path}: {error}") from error
    except (KeyError, TypeError) as error:
        raise BadResult(f"{path}: not a result of varve bench or varve bench-mount: {error} is missing") from error
    if not results.phases:
        raise BadResult(f"{path}: holds no phases")
    return results
