#!/bin/sh
# The main job on a small scale: a racy MPI program is recorded until it fails, and the failure is replayed three times.
#
#   examples/demo.sh [BUILD-DIRECTORY]        MPI=mpich chooses the other MPI; KEEP=1 keeps the failing trace
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../build}
reprise=$(cd "$build" && pwd)/bin/reprise
mpi=${MPI:-openmpi}
tries=${TRIES:-500}
ranks=4

command -v "mpicc.$mpi" >/dev/null || mpi=mpich
work=$(mktemp -d)
tidy() { [ -n "${KEEP:-}" ] || rm -rf "$work"; }
trap tidy EXIT

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$(printf '\033[1m') red=$(printf '\033[31m') green=$(printf '\033[32m') plain=$(printf '\033[0m')
else
  bold='' red='' green='' plain=''
fi
step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
typed() { printf '%s$ %s%s\n' "$bold" "$*" "$plain"; }
fail() { printf '%s%s%s\n' "$red" "$*" "$plain"; exit 1; }

# Open MPI refuses to start as root, and more ranks than cores, unless told.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1

step "A Mandelbrot picture by a master and $((ranks - 1)) workers. It is wrong now and then."
typed "mpicc.$mpi -g -O1 examples/mandelbrot.c -o mandelbrot"
"mpicc.$mpi" -g -O1 "$here/mandelbrot.c" -o "$work/mandelbrot"
cd "$work"

step "1. Record until it fails."
typed "reprise record -- mpirun.$mpi -n $ranks ./mandelbrot"
try=0 status=0
while [ "$status" -eq 0 ]; do
  try=$((try + 1))
  [ "$try" -le "$tries" ] || fail "No failure in $tries runs; nothing to replay."
  rm -rf trace
  "$reprise" record -o trace -- "mpirun.$mpi" -n "$ranks" ./mandelbrot >recorded.txt 2>recorded.err \
    && status=0 || status=$?
  [ "$status" -ne 0 ] || printf 'run %3d: the picture is right; its trace is deleted\n' "$try"
done
if [ "$status" -ne 1 ]; then
  cat recorded.err
  fail "run $try: exit status $status, which is not the program's failure"
fi
printf '%srun %3d: exit status 1%s\n\n' "$red" "$try" "$plain"
cat recorded.txt

number=1
while [ "$number" -le 3 ]; do
  step "$((number + 1)). Replay it: number $number of 3."
  typed "reprise replay trace"
  "$reprise" replay --yes trace >replayed.txt 2>replayed.err && status=0 || status=$?
  grep 'wrong' replayed.txt || true
  if [ "$status" -ne 1 ] || ! cmp -s recorded.txt replayed.txt; then
    cat replayed.err
    diff recorded.txt replayed.txt || true
    fail "exit status $status: this is not the recorded failure"
  fi
  printf '%sexit status 1, and the same output to the last byte%s\n' "$green" "$plain"
  number=$((number + 1))
done

step "5. What happened, with source lines (the first receives of the master):"
typed "reprise show trace"
"$reprise" show trace 2>&1 | head -n 25 || true

[ -z "${KEEP:-}" ] || printf '\nThe trace is in %s/trace\n' "$work"
step "One run in $try failed. It fails in every replay now, as often as it takes to understand it."
