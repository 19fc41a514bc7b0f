# Completion of varve for bash. What there is to complete is asked of varve itself, so it is never out of date.

# The names of the subcommands, or with one its long options.
_varve_words() {
  if [ $# -eq 0 ]; then
    varve --help 2>/dev/null | awk '/^Subcommands:/ {listed = 1; next} listed && NF {print $1}'
  else
    varve "$1" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u
  fi
}

# The names of mount's options of -o, with "=" where they take a value.
_varve_mount_options() {
  varve mount --help 2>/dev/null | awk '/^Options of -o:/ {listed = 1; next} listed' |
    sed -E 's/   +[a-z].*//' | tr ',' '\n' | sed -nE 's/^ *([a-z_]+=?)[A-Z]*( .*)?$/\1/p' | sort -u
}

_varve() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_varve_words) --help --version" -- "$current")
  elif [ "$command" = mount ] && { [ "$previous" = -o ] || [ "$previous" = --options ]; }; then
    local before=
    [[ $current != *,* ]] || before=${current%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$(_varve_mount_options)" -- "${current##*,}")
    [[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace 2>/dev/null
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_varve_words "$command")" -- "$current")
  elif [ "$command" = dump ] && [ "$COMP_CWORD" -eq 3 ]; then
    mapfile -t COMPREPLY < <(compgen -W "superblock manifest wal table" -- "$current")
  elif [ "$command" = umount ] || [ "$command" = scrub ] || { [ "$command" = mount ] && [ "$COMP_CWORD" -ge 3 ]; }; then
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _varve varve
