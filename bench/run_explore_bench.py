#!/usr/bin/env python3
"""How many orders `reprise explore` tries in a second: racing senders, 4 to 7 ranks, with one worker and with two; beside it
what a start of the same program by mpirun costs, which is what a search that starts every order anew would pay at least.

    bench/run_explore_bench.py --build build
    bench/run_explore_bench.py --build build --memory 1000000      # how much memory so many orders take
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
    count, seconds = explore(reprise, program, 7, 3, os.cpu_count(), ["--max-orders", str(orders)])
    done.set()
    watcher.join()
    quarter = max(1, len(seen) // 4)
    print(f"{count} orders of 7 ranks in {seconds:.0f} s: {statistics.mean(seen[:quarter]):.1f} MB in the first quarter, "
          f"{statistics.mean(seen[-quarter:]):.1f} MB in the last (explorer, servers and ranks together)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--memory", type=int, metavar="ORDERS")
    args = parser.parse_args()
    reprise = str(args.build.resolve() / "bin" / "reprise")
    with tempfile.TemporaryDirectory() as directory:
        for mpi in ["openmpi", "mpich"] if args.mpi == "both" else [args.mpi]:
            if not shutil.which(f"mpicc.{mpi}"):
                continue
            program = Path(directory) / f"racing.{mpi}"
            subprocess.run([f"mpicc.{mpi}", "-O2", SOURCE, "-o", program], check=True)
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
