#!/bin/bash
# What people run on a filesystem runs here: git, a compiler and its build system, SQLite under concurrent writers.
# VARVE_PROGRAMS=long builds the whole of varve on the mount and gives SQLite longer.
source "$(dirname "$0")/library.sh"
length=${VARVE_PROGRAMS:-short}
source_folder=$(realpath "$(dirname "$0")/../..")
parts=(meson.build meson_options.txt src fs engine tools tests docs README.md)

make_device loop512 8G
"$varve" mkfs "$device" >/dev/null
mount_store
cd "$mount_point"

git_here() {
  git -c user.name=a -c user.email=a@b -c init.defaultBranch=main -c safe.directory='*' -c gc.auto=0 \
    -c advice.detachedHead=false "$@"
}

if command -v git >/dev/null; then
  step "git: a repository of this source, its history, clones, gc, fsck"
  export GIT_CONFIG_NOSYSTEM=1 HOME=$folder
  mkdir "$folder/origin"
  git_here init -q "$folder/origin"
  (
    cd "$folder/origin"
    for part in "${parts[@]}"; do cp -a "$source_folder/$part" .; done
    rm -rf build* ./*/__pycache__
    git_here add . && git_here commit -qm one
    for i in {1..30}; do
      echo "$i" >>README.md && git_here mv -f "docs" "docs-$i" && git_here commit -qam "change $i" &&
        git_here mv "docs-$i" docs && git_here commit -qam "back $i"
    done
  )
  git_here clone -q "$folder/origin" clone
  git_here -C clone checkout -q HEAD~10
  git_here -C clone checkout -q -b work
  for i in {1..20}; do echo "$i" >"clone/new-$i" && git_here -C clone add . && git_here -C clone commit -qm "new $i"; done
  git_here -C clone merge -q -m merged origin/main
  git_here -C clone gc -q --prune=now
  git_here -C clone fsck --full --strict 2>"$folder/git.log" || { cat "$folder/git.log" >&2; fail "git fsck"; }
  git_here clone -q --no-hardlinks clone clone-of-clone
  [ -z "$(git_here -C clone-of-clone status --porcelain)" ] || fail "a fresh clone differs from its index"
  git_here -C clone push -q "$mount_point/clone-of-clone" HEAD:refs/heads/pushed
  diff -r --exclude=.git clone clone-of-clone || fail "the clones differ"
  echo edited >>clone/README.md
  [ "$(git_here -C clone status --porcelain)" = " M README.md" ] || fail "git sees another change than the one made"
fi

step "building on the mount: $length"
mkdir build-here
for part in "${parts[@]}"; do cp -a "$source_folder/$part" build-here/; done
if [ "$length" = long ]; then
  meson setup build-here/build build-here --buildtype=release >"$folder/meson.log" 2>&1 || { cat "$folder/meson.log" >&2; fail "meson"; }
  ninja -C build-here/build src/varve >"$folder/ninja.log" 2>&1 || { tail -n 40 "$folder/ninja.log" >&2; fail "ninja"; }
  build-here/build/src/varve --version
else
  # One room, its archive and a program, by make's rules: times decide what is built again.
  cat >build-here/Makefile <<'MAKE'
sources := $(wildcard engine/base/*.cc)
objects := $(sources:.cc=.o)
program: libbase.a main.o
	g++ -o $@ main.o libbase.a -lfmt -lxxhash
libbase.a: $(objects)
	ar rcs $@ $^
%.o: %.cc
	g++ -std=c++20 -O0 -DVARVE_KEEPS_FREED_MEMORY=false -I. -MMD -c -o $@ $<
-include $(sources:.cc=.d)
MAKE
  cat >build-here/main.cc <<'MAIN'
#include <cstdio>
#include "engine/base/result.h"
int main() { std::puts(varve::Error(varve::ErrorCode::kNotFound, "built on the mount").ToString().c_str()); }
MAIN
  if command -v make >/dev/null; then
    make -s -j2 -C build-here program >"$folder/make.log" 2>&1 || { tail -n 40 "$folder/make.log" >&2; fail "make"; }
    build-here/program | grep -q "built on the mount" || fail "the program does not run"
    make -q -C build-here program || fail "make would build again what it has just built"
    touch build-here/engine/base/result.h
    ! make -q -C build-here program || fail "make does not see that a header is newer"
  fi
fi

if command -v python3 >/dev/null; then
  step "SQLite: writers and a reader at once, in WAL mode"
  transactions=60
  [ "$length" = short ] || transactions=2000
  python3 -B "$source_folder/tests/mount/sqlite_writers.py" "$mount_point/database" 4 $transactions
fi
if command -v sqlite3 >/dev/null; then
  step "SQLite: the same database by another program, vacuumed and dumped; other journals"
  [ "$(sqlite3 database 'PRAGMA integrity_check')" = ok ] || fail "integrity_check"
  sqlite3 database 'VACUUM' && [ "$(sqlite3 database 'PRAGMA integrity_check')" = ok ] || fail "after VACUUM"
  sqlite3 database .dump | sqlite3 copy
  [ "$(sqlite3 copy 'SELECT sum(key), count(*) FROM entries')" = "$(sqlite3 database 'SELECT sum(key), count(*) FROM entries')" ] ||
    fail "the copy differs"
  for journal in DELETE TRUNCATE PERSIST; do
    sqlite3 copy "PRAGMA journal_mode=$journal; BEGIN; DELETE FROM entries WHERE key % 2 = 0; COMMIT; PRAGMA integrity_check" |
      tail -n 1 | grep -qx ok || fail "journal $journal"
  done
fi

step "the same after an unmount"
sums=$(find . -type f -print0 | sort -z | xargs -0 sha256sum)
cd /
umount_store
check_store
mount_store
(cd "$mount_point" && sha256sum --check --quiet <<<"$sums") || fail "a file has changed"
umount_store
