#!/usr/bin/env python3
"""The explorer against brute force for one-sided communication: random tiny programs with atomic accesses, exclusive and
shared locks (tests/programs/explore_windows.c).

The truth: all interleavings of the ranks' steps. Two of them are the same order if at every place, and at the lock, those
that do not commute come in the same order. The explorer must find each order once, with its outcome.

    tests/model/test_windows.py --build build --seeds 1-100 [--mpi mpich] [--jobs 2]

The last line is "N passed, N failed". What differs is printed with the command that repeats it.
"""

import argparse
import collections
import concurrent.futures
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "run"))

from harness import build_program  # noqa: E402

MOST_ORDERS = 400


def generate(seed):
    """A list of steps for each rank."""
    chance = random.Random(seed)
    ranks = chance.choice((2, 2, 3, 3, 4))
    barrier = chance.random() < 0.3
    program = []
    for _ in range(ranks):
        steps = []
        for _ in range(chance.choice((1, 1, 2) if ranks > 2 else (1, 2, 3))):
            kind = chance.choice("ffclls")
            place = chance.randrange(2)
            steps.append({"f": ("f", place, chance.randrange(1, 9)), "c": ("c", place, chance.randrange(2), chance.randrange(1, 4)),
                          "l": ("l", place, chance.randrange(1, 9)), "s": ("s", place)}[kind])
        if barrier:
            steps.insert(chance.randrange(len(steps) + 1), ("b",))
        program.append(steps)
    return program


def text_of(program):
    words = {"f": "f{}+{}", "c": "c{}:{}:{}", "l": "l{}+{}", "s": "s{}", "b": "b"}
    return "".join("/" + ",".join(words[step[0]].format(*step[1:]) for step in steps) for steps in program)


def interleavings(program):
    """All of them, as lists of (rank, step); a barrier is passed by all ranks at once."""
    def go(at, done):
        moved = False
        for rank, steps in enumerate(program):
            if at[rank] < len(steps) and steps[at[rank]][0] != "b":
                moved = True
                yield from go(at[:rank] + (at[rank] + 1,) + at[rank + 1:], done + [(rank, at[rank], steps[at[rank]])])
        waits = [at[rank] < len(steps) and steps[at[rank]][0] == "b" for rank, steps in enumerate(program)]
        if all(waits):
            moved = True
            yield from go(tuple(number + 1 for number in at), done)
        if not moved and all(number == len(steps) for number, steps in zip(at, program)):
            yield done
    yield from go((0,) * len(program), [])


def truth(program):
    """(order, output) of all that can happen."""
    found = {}
    for run in interleavings(program):
        counters, records = [0] * 4, [0] * 4
        output = [""] * len(program)
        places = collections.defaultdict(list)  # what does not commute, in its order
        locks = []                              # exclusive ones, with the shared ones between them
        for rank, number, step in run:
            if step[0] in "fc":
                old = counters[step[1]]
                if step[0] == "f":
                    counters[step[1]] += step[2]
                elif old == step[2]:
                    counters[step[1]] = step[3]
                places[step[1]].append((rank, number))
            elif step[0] == "l":
                old = records[step[1]]
                records[step[1]] += step[2]
                locks.append((rank, number))
            else:
                old = records[step[1]]
                if not locks or not isinstance(locks[-1], frozenset):
                    locks.append(frozenset())
                locks[-1] |= {(rank, number)}
            output[rank] += f"{old}\n"
        order = (tuple(sorted((place, tuple(all)) for place, all in places.items())), tuple(locks))
        found[order] = tuple(output)
        if len(found) > MOST_ORDERS:
            return None
    return collections.Counter(found.values())


def explored(reprise, binary, ranks, text, directory):
    listing = directory / "orders"
    command = [reprise, "explore", "-n", str(ranks), "--buffering", "infinite", "-j", "1", "--list", listing, "--list-output", "--json",
               "--no-save", "--", binary, text]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        raise RuntimeError(f"explore ended with {run.returncode}: {run.stderr} {run.stdout[:2000]}")
    result = json.loads(run.stdout)
    if not result["complete"]:
        raise RuntimeError("not complete")
    return collections.Counter(tuple(json.loads(line)["output"]) for line in listing.read_text().splitlines())


def check(seed, mpi, build):
    program = generate(seed)
    text = text_of(program)
    expected = truth(program)
    if expected is None:
        return seed, None, 0
    with tempfile.TemporaryDirectory(prefix="windows-") as directory:
        try:
            found = explored(build / "bin" / "reprise", build_program(build, mpi, "explore_windows"), len(program), text, Path(directory))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return seed, [f"seed {seed}, {mpi}: {text}", str(error)], 0
    lines = []
    if found != expected:
        lines = [f"seed {seed}, {mpi}: {text}: {sum(expected.values())} orders in truth, {sum(found.values())} explored"]
        lines += [f"  in truth alone ({count}x): {output}" for output, count in list((expected - found).items())[:5]]
        lines += [f"  explored alone, or too often ({count}x): {output}" for output, count in list((found - expected).items())[:5]]
    return seed, lines, sum(found.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--seeds", default="1-100", metavar="A-B")
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both", help="both: each seed with one of them, in turn")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    first, _, last = args.seeds.partition("-")
    passed = failed = left_out = orders = 0
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(check, seed, args.mpi if args.mpi != "both" else ("openmpi", "mpich")[seed % 2], args.build.resolve())
                for seed in range(int(first), int(last or first) + 1)]
        for job in concurrent.futures.as_completed(jobs):
            seed, lines, count = job.result()
            orders += count
            left_out += lines is None
            passed += lines == []
            failed += bool(lines)
            for line in lines or []:
                print(line, flush=True)
            if lines:
                print(f"  repeat: tests/model/test_windows.py --build {args.build} --seeds {seed} --mpi {args.mpi}", flush=True)
    print(f"{orders} orders; {left_out} programs with more than {MOST_ORDERS} left out")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
