#!/usr/bin/env bash
# Checks Chiaro on this Mac and writes one report: a folder with REPORT.md, logs, figures and pictures.
#   tools/mac_check.sh                     build the preset macos-arm64, run its tests, check metal0 (make mac-check)
#   tools/mac_check.sh --program CHIARO    check a program that is built
#   --device NAME   another device: cpu, or softmetal:apple7 on Linux (the default is metal0)
#   --out FOLDER    where the report goes (default: build/mac-check)
#   --reduced       small sizes, two repeats, two ops: whether the script works, no figures worth keeping
# Every step runs whatever became of those before it; exits with 1 where one failed. docs/macos.md says what it does.
# For the bash 3.2 of macOS: no associative arrays, no empty arrays under set -u.
set -uo pipefail

program='' device=metal0 out='' reduced=no
while [ $# -gt 0 ]; do
  case "$1" in
    --program | --device | --out)
      [ $# -ge 2 ] || { echo "mac_check: $1 needs a value" >&2; exit 2; }
      case "$1" in
        --program) program=$2 ;;
        --device) device=$2 ;;
        --out) out=$2 ;;
      esac
      shift 2
      ;;
    --reduced) reduced=yes; shift ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done

absolute() { case "$1" in /*) printf '%s' "$1" ;; *) printf '%s/%s' "$PWD" "$1" ;; esac; }
[ -z "$program" ] || program=$(absolute "$program")
[ -z "$out" ] || out=$(absolute "$out")
cd "$(dirname "$0")/.." || exit 2
root=$PWD
out=${out:-$root/build/mac-check}
case "$device" in metal* | softmetal*) metal=yes ;; *) metal=no ;; esac
if [ "$reduced" = yes ]; then
  ops='silu rope_apply' size=64 steps=1 repeats=2 rows=64 runs=3
else
  ops='' size=256 steps=20 repeats=5 rows=4096 runs=30
fi
force=+simd_reduce,+simd_matrix

rm -rf "$out"
mkdir -p "$out/logs" "$out/pictures" "$out/ab" || exit 2
failed=0

# step NAME TITLE COMMAND...: runs it, keeps its log, adds a line to the table.
step() {
  local name=$1 title=$2 code=0 began word
  shift 2
  local log="$out/logs/$name.txt"
  printf '== %s ...\n' "$title"
  began=$(date +%s)
  { printf '$'; for word in "$@"; do printf ' %q' "$word"; done; printf '\n'; } >"$log"
  "$@" >>"$log" 2>&1 </dev/null || code=$?
  local seconds=$(($(date +%s) - began)) result=ok
  if [ "$code" != 0 ]; then
    result="**failed ($code)**"
    failed=$((failed + 1))
    tail -n 5 "$log"
  fi
  printf '| %s | %s | %s | [log](logs/%s.txt) |\n' "$title" "$result" "$seconds" "$name" >>"$out/steps.md"
  return "$code"
}

machine() {
  if [ "$(uname)" = Darwin ]; then
    sw_vers
    sysctl -n machdep.cpu.brand_string hw.model hw.memsize kern.hv_vmm_present
    xcrun --show-sdk-version
    ${CXX:-c++} --version
  else
    uname -srm
    nproc
  fi
  git -C "$root" log -1 --format='commit %H' 2>/dev/null || true
  "$program" --version
  "$program" devices
}

# The program must need nothing but the system and what lies beside it.
links() {
  if [ "$(uname)" = Darwin ]; then
    otool -L "$program"
    lipo -archs "$program"
    vtool -show-build "$program"
    ! otool -L "$program" | tail -n +2 | grep -vE '^[[:space:]]*(/usr/lib/|/System/|@executable_path/)'
  else
    ldd "$program"
  fi
}

picture() {  # NAME FLAGS...: the same request with other flags
  local name=$1
  shift
  "$program" -p 'a red apple on a blue background' -W $size -H $size --steps $steps -s 7 -o "$out/pictures/$name.png" "$@"
}

alike() { "$program" compare "$out/pictures/$1.png" "$out/pictures/$2.png" --min-psnr "$3"; }

# ab NAME TITLE FLAGS...: a comparison with its own folder and a section of the report.
ab() {
  local name=$1 title=$2
  shift 2
  step "ab-$name" "A/B: $title" "$program" ab "$@" --repeats $repeats --timeout 900 --report "$out/ab/$name" || return 0
  {
    printf '\n### %s\n\n' "$title"
    # The links of the report in its folder, as seen from here.
    sed -e '1,2d' -e "s#](plot.svg)#](ab/$name/plot.svg)#" -e "s#](\./#](ab/$name/#g" "$out/ab/$name/report.md"
  } >>"$out/ab.md"
}

# Graphs that hold one operation many times, so that it outweighs the copies in and out.
rope_graph() {
  local i
  printf '%%0 = input "x" : f32[1,%s,24,128]\n%%1 = input "angles" : f32[%s,64,2,2]\n' $rows $rows
  printf '%%2 = rope_apply(%%0, %%1)\n'
  for i in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do printf '%%%s = rope_apply(%%%s, %%1)\n' $i $((i - 1)); done
  printf '%%18 = mean(%%17) {axes=[-1]}\noutput "y" %%18\n'
}
norm_graph() {
  local i n=3
  printf '%%0 = input "x" : f32[1,64,%s,320]\n%%1 = input "scale" : f32[320]\n%%2 = input "shift" : f32[320]\n' $rows
  local x=0
  for i in 1 2 3 4 5 6 7 8; do
    printf '%%%s = group_norm(%%%s, _, _) {groups=32}\n%%%s = mul_(%%%s, %%1)\n' $n $x $((n + 1)) $n
    printf '%%%s = add_(%%%s, %%2)\n%%%s = silu_(%%%s)\n' $((n + 2)) $((n + 1)) $((n + 3)) $((n + 2))
    x=$((n + 3)) n=$((n + 4))
  done
  printf '%%%s = mean(%%%s) {axes=[-1]}\noutput "y" %%%s\n' $n $x $n
}

build() {
  step deps 'packages' tools/install_deps.sh test &&
    step configure 'configure (macos-arm64)' cmake --preset macos-arm64 &&
    step build 'build' cmake --build --preset macos-arm64 &&
    step ctest 'tests' ctest --preset macos-arm64 -j "$(sysctl -n hw.ncpu 2>/dev/null || echo 2)"
}

if [ -z "$program" ]; then
  program=$root/build/macos-arm64/apps/cli/chiaro
  build || true
fi
if [ ! -x "$program" ]; then
  failed=$((failed + 1))
  printf '| program | **missing: %s** | 0 | |\n' "$program" >>"$out/steps.md"
else
  step machine 'machine and devices' machine
  step links 'what the program links' links

  # Whether every kernel agrees with its reference; then with features that the GPU of a virtual machine runs but
  # does not advertise.
  # shellcheck disable=SC2086  # a list of names, or nothing
  step ops "ops test -d $device" "$program" ops test -d "$device" $ops
  if [ $metal = yes ]; then
    # shellcheck disable=SC2086
    step ops-forced "ops test -d $device, CHIARO_METAL_FEATURES=$force" \
      env CHIARO_METAL_FEATURES=$force "$program" ops test -d "$device" $ops
  fi

  # The same picture from every placement. The CPU's is the measure; devices round differently.
  step picture-cpu 'picture on cpu' picture cpu
  step picture-device "picture on $device" picture device --backend "$device"
  step alike-device "picture on $device like cpu (40 dB)" alike cpu device 40
  for part in te diffusion vae; do
    step "picture-$part" "picture with $part on $device" picture $part --backend "$part=$device,all=cpu"
    step "alike-$part" "picture with $part on $device like cpu (40 dB)" alike cpu $part 40
  done
  step picture-norm "picture without group_norm on $device" picture norm --backend "$device" --disable-op "group_norm@$device"
  step alike-norm "picture without group_norm on $device like cpu (40 dB)" alike cpu norm 40
  step picture-again "the same picture once more on $device" picture again --backend "$device"
  step same-bytes "the same request gives the same bytes on $device" cmp "$out/pictures/device.png" "$out/pictures/again.png"

  rope_graph >"$out/rope.graph"
  norm_graph >"$out/norm.graph"
  paint="'$program' -p 'a red apple' -W $size -H $size --steps $steps -s 7 -o {out}"
  run="'$program' run --time $runs --devices $device"
  [ "$device" = cpu ] || run="$run,cpu"
  median='median ([0-9.]+) ms'
  ab rope "16 rope_apply on $device: its kernel (A), without it (B)" --figure "$median" --a-vs-a \
    --a "$run '$out/rope.graph'" --b "$run '$out/rope.graph' --disable-op rope_apply@$device"
  ab fuse "8 times group_norm, mul_, add_, silu_ on $device: fused (A), --skip fuse (B)" --figure "$median" --a-vs-a \
    --a "$run '$out/norm.graph'" --b "$run '$out/norm.graph' --skip fuse"
  if [ $metal = yes ]; then
    ab forced "norms on $device: as advertised (A), CHIARO_METAL_FEATURES=$force (B)" --figure "$median" \
      --a "$run '$out/norm.graph'" --b "env CHIARO_METAL_FEATURES=$force $run '$out/norm.graph'"
  fi
  ab fuse-picture "a picture on $device: fused (A), --no-fuse (B)" --a-vs-a --min-psnr 40 \
    --a "$paint --backend $device" --b "$paint --backend $device --no-fuse"
  if [ "$device" != cpu ]; then
    ab cpu "a picture: cpu (A), $device (B)" --min-psnr 40 --a "$paint" --b "$paint --backend $device"
  fi
fi

{
  printf '# Chiaro on this machine: %s\n\n' "$device"
  if [ "$reduced" = yes ]; then printf 'Reduced: whether the script works; the figures mean nothing.\n\n'; fi
  if [ "$failed" = 0 ]; then printf 'Every step passed.\n\n'; else printf '**%s steps failed.**\n\n' "$failed"; fi
  if [ -f "$out/logs/machine.txt" ]; then printf '```\n'; cat "$out/logs/machine.txt"; printf '```\n\n'; fi
  printf '## Steps\n\n| step | result | seconds | |\n|---|---|---|---|\n'
  cat "$out/steps.md"
  printf '\n## Pictures\n\n'
  for name in cpu device te diffusion vae norm; do
    if [ -f "$out/pictures/$name.png" ]; then printf '![%s](pictures/%s.png) ' $name $name; fi
  done
  printf '\n\nFrom the left: cpu; all of it on %s; then the text encoder, the diffusion model and the decoder there, one at a time; without its group_norm.\n' "$device"
  printf '\n## A/B\n'
  if [ -f "$out/ab.md" ]; then cat "$out/ab.md"; fi
} >"$out/REPORT.md"
rm -f "$out/steps.md" "$out/ab.md"
tar -czf "$out.tar.gz" -C "$(dirname "$out")" "$(basename "$out")"
printf '\n%s steps failed. The report: %s/REPORT.md\nTo send it: %s.tar.gz\n' "$failed" "$out" "$out"
[ "$failed" = 0 ]
