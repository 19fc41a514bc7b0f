# Build folders, as the scripts here share them. Sourced at the top of the tree.

# A finding ends the program that made it: a report that scrolls by is no failure.
export ASAN_OPTIONS=detect_stack_use_after_return=0:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:${UBSAN_OPTIONS:-}
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:${TSAN_OPTIONS:-}

# set_up_folder FOLDER OPTION...: a build folder with these options of meson, where there is none.
set_up_folder() {
  local folder=$1
  shift
  [ ! -f "$folder/build.ninja" ] || return 0
  meson setup "$folder" . "$@" >"$folder.log" 2>&1 || { cat "$folder.log"; rm -f "$folder.log"; return 1; }
  rm -f "$folder.log"
}

# set_up_sanitized_folder KIND: build-KIND. KIND: address (and undefined behaviour), thread.
set_up_sanitized_folder() {
  local sanitizers=$1
  [ "$1" != address ] || sanitizers=address,undefined
  # clang compiles instrumented code faster than g++, and shows that the tree is free of warnings under it too.
  export CC=clang-14 CXX=clang++-14
  if command -v ccache >/dev/null; then
    CXX="ccache clang++-14"
  fi
  # A report names functions and lines; types and variables would take half as many bytes again to write and link.
  # Four files at a time (unity) take half as long as one by one, most of which goes into headers; and where two files give
  # one name to two things, which the rules of the language forbid and no linker minds, the compiler minds.
  set_up_folder "build-$1" --buildtype=debug -Ddebug=false -Dcpp_args=-gline-tables-only --optimization=1 \
    -Db_lundef=false "-Db_sanitize=$sanitizers" --unity=on --unity-size=4
}
