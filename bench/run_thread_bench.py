#!/usr/bin/env python3
"""What recording and replaying threads cost: locks that nobody else wants, locks that four threads want, and a halo
exchange by ranks with two threads each. Rounds and statistics as in run_bench.py.

    bench/run_thread_bench.py --build build
    bench/run_thread_bench.py --build build --mpi openmpi --pairs 5
"""

import argparse
import random
import shutil
import statistics
import sys
from pathlib import Path

import run_bench
import statistics_of_pairs as pairs

# name: program, ranks, work, further arguments, what a call is
KINDS = {
    "uncontended": ("locks", 1, 10_000_000, ["uncontended"], "acquisition"),
    "contended": ("locks", 1, 2_000_000, ["contended"], "acquisition"),
    "hybrid halo": ("hybrid_halo", 1, 5_000, [], "MPI call"),
    "hybrid halo, 2 ranks": ("hybrid_halo", 2, 2_000, [], "MPI call"),
}


def measure(bench, mpi, kind, rounds):
    program, ranks, work, extra, unit = KINDS[kind]
    rng = random.Random(f"{mpi}/{kind}")
    seconds, calls, sizes = {mode: [] for mode in run_bench.MODES}, 1, []
    bench.run("record", mpi, ranks, program, work, extra)
    for _ in range(rounds):
        order = run_bench.MODES[:]
        rng.shuffle(order)
        for mode in order:
            result = bench.run(mode, mpi, ranks, program, work, extra)
            seconds[mode].append(result["seconds"])
            calls = result["calls"]
            if mode == "record":
                sizes.append(bench.trace_bytes() / (calls * ranks))
    row = [kind, mpi, f"{statistics.median(seconds['plain']) / calls * 1e9:.1f}"]
    row += [run_bench.interval(pairs.ratio(seconds[mode], seconds["plain"])) for mode in ("again", "record", "replay")]
    return [*row, f"{statistics.median(sizes):.3f} per {unit}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument("--pairs", type=int, default=31)
    parser.add_argument("--only", default="", help="only kinds with this in their names")
    args = parser.parse_args()
    args.build = args.build.resolve()
    bench = run_bench.Bench(args)
    rows = []
    try:
        for mpi in ["openmpi", "mpich"] if args.mpi == "both" else [args.mpi]:
            if not shutil.which(f"mpirun.{mpi}"):
                continue
            for kind in (name for name in KINDS if args.only in name):
                print(f"{kind}, {mpi} ...", file=sys.stderr, flush=True)
                rows.append(measure(bench, mpi, kind, args.pairs))
    finally:
        shutil.rmtree(bench.dir, ignore_errors=True)
    print(f"{run_bench.CORES} cores; {args.pairs} rounds; goals: uncontended 3x, contended 1.5x, hybrid halo 1.05x, "
          "0.5 byte per contended acquisition\n")
    run_bench.print_table(["kind", "mpi", "plain ns", "A/A", "record", "replay", "bytes"], rows)


if __name__ == "__main__":
    main()
