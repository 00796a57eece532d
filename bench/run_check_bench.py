#!/usr/bin/env python3
"""What `reprise check` costs: while the program runs, in its log, and afterwards.

    bench/run_check_bench.py --build build [--mpi mpich] [--pairs 31] [--quick] [--flows]

Plain, plain again (the A/A control) and check, interleaved in random order; times are of the slowest rank, without start-up.
HPL is that of HPCC (Debian's is linked with Open MPI), timed by itself. The analysis is timed apart, with the peak of its memory.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import run_bench
import statistics_of_pairs as pairs

# The program, how much it does, and more words for it. With few cells, the halo exchange computes next to nothing.
PROGRAMS = {"waitsome_halo": ("waitsome_halo", 20_000, ()), "waitsome_halo, 65,536 cells": ("waitsome_halo", 3_000, (65_536,)),
            "stencil": ("stencil", 20_000, ()), "ping_pong": ("ping_pong", 200_000, ())}
MODES = ["plain", "again", "check"]
RANKS = 2
HPL_SIZE = 2000
HPL_LOG_SIZE = 8000
HPCC_INPUT = Path(__file__).resolve().parent.parent / "tests" / "run" / "languages.py"
FLOW_PEERS = [("FlowChecker (2010), HPL and others", "1.01x to 1.10x; 0.4 to 30 MB of log per process and minute, 5 on average"),
              ("goals", "1.15x on HPL and halo; 10 MB of log per process and minute on HPL; 10^6 movements per second")]
PEERS = [("FlowChecker (2010), HPL and others", "1.01x to 1.10x while the program runs"),
         ("goals", "1.05x on HPL and halo; 5 MB of log per process and minute on HPL; 10^6 events per second, flat memory")]


class CheckBench(run_bench.Bench):
    words = ()

    def run(self, mode, mpi, ranks, name, work, extra=(), trace="trace"):
        if mode != "check":
            return super().run("plain", mpi, ranks, name, work, extra)
        out = self.dir / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        self.check([f"mpirun.{mpi}", "-n", str(ranks), self.build(mpi, name), out, work, *extra])
        stats = [dict(line.split() for line in path.read_text().splitlines()) for path in out.glob("stats-*")]
        return {"seconds": max(float(one["seconds"]) for one in stats), "calls": max(int(one["calls"]) for one in stats)}

    def check(self, command, cwd=None):
        shutil.rmtree(self.dir / "trace", ignore_errors=True)
        self.call([self.reprise, "check", *self.words, "-q", "--no-reproducers", "-o", self.dir / "trace", "--", *command], cwd)

    def call(self, command, cwd=None):
        done = subprocess.run(list(map(str, command)), env=self.environment, cwd=cwd or self.dir, capture_output=True, text=True,
                              timeout=1800, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stderr}")
        return done

    def log_bytes(self):
        return sum(path.stat().st_size for path in (self.dir / "trace").glob("rank-*.messages"))

    def hpl(self, mode, size):
        """Seconds of HPL alone, as it tells them."""
        directory = self.dir / "hpcc"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        text = re.search(r'HPCC_INPUT = """\\\n(.*?)"""', HPCC_INPUT.read_text(), re.S)[1]
        text = text.replace("100          Ns", f"{size}          Ns").replace("20           NBs", "64           NBs")
        text = text.replace("2            Ps", "1            Ps")
        (directory / "hpccinf.txt").write_text(text)
        command = ["mpirun.openmpi", "-n", RANKS, "hpcc"]
        began = time.monotonic()
        if mode == "check":
            self.check(command, directory)
        else:
            self.call(command, directory)
        told = dict(line.split("=", 1) for line in (directory / "hpccoutf.txt").read_text().splitlines() if line.startswith("HPL_"))
        return float(told["HPL_time"]), time.monotonic() - began


    def log_of_hpl(self, size):
        """(bytes of log per process, seconds) of HPL alone: HPCC tells when it begins and ends. The log grows in pieces, so HPL must be long."""
        told, over = {}, threading.Event()

        def watch():
            while not over.wait(0.02):
                path = self.dir / "hpcc" / "hpccoutf.txt"
                text = path.read_text() if path.exists() else ""
                for word in ("Begin", "End"):
                    if word not in told and f"{word} of HPL section" in text:
                        told[word] = (self.log_bytes(), time.monotonic())
        watcher = threading.Thread(target=watch)
        shutil.rmtree(self.dir / "hpcc", ignore_errors=True)
        watcher.start()
        try:
            self.hpl("check", size)
        finally:
            over.set()
            watcher.join()
        return (told["End"][0] - told["Begin"][0]) / RANKS, told["End"][1] - told["Begin"][1]


def compare(args, bench, run, name):
    """`run` in all modes: seconds of each."""
    seconds = {mode: [] for mode in MODES}
    rng = random.Random(name)
    run("check")
    for _ in range(args.pairs):
        order = MODES[:]
        rng.shuffle(order)
        for mode in order:
            seconds[mode].append(run(mode))
    return seconds


def measure_program(args, bench, mpi, name):
    program, work, words = PROGRAMS[name]
    work //= 20 if args.quick else 1
    calls = []

    def run(mode):
        result = bench.run(mode, mpi, RANKS, program, work, [str(word) for word in words])
        calls.append(result["calls"])
        return result["seconds"]
    seconds = compare(args, bench, run, f"{mpi}/{name}")
    check = pairs.ratio(seconds["check"], seconds["plain"])
    cost = pairs.per_call_ns(seconds["check"], seconds["plain"], calls[0])
    return [name, mpi, f"{sorted(seconds['plain'])[args.pairs // 2] * 1e9 / calls[0]:.0f}",
            run_bench.interval(pairs.ratio(seconds["again"], seconds["plain"])), run_bench.interval(check), run_bench.nanoseconds(cost)]


def measure_hpl(args, bench):
    size = HPL_SIZE // (4 if args.quick else 1)
    whole = []

    def run(mode):
        hpl, all_of_it = bench.hpl(mode, size)
        if mode == "check":
            whole.append((bench.log_bytes() / RANKS / 1e6, all_of_it))
        return hpl
    seconds = compare(args, bench, run, "hpl")
    megabytes, minutes = sum(one for one, _ in whole) / len(whole), sum(one for _, one in whole) / len(whole) / 60
    print(f"HPL of {size} equations on {RANKS} ranks (Open MPI): plain {sorted(seconds['plain'])[args.pairs // 2]:.2f} s, "
          f"A/A {run_bench.interval(pairs.ratio(seconds['again'], seconds['plain']))}, "
          f"check {run_bench.interval(pairs.ratio(seconds['check'], seconds['plain']))}")
    print(f"log of all of HPCC: {megabytes:.2f} MB per process in {minutes:.2f} minutes with the analysis")
    size = HPL_LOG_SIZE // (4 if args.quick else 1)
    logged, took = bench.log_of_hpl(size)
    print(f"log of HPL alone ({size} equations): {logged / 1e6:.2f} MB per process in {took:.1f} s, {logged / 1e6 / took * 60:.2f} MB in a minute\n")


def measure_analysis(args, bench, mpi):
    """Events per second, and the peak of memory."""
    rows = []
    sizes = (10_000, 100_000) if args.quick else (100_000, 1_000_000) if bench.words else (100_000, 1_000_000, 4_000_000)
    for rounds in sizes:
        bench.run("check", mpi, RANKS, "ping_pong", rounds)
        began = time.monotonic()
        child = subprocess.Popen([bench.reprise, "check", "-q", "--no-reproducers", bench.dir / "trace"], env=bench.environment,
                                 cwd=bench.dir, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.monotonic() - began
        if status != 0:
            sys.exit("the analysis failed")
        events = rounds * 2 * RANKS
        if bench.words:  # each message is moved several times
            told = bench.call([bench.reprise, "check", "--json", "--no-reproducers", bench.dir / "trace"])
            events += json.loads(told.stdout)["flows"]["movements"]
        rows.append([mpi, events, f"{seconds:.2f}", f"{events / seconds / 1e6:.2f}", used.ru_maxrss, f"{bench.log_bytes() / events:.2f}"])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument("--flows", action="store_true", help="with --flows: the library's movements are followed, too")
    parser.add_argument("--pairs", type=int, default=31)
    parser.add_argument("--quick", action="store_true", help="3 rounds, little work: is it sane?")
    args = parser.parse_args()
    args.build = args.build.resolve()
    args.pairs = 3 if args.quick else args.pairs
    mpis = [mpi for mpi in (["openmpi", "mpich"] if args.mpi == "both" else [args.mpi]) if shutil.which(f"mpirun.{mpi}")]
    bench = CheckBench(args)
    bench.words = ("--flows",) if args.flows else ()
    try:
        print(f"{run_bench.CORES} cores, {os.uname().machine}; {args.pairs} rounds of plain, plain, check; {RANKS} ranks\n")
        if "openmpi" in mpis and shutil.which("hpcc"):
            measure_hpl(args, bench)
        rows, analysis = [], []
        for mpi in mpis:
            rows += [measure_program(args, bench, mpi, name) for name in PROGRAMS]
            analysis += measure_analysis(args, bench, mpi)
    finally:
        shutil.rmtree(bench.dir, ignore_errors=True)
    print("Time as a ratio to plain [95 % interval], and extra ns per call of the busiest rank")
    run_bench.print_table(["program", "mpi", "plain ns/call", "A/A", "check", "check ns"], rows)
    print("The analysis of ping-pong")
    run_bench.print_table(["mpi", "events", "seconds", "10^6 events/s", "peak KiB", "bytes/event"], analysis)
    run_bench.print_table(["published", ""], FLOW_PEERS if args.flows else PEERS)


if __name__ == "__main__":
    main()
