"""One function a rule: it takes the Tree and returns its violations, each a line that starts with path:line."""

from __future__ import annotations

import os.path
import re
import shutil
import subprocess

import layers
from tree import Tree

LINES_MAX = 450
LONG_FILE_REASON = re.compile(r"^(//|#) Long because: \S.{15,}", re.MULTILINE)


def _lines_matching(tree: Tree, paths: list[str], pattern: re.Pattern, message: str) -> list[str]:
    found = []
    for path in paths:
        for number, line in enumerate(tree.files[path].split("\n"), 1):
            if pattern.search(line):
                found.append(f"{path}:{number}: {message}: {line.strip()}")
    return found


def rooms_include_only_lower_layers(tree: Tree) -> list[str]:
    found = []
    for path in tree.product_sources():
        room = layers.room_of(path)
        if room is None:
            found.append(f"{path}:1: lies in no room of the layer table")
            continue
        for line, quoted, included in tree.includes(path):
            if not quoted:
                continue
            other = layers.room_of(included)
            if other is None:
                found.append(f'{path}:{line}: "{included}" is in no room (name it from the root of the tree)')
            elif other != room and layers.LAYER_OF[other] >= layers.LAYER_OF[room]:
                kind = "a peer" if layers.LAYER_OF[other] == layers.LAYER_OF[room] else "a higher layer"
                found.append(f"{path}:{line}: {room} includes {other}, {kind}")
    return found


def the_filesystem_sees_only_the_contract_of_the_store(tree: Tree) -> list[str]:
    found = []
    for path in tree.product_sources():
        if not path.startswith("fs/"):
            continue
        for line, _, included in tree.includes(path):
            other = layers.room_of(included)
            if other and other.startswith("engine/") and other not in layers.ENGINE_SEEN_BY_FS:
                found.append(f"{path}:{line}: fs includes {other}; it may see store, ring and base")
    return found


def external_headers_stay_in_their_rooms(tree: Tree) -> list[str]:
    found = []
    for path in tree.product_sources():
        room = layers.room_of(path)
        for line, quoted, included in tree.includes(path):
            if quoted:
                continue
            for start, rooms in layers.RESTRICTED_HEADERS:
                if included.startswith(start) and room not in rooms:
                    found.append(f"{path}:{line}: <{included}> belongs in {', '.join(sorted(rooms))} only")
                    break
    return found


def included_files_exist(tree: Tree) -> list[str]:
    return [
        f'{path}:{line}: "{included}" does not exist'
        for path in tree.sources()
        for line, quoted, included in tree.includes(path)
        if quoted and included not in tree.files
    ]


def headers_have_pragma_once(tree: Tree) -> list[str]:
    return [
        f"{path}:1: no #pragma once"
        for path in tree.headers()
        if not re.search(r"^#pragma once$", tree.files[path], re.MULTILINE)
    ]


def product_code_has_no_conditional_variants(tree: Tree) -> list[str]:
    pattern = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else)\b")
    return _lines_matching(tree, tree.product_sources(), pattern, "conditional compilation")


def rooms_below_the_daemon_create_no_threads(tree: Tree) -> list[str]:
    paths = [path for path in tree.product_sources() if layers.room_of(path) in layers.ROOMS_WITHOUT_THREADS]
    pattern = re.compile(r"\bstd::j?thread\b(?!::)|\bpthread_create\b|\bstd::async\b")
    return _lines_matching(tree, paths, pattern, "a thread is made here")


def nothing_is_awaited_in_a_condition(tree: Tree) -> list[str]:
    pattern = re.compile(r"^\s*(\} else )?(if|while|for|switch) \(.*\bco_await\b|\?.*\bco_await\b")
    return _lines_matching(tree, tree.product_sources(), pattern, "awaited in a condition (engine/ring/task.h)")


def nothing_is_left_for_later(tree: Tree) -> list[str]:
    paths = [path for path in tree.files if not path.startswith("tests/style/")]
    return _lines_matching(tree, paths, re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "left for later")


def the_tree_stands_alone(tree: Tree) -> list[str]:
    paths = [path for path in tree.files if not path.startswith("tests/style/")]
    pattern = re.compile(r"(?<![\w.])/work/|\bshared/|\b(DESIGN|TECHNIQUES|FUSE|STYLE)\.md\b")
    return _lines_matching(tree, paths, pattern, "names something outside the tree")


def long_files_give_a_reason(tree: Tree) -> list[str]:
    found = []
    for path in tree.sources() + [path for path in tree.files if path.endswith(".py")]:
        count = tree.files[path].count("\n")
        if count > LINES_MAX and not LONG_FILE_REASON.search(tree.files[path]):
            found.append(
                f"{path}:{count}: {count} lines, more than {LINES_MAX}: divide it by concept, "
                'or say "// Long because: ..." at its top'
            )
    return found


def formats_and_their_pages_name_each_other(tree: Tree) -> list[str]:
    found = []
    named_by_headers = set()
    for path in tree.product_sources():
        if not path.endswith("_format.h"):
            continue
        pages = sorted(set(re.findall(r"docs/on-disk/[\w-]+\.md", tree.files[path])))
        if not pages:
            found.append(f"{path}:1: a format names its page docs/on-disk/NAME.md")
        for page in pages:
            named_by_headers.add(page)
            if page not in tree.files:
                found.append(f"{path}:1: names {page}, which does not exist")
        if pages and not any(path in tree.files.get(page, "") for page in pages):
            found.append(f"{path}:1: none of {', '.join(pages)} names it back")
    for page in tree.pages():
        if page.startswith("docs/on-disk/") and not page.endswith("/README.md") and page not in named_by_headers:
            found.append(f"{page}:1: no *_format.h names this page")
    return found


def _without_code_blocks(text: str) -> str:
    def blank(match: re.Match) -> str:
        return "\n" * match[0].count("\n")

    return re.sub(r"^```.*?^```$", blank, text, flags=re.MULTILINE | re.DOTALL)


def _anchors(text: str) -> set[str]:
    names = re.findall(r"^#{1,6}\s+(.+?)\s*$", _without_code_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in names}


def links_in_pages_resolve(tree: Tree) -> list[str]:
    found = []
    for page in tree.pages():
        text = _without_code_blocks(tree.files[page])
        for match in re.finditer(r"\]\(([^)\s]+)\)", text):
            target = match[1]
            if re.match(r"[a-z]+:", target):
                continue
            line = text.count("\n", 0, match.start()) + 1
            name, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
            if not tree.exists(path):
                found.append(f"{page}:{line}: {target} does not exist")
            elif anchor and path in tree.files and anchor not in _anchors(tree.files[path]):
                found.append(f"{page}:{line}: {path} has no heading #{anchor}")
    return found


def paths_named_in_prose_exist(tree: Tree) -> list[str]:
    """In pages `engine/...` between backquotes, in sources docs/...md in comments. A room may be yet to be built."""
    found = []
    in_pages = re.compile(r"`((?:engine|fs|src|tools|tests|docs|\.ci)/[\w./-]*\w/?)`")
    in_sources = re.compile(r"\bdocs/[\w/-]+\.md\b")
    for path, text in tree.files.items():
        if path.startswith("tests/style/"):
            continue
        pattern = in_pages if path.endswith(".md") else in_sources
        for match in pattern.finditer(text):
            name = match[1] if pattern is in_pages else match[0]
            if not tree.exists(name) and name not in layers.LAYER_OF:
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{path}:{line}: {name} does not exist")
    return found


def the_layer_table_is_the_documented_one(tree: Tree) -> list[str]:
    page = "docs/architecture.md"
    rows = re.findall(r"^\|\s*(\d+)\s*\|\s*`([\w/]+)`\s*\|", tree.files.get(page, ""), re.MULTILINE)
    documented = {(int(layer), room) for layer, room in rows}
    expected = set(layers.LAYERS)
    return [f"{page}:1: lacks the row {row}" for row in sorted(expected - documented)] + [
        f"{page}:1: has the row {row}, which is no layer" for row in sorted(documented - expected)
    ]


def every_page_is_in_the_reading_order(tree: Tree) -> list[str]:
    """A page is linked from docs/README.md or from the README.md of its own folder, which is linked in turn."""
    linked = set()
    for index in tree.pages():
        folder, name = os.path.split(index)
        if name == "README.md" and folder.split("/")[0] == "docs":
            targets = re.findall(r"\]\(([^)\s]+)\)", tree.files[index])
            linked |= {os.path.normpath(os.path.join(folder, target.partition("#")[0])) for target in targets}
    return [
        f"{page}:1: no index page (README.md) of docs links to it"
        for page in tree.pages()
        if page.startswith("docs/") and page != "docs/README.md" and page not in linked
    ]


def sources_are_in_the_build(tree: Tree) -> list[str]:
    found = []
    for path in tree.sources():
        if not path.endswith(".cc"):
            continue
        folder, name = os.path.split(path)
        # The nearest meson.build at or above the file lists it.
        listed = False
        while folder:
            build = tree.files.get(f"{folder}/meson.build")
            if build is not None:
                listed = f"'{os.path.relpath(path, folder)}'" in build
                break
            folder = os.path.dirname(folder)
        if not listed:
            found.append(f"{path}:1: {name} is listed in no meson.build")
    return found


def sources_are_formatted(tree: Tree) -> list[str] | None:
    """None where clang-format 14 (Debian 12's) is not installed: other versions break lines differently."""
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if program is None or " 14." not in subprocess.run([program, "--version"], capture_output=True, text=True).stdout:
        return None
    found = []
    for path in tree.sources():
        formatted = subprocess.run([program, path], cwd=tree.root, capture_output=True, text=True).stdout
        if formatted != tree.files[path]:
            found.append(f"{path}:1: differs from clang-format's layout")
    return found


ALL = [
    rooms_include_only_lower_layers,
    the_filesystem_sees_only_the_contract_of_the_store,
    external_headers_stay_in_their_rooms,
    included_files_exist,
    headers_have_pragma_once,
    product_code_has_no_conditional_variants,
    rooms_below_the_daemon_create_no_threads,
    nothing_is_awaited_in_a_condition,
    nothing_is_left_for_later,
    the_tree_stands_alone,
    long_files_give_a_reason,
    formats_and_their_pages_name_each_other,
    links_in_pages_resolve,
    paths_named_in_prose_exist,
    the_layer_table_is_the_documented_one,
    every_page_is_in_the_reading_order,
    sources_are_in_the_build,
    sources_are_formatted,
]
