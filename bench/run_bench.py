#!/usr/bin/env python3
"""What recording and replaying cost, beside plain runs of the same binary and beside the published figures.

    bench/run_bench.py --build build                     31 rounds, 2, 4 and 8 ranks, both MPIs
    bench/run_bench.py --build build --quick             few rounds and messages: is it sane?
    bench/run_bench.py --build build --mpi openmpi --ranks 2 --json result.json

A round runs plain, plain again (the A/A control: what the machine itself varies by), record and replay, in random
order; a replay takes the trace of the round before. Times are of the slowest rank, without start-up and MPI_Init.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import statistics_of_pairs as pairs

HERE = Path(__file__).resolve().parent
CORES = os.cpu_count() or 1
MODES = ["plain", "again", "record", "replay"]
PROGRAMS = {"master_worker": 1_000_000, "waitsome_halo": 20_000, "test_polling": 100_000, "particles": 20_000,
            "stencil": 20_000, "clock_reads": 5_000_000}
PEERS = [
    ("MPL* (1999), mandelbrot", "record 1.03x, replay 1.003x; 3912 bytes of log"),
    ("MPL* (1999), queens(12)", "record 0.98x, replay 1.02x; 1710 bytes of log"),
    ("MPL* (1999), scalprod", "record 1.01x, replay 1.06x; 874 bytes of log"),
    ("ReMPI, programs of these kinds", "record 1.6 to 10x, replay 3 to 12x; 64 to 120 bytes per message "
                                       "(0.5 to 2.5 with gzip)"),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--pairs", type=int, default=31)
    parser.add_argument("--quick", action="store_true", help="3 rounds, a tenth of the messages, 10^5 to 10^6 events")
    parser.add_argument("--no-time", action="store_true", help="only sizes and memory")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    args.build = args.build.resolve()
    args.mpis = ["openmpi", "mpich"] if args.mpi == "both" else [args.mpi]
    args.mpis = [mpi for mpi in args.mpis if shutil.which(f"mpirun.{mpi}")]
    args.rank_counts = [int(word) for word in args.ranks.split(",")]
    args.programs = args.programs.split(",")
    if args.quick:
        args.pairs = 3
    return args


class Bench:
    def __init__(self, args):
        self.args = args
        self.dir = Path(tempfile.mkdtemp(prefix="rb-"))
        self.reprise = str(args.build / "bin" / "reprise")
        self.environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1", NO_COLOR="1",
                                HOME=str(self.dir))

    def build(self, mpi, name):
        target = self.dir / f"{name}.{mpi}"
        if not target.exists():
            source, support = HERE / "programs" / f"{name}.c", HERE / "programs" / "fortran_support.c"
            command = [f"mpicc.{mpi}", "-std=gnu11", "-O2", "-g", source, "-lm", "-o", target]
            if not source.exists():
                made = self.dir / f"fortran_support.{mpi}.o"
                subprocess.run([f"mpicc.{mpi}", "-std=gnu11", "-O2", "-c", support, "-o", made], check=True)
                command = [f"mpifort.{mpi}", "-O2", "-g", source.with_suffix(".f90"), made, "-o", target]
            subprocess.run(command, check=True)
        return str(target)

    def run(self, mode, mpi, ranks, name, work, extra=(), trace="trace"):
        """The statistics of one run: of the slowest and the busiest rank."""
        out, trace = self.dir / "out", self.dir / trace
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        command = [f"mpirun.{mpi}", "-n", str(ranks), self.build(mpi, name), str(out), str(work), *extra]
        if mode == "record":
            shutil.rmtree(trace, ignore_errors=True)
            command = [self.reprise, "record", "-o", str(trace), "--", *command]
        elif mode == "replay":
            command = [self.reprise, "replay", "--yes", str(trace)]
        began = time.monotonic()
        done = subprocess.run(command, env=self.environment, cwd=self.dir, capture_output=True, text=True,
                              timeout=1800, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stderr}")
        stats = [dict(line.split() for line in path.read_text().splitlines()) for path in sorted(out.glob("stats-*"))]
        if len(stats) != ranks:
            sys.exit(f"{' '.join(command)}: {len(stats)} of {ranks} ranks reported")
        total = lambda key: sum(float(one.get(key, 0)) for one in stats)
        return {"seconds": max(float(one["seconds"]) for one in stats), "wall": time.monotonic() - began,
                "calls": max(int(one["calls"]) for one in stats), "wildcards": total("wildcards"),
                "peak_kb": max(int(one["peak_kb"]) for one in stats), "polls": total("polls"),
                "entropy_bytes": total("entropy_bytes")}

    def trace_bytes(self, trace="trace"):
        return sum(path.stat().st_size for path in (self.dir / trace).glob("rank-*"))


def work_of(args, mpi, ranks, name):
    """MPICH waits busily: with more ranks than cores a message may cost a time slice, so it gets fewer of them."""
    work = PROGRAMS[name]
    if mpi == "mpich" and ranks > CORES:
        work = {"master_worker": 100_000 if ranks <= 2 * CORES else 30_000, "waitsome_halo": 200,
                "test_polling": 30_000, "particles": 200, "stencil": 200}.get(name, work)
    return max(50, work // 10) if args.quick else work


def measure_time(bench, mpi, ranks, name):
    args, extra = bench.args, ["poll"] if name == "test_polling" else []
    work = work_of(args, mpi, ranks, name)
    bench.run("record", mpi, ranks, name, work, extra)
    seconds, calls = {mode: [] for mode in MODES}, []
    rng = random.Random(f"{mpi}/{ranks}/{name}")
    for _ in range(args.pairs):
        order = MODES[:]
        rng.shuffle(order)
        for mode in order:
            result = bench.run(mode, mpi, ranks, name, work, extra)
            seconds[mode].append(result["seconds"])
            if mode == "plain":
                calls.append(result["calls"])
    typical = sorted(calls)[len(calls) // 2]
    row = {"mpi": mpi, "ranks": ranks, "program": name, "work": work, "rounds": args.pairs, "calls": typical,
           "plain_ns_per_call": sorted(seconds["plain"])[args.pairs // 2] * 1e9 / typical, "seconds": seconds}
    for mode in MODES[1:]:
        row[mode] = {**pairs.ratio(seconds[mode], seconds["plain"]),
                     "per_call": pairs.per_call_ns(seconds[mode], seconds["plain"], typical)}
    return row


def measure_sizes(bench, mpi, ranks):
    """Bytes per wildcard message, and what polls cost beside the entropy of their counts."""
    work = work_of(bench.args, mpi, ranks, "master_worker")
    result = bench.run("record", mpi, ranks, "master_worker", work)
    row = {"mpi": mpi, "ranks": ranks, "wildcards": result["wildcards"], "bytes": bench.trace_bytes(),
           "bytes_per_wildcard": bench.trace_bytes() / result["wildcards"]}
    work = work_of(bench.args, mpi, ranks, "test_polling")
    result = bench.run("record", mpi, ranks, "test_polling", work, ["poll"])
    with_polls = bench.trace_bytes()
    bench.run("record", mpi, ranks, "test_polling", work, ["wait"])
    row.update(polls=result["polls"], entropy_bytes=result["entropy_bytes"],
               poll_bytes=with_polls - bench.trace_bytes())
    row["poll_ratio"] = row["poll_bytes"] / row["entropy_bytes"] if row["entropy_bytes"] else None
    work = work_of(bench.args, mpi, ranks, "clock_reads")
    bench.run("record", mpi, ranks, "clock_reads", work)
    row["bytes_per_clock_read"] = bench.trace_bytes() / (work * ranks)
    return row


def measure_memory(bench, mpi):
    """The peak of the busiest rank must not depend on how long the run is."""
    rows = []
    for events in ((100_000, 1_000_000) if bench.args.quick else (100_000, 1_000_000, 10_000_000)):
        peaks = {mode: bench.run(mode, mpi, 2, "master_worker", events)["peak_kb"]
                 for mode in ("plain", "record", "replay")}
        rows.append({"mpi": mpi, "events": events, **peaks, "bytes_per_event": bench.trace_bytes() / events})
    return rows


def interval(part, digits=3):
    return f"{part['ratio']:.{digits}f} [{part['low']:.{digits}f} {part['high']:.{digits}f}]"


def nanoseconds(part):
    return f"{part['ns']:.0f} [{part['low']:.0f} {part['high']:.0f}]"


def print_table(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
    print()


def print_times(rows):
    print("Time as a ratio to plain [95 % interval], and extra ns per call of the busiest rank")
    print_table(["program", "mpi", "ranks", "plain ns/call", "A/A", "record", "replay", "record ns", "replay ns"],
                [[row["program"], row["mpi"], row["ranks"], f"{row['plain_ns_per_call']:.0f}", interval(row["again"]),
                  interval(row["record"]), interval(row["replay"]), nanoseconds(row["record"]["per_call"]),
                  nanoseconds(row["replay"]["per_call"])] for row in rows])


def print_sizes(rows):
    print("Trace size")
    print_table(["mpi", "ranks", "wildcards", "bytes", "bytes/wildcard", "polls", "poll bytes", "entropy bytes",
                 "ratio", "bytes/clock read"],
                [[row["mpi"], row["ranks"], int(row["wildcards"]), row["bytes"], f"{row['bytes_per_wildcard']:.3f}",
                  int(row["polls"]), row["poll_bytes"], f"{row['entropy_bytes']:.0f}",
                  f"{row['poll_ratio']:.2f}" if row["poll_ratio"] is not None else "-",
                  f"{row['bytes_per_clock_read']:.3f}"] for row in rows])


def print_memory(rows):
    print("Peak memory of the busiest rank in KiB, 2 ranks")
    print_table(["mpi", "events", "plain", "record", "replay", "bytes/event"],
                [[row["mpi"], row["events"], row["plain"], row["record"], row["replay"],
                  f"{row['bytes_per_event']:.3f}"] for row in rows])


def main():
    args = arguments()
    bench = Bench(args)
    results = {"cores": CORES, "machine": os.uname().machine, "pairs": args.pairs, "quick": args.quick, "time": [],
               "sizes": [], "memory": []}
    try:
        for mpi in args.mpis:
            for ranks in args.rank_counts:
                for name in args.programs if not args.no_time else []:
                    print(f"{name}, {mpi}, {ranks} ranks ...", file=sys.stderr, flush=True)
                    results["time"].append(measure_time(bench, mpi, ranks, name))
                results["sizes"].append(measure_sizes(bench, mpi, ranks))
            if not args.no_memory:
                results["memory"] += measure_memory(bench, mpi)
    finally:
        shutil.rmtree(bench.dir, ignore_errors=True)
        if args.json:
            args.json.write_text(json.dumps(results, indent=1) + "\n")
    print(f"{CORES} cores, {results['machine']}; {args.pairs} rounds of plain, plain, record, replay\n")
    print_times(results["time"])
    print_sizes(results["sizes"])
    print_memory(results["memory"])
    print("Published figures of others")
    print_table(["system", "figures"], PEERS)


if __name__ == "__main__":
    main()
