#!/bin/bash
# The commands on an image file, as any user. Prints TAP. Usage: commands_test.sh VARVE
set -uo pipefail

varve=$(realpath "$1")
script=$(realpath "$0")
# In the build folder: O_DIRECT does not work on every /tmp.
scratch=$(mktemp -d -p "$PWD" commands.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

number=0
# claim NAME COMMAND...: the claim holds when the command succeeds.
claim() {
  local name=$1
  shift
  number=$((number + 1))
  if "$@" >claim.out 2>&1; then
    echo "ok $number $name"
  else
    echo "not ok $number $name"
    { echo "# $name: $*"; head -n 20 claim.out; } >&2
  fi
}
skip() {
  number=$((number + 1))
  echo "ok $number $1 # SKIP $2"
}
# run ARGUMENT...: runs varve; leaves its output in `out`, its messages in `err`, its exit code in $code.
run() {
  timeout 120 "$varve" "$@" >out 2>err </dev/null
  code=$?
}
says() { grep -qiE -- "$1" out err || { cat out err; return 1; }; }
exits() { [ "$code" -eq "$1" ] || { echo "exit code $code"; cat out err; return 1; }; }
fails() { [ "$code" -ne 0 ] && [ "$code" -lt 124 ] || { echo "exit code $code"; cat out err; return 1; }; }
prints() { printf '%b' "$1" | cmp - out; }
both() { "$1" "$2" && "$3" "$4"; }

# What a person looks at first: pages of the manual, and completion.
source_tools=$(realpath "$(dirname "$script")/../../tools")
python3 -B "$source_tools/man_pages.py" "$varve" man8 >out 2>err
code=$?
claim "a page of the manual is made for every command" exits 0
commands=$("$varve" --help | awk '/^Subcommands:/ {listed = 1; next} listed && NF {print $1}')
pages_are_whole() {
  local command section
  [ "$(wc -w <<<"$commands")" -ge 15 ] || return 1
  for command in $commands; do
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS" "SEE ALSO"; do
      grep -qx ".SH $section" "man8/varve-$command.8" || { echo "$command lacks $section"; return 1; }
    done
  done
  grep -q 'commit=SECONDS' man8/varve-mount.8 && [ -e man8/varve.8 ] && [ -e man8/mount.varve.8 ]
}
claim "each has its sections" pages_are_whole
if command -v groff >/dev/null; then
  pages_are_formatted() {
    local page
    for page in man8/varve*.8; do
      groff -man -Tascii "$page" >page.out 2>page.err && [ ! -s page.err ] || { echo "$page"; cat page.err; return 1; }
    done
  }
  claim "groff formats each without a warning" pages_are_formatted
fi
# completes LINE-IN-WORDS... -- EXPECTED: what bash offers for the last word.
completes() {
  local words=()
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  bash -c '
    varve() { "$VARVE" "$@"; }
    source "$1"
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _varve 2>/dev/null
    printf "%s\n" "${COMPREPLY[@]}"' _ "$source_tools/completions/varve.bash" "${words[@]}" | grep -qxF -e "$2"
}
export VARVE=$varve
claim "bash completes commands" completes varve mk -- mkfs
claim "bash completes their options" completes varve mkfs --la -- --label
claim "bash completes mount's options" completes varve mount d m -o ro,noat -- ro,noatime
claim "bash completes options that take a value" completes varve mount d m -o com -- commit=
every_command_is_completed() {
  local command
  for command in $commands; do completes varve "$command" -- "$command" || { echo "$command"; return 1; }; done
}
claim "bash completes every command" every_command_is_completed
if command -v zsh >/dev/null; then
  claim "zsh can read its completion" zsh -n "$source_tools/completions/_varve"
fi

# mkfs
run mkfs image --size 256M --label birch
claim "mkfs makes an image of the size asked for" test "$code" -eq 0 -a "$(stat -c %s image)" -eq 268435456
claim "mkfs tells what it made" says birch
run label image
claim "label shows the label" prints "birch\\n"
run label image "another name"
claim "label changes it" exits 0
run label image
claim "the changed label is shown" prints "another name\\n"
run fsck image
claim "a store with another label is whole" exits 0
run label image "$(printf 'x%.0s' {1..65})"
claim "label refuses a name that is too long" both exits 2 says "64 bytes"
run label image ""
run label image
claim "a label can be taken away" prints "\\n"
run mkfs other
claim "mkfs of a missing file without --size says what to add" both fails "" says "--size"
run mkfs image
claim "mkfs refuses a varve store and names it" both fails "" says varve
run mkfs image --force --size 256M
claim "mkfs --force formats it all the same" exits 0
run mkfs small --size 1M
claim "mkfs refuses a device that is too small and says how much it needs" both fails "" says "MiB|small"
claim "a refused mkfs leaves no image behind" test ! -e small
run mkfs image --size lots --force
claim "mkfs refuses a size it cannot read" both fails "" says size
if command -v mke2fs >/dev/null; then
  truncate -s 256M ext4.img
  mke2fs -q -F -t ext4 ext4.img
  cp --sparse=always ext4.img before.img
  run mkfs ext4.img
  claim "mkfs refuses ext4 and says so" both fails "" says ext4
  claim "a refused mkfs writes nothing" cmp ext4.img before.img
  rm -f before.img
else
  skip "mkfs refuses ext4 and says so" "no mke2fs"
fi
if command -v sfdisk >/dev/null; then
  truncate -s 256M parted.img
  echo 'label: gpt' | sfdisk -q parted.img
  run mkfs parted.img
  claim "mkfs refuses a partition table and says so" both fails "" says "gpt|partition"
else
  skip "mkfs refuses a partition table and says so" "no sfdisk"
fi

# put, get
run put image city/oslo Norway
claim "put stores a value and makes the directories" exits 0
run get image city/oslo
claim "get gives the value and nothing else" prints Norway
run put image city/oslo "still Norway"
run get image /city/oslo
claim "put replaces a value; a leading slash is the same key" prints "still Norway"
head -c 3000001 /dev/urandom >random
"$varve" put image big <random
"$varve" get image big >big.out
claim "a large value from standard input comes back byte for byte" cmp random big.out
run put image file --file random
"$varve" get image file >file.out
claim "a value from --file comes back byte for byte" cmp random file.out
run put image empty ""
run get image empty
claim "an empty value is a value" both exits 0 prints ""
run get image city/rome
claim "get of a missing key fails and names it" both fails "" says city/rome
run get image city
claim "get of a directory fails" fails
run put image city/oslo/suburb x
claim "put below a value fails" fails
run put image file --file missing
claim "put of a file that is not there fails and names it" both fails "" says missing
run get image file
claim "and leaves the old value" cmp random out

# ls, scan
for pair in lima=Peru kyoto=Japan accra=Ghana; do
  "$varve" put image "city/${pair%%=*}" "${pair#*=}"
done
run ls image city
claim "ls lists names in order" prints 'accra\nkyoto\nlima\noslo\n'
run ls image
claim "ls of the root shows directories as such" prints 'big\ncity/\nempty\nfile\n'
run ls image -l
claim "ls -l shows modes and sizes" says '^-rw.* 3000001 .*file$'
run ls image town
claim "ls of a missing directory fails and names it" both fails "" says town
run scan image
claim "scan gives every key in order" prints 'big\ncity/accra\ncity/kyoto\ncity/lima\ncity/oslo\nempty\nfile\n'
run scan image city/k
claim "scan takes any prefix" prints 'city/kyoto\n'
run scan image city/ --values
claim "scan --values adds the values" \
  prints 'city/accra\tGhana\ncity/kyoto\tJapan\ncity/lima\tPeru\ncity/oslo\tstill Norway\n'
run scan image city/l --values -0
claim "scan -0 ends keys and values with NUL" prints 'city/lima\0Peru\0'
run scan image nothing
claim "scan without a match prints nothing and succeeds" both exits 0 prints ""

# rm
run rm image city/lima empty
claim "rm removes several keys" exits 0
run scan image city/
claim "what was removed is gone" prints 'city/accra\ncity/kyoto\ncity/oslo\n'
run rm image city/lima
claim "rm of a missing key fails and names it" both fails "" says city/lima
run rm image city
claim "rm of a full directory fails and tells of -r" both fails "" says "-r"
run rm image -r city big
claim "rm -r removes it with all it holds" exits 0
run scan image
claim "and nothing else" prints 'file\n'

# stats, dump
run stats image --json
claim "stats --json is JSON" python3 -m json.tool out
run stats image
claim "stats is readable without JSON" test "$code" -eq 0 -a "$(grep -c '[{}]' out)" -eq 0 -a -s out
run dump image superblock
claim "dump superblock tells the store's identity" both exits 0 says uuid
run dump image manifest
claim "dump manifest succeeds" exits 0
run dump image wal
claim "dump wal succeeds" exits 0
run dump image table 999999999
claim "dump of a table that is not there fails" fails
run dump image nonsense
claim "dump of something unknown fails" fails

# fsck
run fsck image
claim "fsck finds nothing wrong in a good store" exits 0
run fsck image --deep
claim "nor does fsck --deep" exits 0
run fsck ext4.img
claim "fsck of something else is an operational error" exits 8
run fsck missing.img
claim "fsck of a missing device is an operational error" exits 8

# a store that is in use
mkfifo pipe
"$varve" put image held <pipe &
holder=$!
exec 3>pipe
# Seen from outside: whoever tried the lock could be in the holder's way.
for _ in $(seq 600); do
  ! grep -qE "FLOCK .* $holder " /proc/locks || break
  sleep 0.05
done
run get image file
claim "a store that is in use is refused" says "in use|held|busy|locked"
run mkfs image --force
claim "mkfs --force does not take a store that is in use" fails
exec 3>&-
wait "$holder"
run get image file
claim "and is free again afterwards" cmp random out

# damage
cp --sparse=always image damaged
# The first one lies behind the first 4096 bytes.
dd if=/dev/zero of=damaged bs=4096 seek=1 count=1 conv=notrunc status=none
run get damaged file
claim "a lost superblock copy is survived" cmp random out
run fsck damaged
claim "fsck finds it, and says how to mend it" both exits 4 says "--repair"
run fsck damaged --repair
claim "fsck --repair mends it, and says so" both exits 1 says mended
run fsck damaged
claim "and then nothing is wrong" both exits 0 says clean
run fsck -a damaged
claim "as at boot, too" exits 0
run fsck -n -y damaged
claim "fsck refuses what contradicts itself" exits 16
cp --sparse=always image damaged
# A byte in each MiB but the first: some hit live data.
for at in $(seq 2 40); do
  printf 'damage' | dd of=damaged bs=1 seek=$((at * 1048576 - 500000)) conv=notrunc status=none
done
run fsck damaged
claim "fsck finds damaged data" exits 4
run get damaged file
claim "damaged data is an error, never wrong bytes" fails

# the command line
for command in mkfs fsck scrub get put rm ls scan stats dump; do
  run "$command" --help
  claim "$command has --help" both exits 0 says "$command|usage|options"
done
run get image
claim "a missing argument is a usage error" fails
run nonsense
claim "an unknown command is a usage error" fails
run fsck
claim "a missing argument of fsck is fsck(8)'s usage error" exits 16
run fsck image --nonsense
claim "an unknown option of fsck, too" exits 16
run scrub "$scratch"
claim "scrub of what is no mount could not be made" exits 8

echo "1..$number"
