#!/usr/bin/env python3
"""What it costs to record the values of 1, 2, 4 or all of 8 ranks that communicate one-sidedly.

    bench/run_onesided_bench.py --build build [--mpi openmpi] [--rounds 7] [--programs stencil,gups] [--fidelity access]

A round runs plain, plain again (the A/A control) and a recording of each set, in random order. Times are of the slowest rank, without
start-up and MPI_Init. With --fidelity access what is recorded is compiled with `reprise cc`, and runs without Reprise, too ("hooks"). The log is what the values of the whole set take, the shadow what was remembered to know what is new (OPR's Table 2).
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import run_bench
import statistics_of_pairs as pairs

RANKS = 8
SETS = {1: "3", 2: "1,5", 4: "0,2,4,6", 8: "all"}
# Units of work. MPICH waits busily, and 8 ranks on 2 cores take each other's time slices.
PROGRAMS = {"openmpi": {"stencil": 600, "gups": 60_000, "tree": 20_000, "queue": 1_000, "cg": 300},
            "mpich": {"stencil": 20, "gups": 2_000, "tree": 2_000, "queue": 4, "cg": 10}}
PAPER = {"stencil": "laplace 8.6x to 14.8x", "gups": "guppie 4.5x to 4.9x", "tree": "uts-upc 25x to 26x", "queue": "-", "cg": "CG 5.8x to 6.2x"}


class OneSidedBench(run_bench.Bench):
    fidelity = "sync"

    def with_hooks(self, mpi):
        target = self.dir / f"hooks-{mpi}"
        if not target.exists():
            source = Path(__file__).resolve().parent / "programs" / "one_sided.c"
            subprocess.run([self.reprise, "cc", "--wrap", f"mpicc.{mpi}", "-O2", "-g", source, "-o", target], check=True)
        return target

    def once(self, mpi, word, units, data=None, hooks=False):
        out, trace = self.dir / "out", self.dir / "trace"
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree(trace, ignore_errors=True)
        out.mkdir()
        parameter = ["--mca", "osc", "^rdma"] if mpi == "openmpi" else []
        command = [f"mpirun.{mpi}", *parameter, "-n", str(RANKS), self.with_hooks(mpi) if hooks else self.build(mpi, "one_sided"),
                   out, units, word]
        if data:
            command = [self.reprise, "record", "--data", data, "--fidelity", self.fidelity, "-q", "-o", trace, "--", *command]
        done = subprocess.run(list(map(str, command)), env=self.environment, cwd=self.dir, capture_output=True, text=True, timeout=600,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stderr}")
        return max(float((out / f"stats-{rank}.txt").read_text().split()[1]) for rank in range(RANKS))

    def sizes(self):
        """Bytes of the values, and of the shadows."""
        trace = self.dir / "trace"
        log = sum(path.stat().st_size for path in trace.glob("rank-*.data"))
        notes = [line.split("\t") for line in json.loads((trace / "manifest.json").read_text())["notes"].splitlines()]
        return log, sum(int(text) for _, key, text in notes if key == "shadow")


def measure(bench, mpi, word, units, rounds):
    hooks = bench.fidelity == "access"
    modes = ["plain", "again", *(["hooks"] if hooks else []), *SETS]
    seconds, sizes = {mode: [] for mode in modes}, {}
    rng = random.Random(f"{mpi}/{word}")
    for _ in range(rounds):
        rng.shuffle(modes)
        for mode in modes:
            seconds[mode].append(bench.once(mpi, word, units, SETS.get(mode), hooks and mode not in ("plain", "again")))
            if mode in SETS:
                sizes[mode] = bench.sizes()
    return seconds, sizes


def kib(size):
    return f"{size / 1024:.0f} KiB" if size < 10 << 20 else f"{size / (1 << 20):.0f} MiB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument("--programs", default="stencil,gups,tree,queue,cg")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--fidelity", choices=["sync", "access"], default="sync")
    args = parser.parse_args()
    args.build = args.build.resolve()
    bench = OneSidedBench(args)
    bench.fidelity = args.fidelity
    print(f"{run_bench.CORES} cores, {os.uname().machine}; {args.rounds} rounds; {RANKS} ranks")
    try:
        for mpi in ["openmpi", "mpich"] if args.mpi == "both" else [args.mpi]:
            for word in args.programs.split(","):
                seconds, sizes = measure(bench, mpi, word, PROGRAMS[mpi][word], args.rounds)
                ratio = {mode: pairs.ratio(seconds[mode], seconds["plain"]) for mode in ("again", *SETS)}
                if args.fidelity == "access":
                    ratio["hooks"] = pairs.ratio(seconds["hooks"], seconds["plain"])
                plain = sorted(seconds["plain"])[args.rounds // 2]
                print(f"{word}, {mpi}: plain {plain:.3f} s, again {run_bench.interval(ratio['again'])}; the paper: {PAPER[word]}")
                if "hooks" in ratio:
                    print(f"  hooks, without Reprise: {run_bench.interval(ratio['hooks'])}")
                for mode in SETS:
                    log, shadow = sizes[mode]
                    print(f"  {mode} of {RANKS}: {run_bench.interval(ratio[mode])}, log {kib(log)}, shadow {kib(shadow)}", flush=True)
    finally:
        shutil.rmtree(bench.dir, ignore_errors=True)


if __name__ == "__main__":
    main()
