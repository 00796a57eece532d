#!/usr/bin/env python3
"""How many orders `reprise explore` tries in a second: racing senders, 4 to 7 ranks, with one worker and with two; beside it
what a start of the same program by mpirun costs, which is what a search that starts every order anew would pay at least.

    bench/run_explore_bench.py --build build
    bench/run_explore_bench.py --build build --memory 1000000      # how much memory so many orders take
    bench/run_explore_bench.py --build build --threads             # a program with threads: Table 2.1 of isp-hybrid-fprs
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "programs" / "racing.c"
MODEL_CHECKER = Path(__file__).resolve().parent.parent / "examples" / "model_checker.cpp"
# ranks: rounds of the race, orders at most
RACES = {4: (4, 1296), 5: (2, 576), 6: (1, 120), 7: (1, 720)}
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


def explore(reprise, program, ranks, rounds, workers, words=()):
    run = subprocess.run([reprise, "explore", "-n", str(ranks), "-j", str(workers), "--buffering", "infinite", "--no-save",
                          "--json", *words, "--", program, str(rounds)], capture_output=True, text=True, env=ENVIRONMENT)
    if run.returncode not in (0, 3):
        raise SystemExit(f"explore failed: {run.stderr}")
    result = json.loads(run.stdout)
    return result["orders"], result["seconds"]


def start_seconds(mpi, program, ranks, rounds):
    times = []
    for _ in range(7):
        began = time.monotonic()
        subprocess.run([f"mpirun.{mpi}", "-n", str(ranks), program, str(rounds)], check=True, capture_output=True, env=ENVIRONMENT)
        times.append(time.monotonic() - began)
    return statistics.median(times)


def memory_of(name):
    """Resident megabytes of all processes whose command has this in it, without what they share."""
    total = 0
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if name in Path(f"/proc/{entry}/cmdline").read_text():
                total += int(next(line for line in Path(f"/proc/{entry}/smaps_rollup").read_text().splitlines()
                                  if line.startswith("Pss:")).split()[1])
        except (OSError, StopIteration):
            continue
    return total / 1024


def memory(reprise, program, orders):
    seen, done = [], threading.Event()

    def watch():
        while not done.wait(5):
            seen.append(memory_of(str(program)))
    watcher = threading.Thread(target=watch)
    watcher.start()
    count, seconds = explore(reprise, program, 4, 8, os.cpu_count(), ["--max-orders", str(orders)])
    done.set()
    watcher.join()
    quarter = max(1, len(seen) // 4)
    print(f"{count} orders of 4 ranks in {seconds:.0f} s: {statistics.mean(seen[:quarter]):.1f} MB in the first quarter, "
          f"{statistics.mean(seen[-quarter:]):.1f} MB in the last (explorer, servers and ranks together)")


# The paper's: ranks and depth, interleavings explored by the original ISP and with its replay daemon
TABLE = {(3, 3): ("11", "11"), (3, 5): ("fails on the 2nd", "61"), (3, 10): ("", "over 1500"), (3, 20): ("", "over 1600"),
         (4, 3): ("fails on the 4th", "6"), (4, 5): ("", "over 1097"), (4, 10): ("", "over 2000"), (4, 20): ("", "over 2400")}


def explore_threads(reprise, program, ranks, depth, seconds, **variables):
    """How many orders, and whether something went wrong."""
    run = subprocess.run([reprise, "explore", "-n", str(ranks), "--buffering", "infinite", "--no-save", "--json", "--max-time",
                          str(seconds), "--", program, "--depth", str(depth), "--jitter", "20"],
                         capture_output=True, text=True, env={**ENVIRONMENT, **variables})
    if run.returncode not in (0, 1, 3):
        return f"fails ({run.stderr.strip()})"
    result = json.loads(run.stdout)
    wrong = [f"{error['category']} in order {error['order']}" for error in result["errors"]]
    more = "" if result["complete"] else f", more left after {seconds} s"
    return wrong[0] if wrong else f"{result['orders']}{more}"


def threads(reprise, program, mpi, seconds):
    print(f"{mpi}: a model checker with a worker and a communicator thread in each rank, orders explored")
    print(f"  {'ranks':>5} {'depth':>5}  {'threads as they come':<28} {'one at a time':<28} {'original ISP':<18} ISP with daemon")
    for (ranks, depth), (original, daemon) in TABLE.items():
        free = explore_threads(reprise, program, ranks, depth, seconds, REPRISE_FREE_THREADS="1")
        ours = explore_threads(reprise, program, ranks, depth, seconds)
        print(f"  {ranks:>5} {depth:>5}  {free:<28} {ours:<28} {original:<18} {daemon}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--memory", type=int, metavar="ORDERS")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--seconds", type=int, default=30, help="for each row of --threads")
    args = parser.parse_args()
    reprise = str(args.build.resolve() / "bin" / "reprise")
    with tempfile.TemporaryDirectory() as directory:
        for mpi in ["openmpi", "mpich"] if args.mpi == "both" else [args.mpi]:
            if not shutil.which(f"mpicc.{mpi}"):
                continue
            program = Path(directory) / f"racing.{mpi}"
            subprocess.run([f"mpicc.{mpi}", "-O2", SOURCE, "-o", program], check=True)
            if args.threads:
                checker = Path(directory) / f"model_checker.{mpi}"
                subprocess.run([f"mpicxx.{mpi}", "-O2", "-std=c++17", "-w", MODEL_CHECKER, "-o", checker, "-pthread"], check=True)
                threads(reprise, checker, mpi, args.seconds)
                continue
            if args.memory:
                memory(reprise, program, args.memory)
                continue
            print(f"{mpi}: orders per second (goal: 300 with 4 ranks on two cores)")
            print(f"  {'ranks':>5} {'orders':>7} {'1 worker':>10} {'2 workers':>10} {'mpirun starts':>14}")
            for ranks, (rounds, orders) in RACES.items():
                rates = []
                for workers in (1, 2):
                    measured = []
                    for _ in range(args.times):
                        count, seconds = explore(reprise, program, ranks, rounds, workers)
                        assert count == orders, (count, orders)
                        measured.append(count / seconds)
                    rates.append(statistics.median(measured))
                print(f"  {ranks:>5} {orders:>7} {rates[0]:>10.0f} {rates[1]:>10.0f} "
                      f"{1 / start_seconds(mpi, program, ranks, rounds):>14.1f}", flush=True)


if __name__ == "__main__":
    main()
