#!/usr/bin/env python3
"""What it costs to record the values that reach each rank, and how fast one rank runs alone afterwards.

    bench/run_solo_bench.py --build build [--mpi mpich] [--pairs 31]

Plain, plain again (the A/A control), record --data all, and the replay of each rank alone, interleaved in random order.
Beside the bandwidth test stands the rate at which this machine fills a fresh map of a file: what is new has to be written.
"""

import argparse
import mmap
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import run_bench
import statistics_of_pairs as pairs

PROGRAMS = {"waitsome_halo": 20_000, "stencil": 20_000, "master_worker": 300_000, "bandwidth": 10_000}
BYTES = {"waitsome_halo": 2 * 64 * 8, "bandwidth": 65536}  # that reach a rank per unit of work
RANKS = 2


def fresh_map_rate(directory):
    """Bytes per second, best of five."""
    size, best = 256 << 20, 0.0
    for _ in range(5):
        with tempfile.NamedTemporaryFile(dir=directory) as file:
            os.posix_fallocate(file.fileno(), 0, size)
            with mmap.mmap(file.fileno(), size) as area:
                block = os.urandom(1 << 20)
                began = time.monotonic()
                for at in range(0, size, len(block)):
                    area[at:at + len(block)] = block
                best = max(best, size / (time.monotonic() - began))
    return best


class SoloBench(run_bench.Bench):
    def record_data(self, mpi, name, work):
        out, trace = self.dir / "out", self.dir / "trace"
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree(trace, ignore_errors=True)
        out.mkdir()
        command = [self.reprise, "record", "--data", "all", "-q", "-o", trace, "--", f"mpirun.{mpi}", "-n", str(RANKS),
                   self.build(mpi, name), out, str(work)]
        self.call(command)
        return max(self.seconds(out, rank) for rank in range(RANKS))

    def alone(self, rank):
        out = self.dir / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        self.call([self.reprise, "replay", "--yes", "-q", "--rank", str(rank), self.dir / "trace"])
        return self.seconds(out, rank)

    def call(self, command):
        done = subprocess.run(list(map(str, command)), env=self.environment, cwd=self.dir, capture_output=True,
                              text=True, timeout=1800, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stderr}")

    @staticmethod
    def seconds(out, rank):
        lines = dict(line.split() for line in (out / f"stats-{rank}.txt").read_text().splitlines())
        return float(lines["seconds"])


def measure(bench, mpi, name, rounds):
    work = PROGRAMS[name]
    seconds = {mode: [] for mode in ("plain", "again", "record", "solo")}
    bench.record_data(mpi, name, work)
    rng = random.Random(f"{mpi}/{name}")
    for _ in range(rounds):
        order = list(seconds)
        rng.shuffle(order)
        for mode in order:
            if mode == "record":
                seconds[mode].append(bench.record_data(mpi, name, work))
            elif mode == "solo":
                seconds[mode].append(max(bench.alone(rank) for rank in range(RANKS)))
            else:
                seconds[mode].append(bench.run("plain", mpi, RANKS, name, work)["seconds"])
    logged = sum(path.stat().st_size for path in (bench.dir / "trace").glob("rank-*.data"))
    received = BYTES.get(name, 0) * work * (RANKS if name == "waitsome_halo" else 1)
    return seconds, logged, received


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--pairs", type=int, default=31)
    args = parser.parse_args()
    args.build = args.build.resolve()
    bench = SoloBench(args)
    rows = []
    try:
        for mpi in ["openmpi", "mpich"] if args.mpi == "both" else [args.mpi]:
            for name in args.programs.split(","):
                print(f"{name}, {mpi} ...", file=sys.stderr, flush=True)
                seconds, logged, received = measure(bench, mpi, name, args.pairs)
                plain = sorted(seconds["plain"])[args.pairs // 2]
                ratio = lambda mode: run_bench.interval(pairs.ratio(seconds[mode], seconds["plain"]))
                rate = f"{received / plain / 1e9:.1f} GB/s" if received else "-"
                rows.append([name, mpi, f"{plain:.3f} s", ratio("again"), ratio("record"), ratio("solo"), logged,
                             received or "-", rate])
        rate = fresh_map_rate(bench.dir)
    finally:
        shutil.rmtree(bench.dir, ignore_errors=True)
    print(f"{run_bench.CORES} cores, {os.uname().machine}; {args.pairs} rounds; {RANKS} ranks\n")
    run_bench.print_table(["program", "mpi", "plain", "A/A", "record --data", "one rank alone (the slowest)",
                           "bytes logged", "received", "plain rate"], rows)
    print(f"A fresh map of a file is filled with {rate / 1e9:.1f} GB/s here.")


if __name__ == "__main__":
    main()
