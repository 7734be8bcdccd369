#!/usr/bin/env bash
# Runs one part of `make test`, prints what it took, and keeps the figures for the closing table.
#   tools/part.sh --start              forget the figures of an earlier run
#   tools/part.sh NAME COMMAND...      run the command; a part that fails shows its last lines and ends the run
#   tools/part.sh --summary            print the table, and how many tests ran
# Configure and build parts print only when they fail; test parts print as they go.
set -euo pipefail
folder=build/parts
mkdir -p "$folder"

summary() {
  local passed failed
  echo
  echo "part                              seconds"
  awk -F '\t' '{printf "%-32s %8d\n", $1, $2; all += $2} END {printf "%-32s %8d\n", "all", all}' "$folder/times"
  # Each CTest run closes with "NN% tests passed, F tests failed out of T".
  passed=$(sed -n 's/.*tests passed, \([0-9]*\) tests* failed out of \([0-9]*\).*/\2 \1/p' "$folder"/*.log |
    awk '{n += $1 - $2} END {print n + 0}')
  failed=$(sed -n 's/.*tests passed, \([0-9]*\) tests* failed out of \([0-9]*\).*/\1/p' "$folder"/*.log |
    awk '{n += $1} END {print n + 0}')
  echo
  echo "$passed passed, $failed failed"
}

case "${1:?usage: part.sh --start | --summary | NAME COMMAND...}" in
  --start)
    rm -f "$folder"/times "$folder"/*.log
    exit 0
    ;;
  --summary)
    summary
    exit 0
    ;;
esac

name=$1
shift
log="$folder/$(printf '%s' "$name" | tr -cs 'a-z0-9' '-').log"
began=$(date +%s)
code=0
case "$name" in
  configure* | build*)
    printf '== %s ...\n' "$name"
    "$@" >"$log" 2>&1 </dev/null || code=$?
    if [ "$code" != 0 ]; then tail -n 60 "$log"; fi
    ;;
  *)
    printf '== %s\n' "$name"
    "$@" </dev/null 2>&1 | tee "$log" || code=$?
    ;;
esac
seconds=$(($(date +%s) - began))
printf '%s\t%s\n' "$name" "$seconds" >>"$folder/times"
if [ "$code" != 0 ]; then
  echo "== $name failed after $seconds s (whole log: $log)" >&2
  exit "$code"
fi
printf '== %s: %s s\n' "$name" "$seconds"
