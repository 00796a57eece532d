#!/usr/bin/env python3
"""The explorer against the brute-force model: random tiny programs, compiled to real MPI calls. For every kind of buffering
the explorer must find what the model finds, each outcome once.

    tests/model/test_explorer.py --build build --seeds 1-300 [--mpi mpich] [--jobs 2]

The last line is "N passed, N failed". A program that differs is printed with both sets, and the command that repeats it.
"""

import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from generate import generate  # noqa: E402
from model import BUFFERINGS, outcomes  # noqa: E402
from to_c import c_program, output_of  # noqa: E402

MOST_STATES = 60000  # larger ones are left out: the model would take minutes
POLLS = "1000"       # no poll of these programs is cut off


def model_outcomes(program, buffering):
    """What the model finds, in the explorer's words; none if the program is too large."""
    found = outcomes(program, buffering, MOST_STATES)
    if found is None:
        return None
    texts = collections.Counter()
    for outcome in found:
        taken = tuple(tuple("cancelled" if took == ("cancelled",) else f"{took[0]}.{took[1]}" if took else ""
                            for took in rank) for rank in outcome[1])
        texts[output_of(outcome), taken, tuple(rank for rank, _, _ in outcome[2])] += 1
    return texts


def explored_outcomes(reprise, binary, ranks, buffering, directory):
    """By kind of buffering, one of them or all: the outcomes; and how many runs were discarded."""
    listing = directory / f"{buffering}.list"
    run = subprocess.run([reprise, "explore", "-n", str(ranks), "--buffering", buffering, "--poll-bound", POLLS, "-j", "1",
                          "--list", listing, "--list-output", "--json", "--no-save", "--", binary, "-"],
                         capture_output=True, text=True, timeout=600)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"explore ended with {run.returncode}: {run.stderr}")
    result = json.loads(run.stdout)
    if not result["complete"]:
        raise RuntimeError(f"not complete: {run.stdout}")
    found = {mode["buffering"]: collections.Counter() for mode in result["modes"]}
    for line in listing.read_text().splitlines():
        order = json.loads(line)
        found[order["buffering"]][tuple(order["output"]), tuple(map(tuple, order["taken"])), tuple(order["blocked"])] += 1
    return found, result["discarded"]


def difference(model, explored):
    lines = []
    for name, texts in (("the model alone", model - explored), ("the explorer alone, or too often", explored - model)):
        for (output, taken, blocked), count in sorted(texts.items())[:6]:
            lines.append(f"  {name} ({count}x): taken {taken}, blocked {blocked}")
            lines += [f"      rank {rank}: {text.split(chr(10))}" for rank, text in enumerate(output)]
    return lines


def check(seed, mpi, build, own_buffering=None):
    """Lines that tell what differs; and how many outcomes and discarded runs there were. None: left out."""
    program = generate(seed)
    lines, count, discarded = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="explorer-") as name:
        directory = Path(name)
        binary = None
        models = {buffering: model_outcomes(program, buffering) for buffering in BUFFERINGS}
        models = {buffering: model for buffering, model in models.items() if model is not None}
        if models:
            (directory / "program.c").write_text(c_program(program))
            binary = directory / "program"
            subprocess.run([f"mpicc.{mpi}", "-w", "-O0", directory / "program.c", "-o", binary], check=True)
        explored = {}
        for buffering in ["all"] if len(models) == len(BUFFERINGS) else models:  # one start is faster than three
            found, thrown_away = explored_outcomes(build / "bin" / "reprise", binary, len(program), buffering, directory)
            explored.update(found)
            discarded += thrown_away
        for buffering, model in models.items():
            count += sum(explored[buffering].values())
            if explored[buffering] != model:
                lines.append(f"seed {seed}, {mpi}, buffering {buffering}: {sum(model.values())} in the model, "
                             f"{sum(explored[buffering].values())} explored")
                lines += difference(model, explored[buffering])
    return seed, lines, count, discarded, binary is None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--seeds", default="1-300", metavar="A-B,C")
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both",
                        help="both: each seed with one of them, in turn")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    seeds = []
    for part in args.seeds.split(","):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    passed = failed = left_out = orders = discarded = 0
    with concurrent.futures.ProcessPoolExecutor(args.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(check, seed, args.mpi if args.mpi != "both" else ("openmpi", "mpich")[seed % 2],
                            args.build.resolve()) for seed in seeds]
        for job in concurrent.futures.as_completed(jobs):
            seed, lines, count, thrown_away, skipped = job.result()
            orders += count
            discarded += thrown_away
            left_out += skipped
            passed += not lines
            failed += bool(lines)
            if lines:
                print("\n".join(lines), flush=True)
                print(f"  repeat: tests/model/generate.py --seed {seed}; tests/model/test_explorer.py --build {args.build} "
                      f"--seeds {seed}")
    print(f"{orders} orders, {discarded} discarded; {left_out} programs were too large for the model")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
