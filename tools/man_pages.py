"""Writes a man page for every command, from what the command itself says with --help and from the notes below.
Usage: man_pages.py VARVE FOLDER"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

EXIT_STATUS = {
    "": "0 when it did what it was asked, 1 when that failed, 2 for wrong usage.",
    "fsck": "As of fsck(8): 0 no problems, 1 problems were mended, 4 problems are left, 8 it could not be checked, 16 wrong usage.",
    "scrub": "0 no problems, 4 something is damaged, 8 it could not be read to the end, 16 wrong usage.",
}

EXAMPLES = {
    "mkfs": ["varve mkfs /dev/sdb1 --label keys", "varve mkfs image --size 10G"],
    "mount": ["varve mount /dev/sdb1 /srv/keys -o noatime,commit=5", "mount -t varve /dev/sdb1 /srv/keys"],
    "umount": ["varve umount /srv/keys"],
    "fsck": ["varve fsck /dev/sdb1", "varve fsck --repair /dev/sdb1"],
    "get": ["varve get /dev/sdb1 city/lima"],
    "put": ["echo Peru | varve put /dev/sdb1 city/lima"],
    "rm": ["varve rm -r /dev/sdb1 city"],
    "scan": ["varve scan /dev/sdb1 city/"],
    "stats": ["varve stats /srv/keys", "varve stats /srv/keys --json"],
    "label": ["varve label /dev/sdb1", "varve label /dev/sdb1 archive"],
    "dump": ["varve dump /dev/sdb1 superblock"],
}

# Names under which the executable is found by mount(8), fsck(8) and mkfs(8).
HELPERS = {"mount.varve": "mount", "fsck.varve": "fsck", "mkfs.varve": "mkfs"}


def escape(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r",(?=\S)", r",\\:", text)  # a long list of choices may break
    return "\\&" + text if text[:1] in (".", "'") else text


def help_of(varve: str, *command: str) -> list[str]:
    shown = subprocess.run([varve, *command, "--help"], check=True, capture_output=True, text=True)
    return shown.stdout.splitlines()


def commands_of(overview: list[str]) -> dict[str, str]:
    commands = {}
    listed = False
    for line in overview:
        if line.startswith("Subcommands:"):
            listed = True
        elif listed and (match := re.match(r"  (\S+)\s+(.*)", line)):
            commands[match[1]] = match[2]
    return commands


# A "Heading:" and the indented lines under it, as they come from CLI11.
def sections_of(lines: list[str]) -> list[tuple[str, list[str]]]:
    sections: list[tuple[str, list[str]]] = []
    for line in lines:
        if (match := re.match(r"([A-Z][^:]*):$", line)):
            sections.append((match[1], []))
        elif sections and line.strip():
            sections[-1][1].append(line)
    return sections


def entries(lines: list[str]) -> list[str]:
    page = []
    for line in lines:
        if (match := re.match(r"  (\S.*?)(?:\s{2,}(.*))?$", line)):
            page += [".TP", f".B {escape(match[1])}"]
            if match[2]:
                page.append(escape(match[2]))
        else:
            page.append(escape(line.strip()))
    return page


def page_of(name: str, brief: str, lines: list[str], version: str, others: list[str]) -> str:
    title = f"varve-{name}" if name else "varve"
    page = [f'.TH {title.upper()} 8 "" "varve {version}" "varve"', ".ad l", ".nh", ".SH NAME", f"{escape(title)} \\- {escape(brief)}"]
    usage = next(line for line in lines if line.startswith("Usage: "))
    page += [".SH SYNOPSIS", f".B {escape(usage.removeprefix('Usage: '))}"]
    page += [".SH DESCRIPTION", escape(brief.rstrip(".")) + "."]
    for heading, body in sections_of(lines):
        page += [f".SH {heading.upper()}", *entries(body)]
    page += [".SH EXIT STATUS", escape(EXIT_STATUS.get(name, EXIT_STATUS[""]))]
    if name in EXAMPLES:
        page.append(".SH EXAMPLES")
        for example in EXAMPLES[name]:
            page += [".nf", f".B {escape(example)}", ".fi"]
    page += [".SH SEE ALSO", ", ".join(f"{escape(other)}(8)" for other in others)]
    return "\n".join(page) + "\n"


def main() -> None:
    varve, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([varve, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    overview = help_of(varve)
    commands = commands_of(overview)
    others = [f"varve-{name}" for name in commands]
    brief = overview[0].removeprefix("varve: ")
    (folder / "varve.8").write_text(page_of("", brief, overview, version, others))
    for name, brief in commands.items():
        see = ["varve", *(other for other in others if other != f"varve-{name}")]
        (folder / f"varve-{name}.8").write_text(page_of(name, brief, help_of(varve, name), version, see))
    for helper, name in HELPERS.items():
        (folder / f"{helper}.8").write_text(f".so man8/varve-{name}.8\n")


main()
