#!/usr/bin/env python3
"""A check that cannot fail is worthless: plants one violation at a time in a small clean tree and sees it caught."""

import contextlib
import pathlib
import sys
import tempfile

import checks
import header_test
import layers
from tree import Tree

ROWS = "".join(f"| {layer} | `{room}` | what |\n" for layer, room in layers.LAYERS)
CLEAN = {
    "README.md": "[docs](docs/README.md) and `engine/base/a.h`\n",
    "docs/README.md": "[a](architecture.md#rooms) [b](on-disk/wal.md)\n",
    "docs/architecture.md": "# Rooms\n\n| layer | room | what |\n|---|---|---|\n" + ROWS,
    "docs/on-disk/wal.md": "Defined in `engine/wal/wal_format.h`.\n",
    "engine/base/a.h": "#pragma once\n",
    "engine/base/a.cc": '#include "engine/base/a.h"\n',
    "engine/base/meson.build": "files('a.cc')\n",
    "engine/wal/wal_format.h": '// docs/on-disk/wal.md\n#pragma once\n\n#include "engine/base/a.h"\n',
    "engine/table/t.h": "#pragma once\n",
    "engine/store/store.h": "#pragma once\n",
    "fs/ops/o.h": '#pragma once\n\n#include "engine/store/store.h"\n',
    "tools/t.h": "#pragma once\n\n#include <string>\n",
}

# (check, what is planted: path -> text, or None to remove the file)
PLANTED = [
    (checks.rooms_include_only_lower_layers, {"engine/base/a.h": '#pragma once\n#include "engine/store/store.h"\n'}),
    (checks.rooms_include_only_lower_layers, {"engine/table/t.h": '#pragma once\n#include "engine/wal/wal_format.h"\n'}),
    (checks.rooms_include_only_lower_layers, {"fs/ops/o.h": '#pragma once\n#include "tests/support/x.h"\n'}),
    (checks.rooms_include_only_lower_layers, {"fs/ops/o.h": '#pragma once\n  #  include "fs/fuse/x.h"\n'}),
    (checks.rooms_include_only_lower_layers, {"engine/new/n.h": "#pragma once\n"}),
    (checks.rooms_include_only_lower_layers, {"engine/stray.h": "#pragma once\n"}),
    (
        checks.the_filesystem_sees_only_the_contract_of_the_store,
        {"fs/ops/o.h": '#pragma once\n#include "engine/table/t.h"\n'},
    ),
    (checks.external_headers_stay_in_their_rooms, {"engine/base/a.h": "#pragma once\n#include <liburing.h>\n"}),
    (checks.external_headers_stay_in_their_rooms, {"fs/ops/o.h": "#pragma once\n#include <fuse3/fuse.h>\n"}),
    (checks.external_headers_stay_in_their_rooms, {"tools/t.h": "#pragma once\n#include <fuse_lowlevel.h>\n"}),
    (checks.external_headers_stay_in_their_rooms, {"fs/ops/o.h": "#pragma once\n#include <CLI/CLI.hpp>\n"}),
    (checks.included_files_exist, {"engine/base/a.cc": '#include "engine/base/b.h"\n'}),
    (checks.headers_have_pragma_once, {"engine/base/a.h": "int a;\n"}),
    (checks.product_code_has_no_conditional_variants, {"engine/base/a.cc": "#ifdef FAST\n#endif\n"}),
    (checks.rooms_below_the_daemon_create_no_threads, {"engine/base/a.cc": "std::thread t;\n"}),
    (checks.nothing_is_awaited_in_a_condition, {"engine/base/a.cc": "  if (a && !co_await B()) {\n"}),
    (checks.nothing_is_awaited_in_a_condition, {"engine/base/a.cc": "  } else if (co_await B()) {\n"}),
    (checks.nothing_is_awaited_in_a_condition, {"engine/base/a.cc": "  return a ? co_await B() : 0;\n"}),
    (checks.nothing_is_left_for_later, {"engine/base/a.cc": "// TODO: more\n"}),
    (checks.nothing_is_left_for_later, {"docs/README.md": "FIXME\n"}),
    (checks.the_tree_stands_alone, {"engine/base/a.cc": "// see DESIGN.md\n"}),
    (checks.the_tree_stands_alone, {"tools/run": "cd /work/main\n"}),
    (checks.long_files_give_a_reason, {"engine/base/a.cc": "//\n" * (checks.LINES_MAX + 1)}),
    (checks.formats_and_their_pages_name_each_other, {"docs/on-disk/wal.md": "nothing\n"}),
    (checks.formats_and_their_pages_name_each_other, {"docs/on-disk/wal.md": None}),
    (checks.formats_and_their_pages_name_each_other, {"engine/wal/wal_format.h": "#pragma once\n"}),
    (checks.formats_and_their_pages_name_each_other, {"docs/on-disk/other.md": "`engine/wal/wal_format.h`\n"}),
    (checks.links_in_pages_resolve, {"README.md": "[gone](docs/gone.md)\n"}),
    (checks.links_in_pages_resolve, {"README.md": "[gone](docs/architecture.md#gone)\n"}),
    (checks.paths_named_in_prose_exist, {"README.md": "`engine/gone/x.h`\n"}),
    (checks.paths_named_in_prose_exist, {"engine/base/a.cc": "// docs/gone.md\n"}),
    (checks.the_layer_table_is_the_documented_one, {"docs/architecture.md": ROWS.replace("| 7 |", "| 8 |")}),
    (checks.the_layer_table_is_the_documented_one, {"docs/architecture.md": None}),
    (checks.every_page_is_in_the_reading_order, {"docs/stray.md": "alone\n"}),
    (checks.sources_are_in_the_build, {"engine/base/b.cc": "\n"}),
    (checks.sources_are_formatted, {"engine/base/a.cc": "int  a ;\n"}),
]


@contextlib.contextmanager
def planted_tree(changes):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in {**CLEAN, **changes}.items():
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
        yield root


def header_cases():
    """(name, passed) for the header test, which has a compiler do the checking."""
    with planted_tree({"engine/base/a.h": "#pragma once\nstd::string a();\n"}) as root:
        yield "header_test catches a header that lacks an include", bool(
            header_test.compile_alone(root, ["c++"], "engine/base/a.h")
        )
        yield "header_test lets a clean header pass", not header_test.compile_alone(root, ["c++"], "tools/t.h")
        first = header_test.is_first_in_its_source
        header, source = "engine/base/a.h", "engine/base/a.cc"
        yield "header_test spares a header that its source includes first", first(root, header, {source})
        yield "header_test compiles a header whose source is not built", not first(root, header, set())
        yield "header_test compiles a header that has no source", not first(root, "tools/t.h", {source})
        (root / source).write_text('#include <string>\n#include "engine/base/a.h"\n')
        yield "header_test compiles a header that comes second", not first(root, header, {source})


def cases():
    with planted_tree({}) as root:
        tree = Tree(root)
        for check in checks.ALL:
            yield f"{check.__name__} lets a clean tree pass", not check(tree)
    for check, changes in PLANTED:
        with planted_tree(changes) as root:
            found = check(Tree(root))
            # None: the tool that the check needs is not installed.
            yield f"{check.__name__} catches {'; '.join(changes)}", found is None or len(found) > 0
    yield "every check has a planted violation", {check for check, _ in PLANTED} == set(checks.ALL)
    long_with_reason = "// Long because: one table of the standard, kept whole.\n" + "//\n" * checks.LINES_MAX
    with planted_tree({"engine/base/a.cc": long_with_reason}) as root:
        yield "a reason lets a long file pass", not checks.long_files_give_a_reason(Tree(root))
    yield from header_cases()


def main() -> int:
    results = list(cases())
    print(f"1..{len(results)}")
    for number, (name, passed) in enumerate(results, 1):
        print(f"{'ok' if passed else 'not ok'} {number} {name}")
    return 0 if all(passed for _, passed in results) else 1


if __name__ == "__main__":
    sys.exit(main())
