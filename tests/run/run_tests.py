#!/usr/bin/env python3
"""The end-to-end tests of Reprise: real MPI programs, recorded, disturbed and replayed through the command.

    tests/run/run_tests.py --build build                      all suites, both MPIs
    tests/run/run_tests.py --build build --suite faults --mpi mpich --repeat 50
    tests/run/run_tests.py --build build --only 'families/*/test_poll' --seed 7

One line per test; the last line is "N passed, N failed[, N skipped]". A failing test prints the command that repeats
it.
"""

import argparse
import concurrent.futures
import fnmatch
import itertools
import os
import shlex
import shutil
import signal
import sys
import tempfile
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import access
import bad_input
import cli
import coarrays
import divergence
import explore
import families
import faults
import flow
import flows
import gallery
import harness
import hosts
import languages
import lint
import mcapi
import no_alarms
import onesided
import oversubscribed
import random_programs
import reductions
import reproducers
import scale
import shmem
import show
import slurm
import solo
import sweep
import system
import threads

SUITES = {
    "families": families.cases,
    "faults": faults.cases,
    "divergence": divergence.cases,
    "bad_input": bad_input.cases,
    "cli": cli.cases,
    "scale": scale.cases,
    "languages": languages.cases,
    "programs": families.plain_cases,
    "random": random_programs.cases,
    "random_threads": random_programs.thread_cases,
    "random_programs": random_programs.plain_cases,
    "system": system.cases,
    "show": show.cases,
    "threads": threads.cases,
    "solo": solo.cases,
    "onesided": onesided.cases,
    "access": access.cases,
    "shmem": shmem.cases,
    "mcapi": mcapi.cases,
    "coarrays": coarrays.cases,
    "explore": explore.cases,
    "gallery": gallery.cases,
    "lint": lint.cases,
    "no_alarms": no_alarms.cases,
    "flow": flow.cases,
    "flows": flows.cases,
    "reproducers": reproducers.cases,
    "reductions": reductions.cases,
    "sweep": sweep.cases,
    "slurm": slurm.cases,
    "hosts": hosts.cases,
}
SEEDED = {"access", "random", "random_threads", "random_programs", "bad_input", "gallery", "no_alarms", "flow", "flows", "reproducers", "reductions", "onesided"}  # the number of their cases depends on --repeat or --seeds
# Not part of "all": those without Reprise, and those that need more than a machine with both MPIs.
ON_REQUEST = {"programs", "random_programs", "slurm", "hosts"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="the build directory (with bin/reprise)")
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument("--suite", action="append", choices=[*SUITES, "all"], help="may be given several times")
    parser.add_argument("--only", metavar="PATTERN", help="only tests whose name (suite/mpi/test) matches")
    parser.add_argument("--repeat", type=int, default=5, help="replays per recording, faults per kind")
    parser.add_argument("--seed", default=os.urandom(4).hex(), help="chooses the random moments and places")
    parser.add_argument("--seeds", metavar="A-B", help="random programs: exactly these")
    parser.add_argument("--without", metavar="FAMILY,...", help="random programs: families to leave out "
                        "(otherwise what SEEDS_WITHOUT in the environment says)")
    parser.add_argument("--jobs", type=int, default=1, help="tests at once (those that need the machine to themselves come last)")
    parser.add_argument("--timed", action="store_true", help="a divergence that is found late is a failure (needs a "
                        "machine that has nothing else to do)")
    parser.add_argument("--keep", action="store_true", help="keep the directories of failed tests")
    parser.add_argument("--list", action="store_true", help="print the names of the tests and stop")
    args = parser.parse_args()
    if args.without is not None:
        random_programs.Choice.without = args.without
    if args.seeds:
        first, dash, last = args.seeds.partition("-")
        if not (first.isdigit() and (last or first).isdigit()):
            parser.error("--seeds takes two numbers, like 1-50, or one")
        random_programs.Choice.seeds = int(first), int(last or first)
    return args


def chosen(args):
    wanted = args.suite or ["all"]
    names = [name for name in SUITES if name in wanted or ("all" in wanted and name not in ON_REQUEST)]
    mpis = ["openmpi", "mpich"] if args.mpi == "both" else [args.mpi]
    cases = []
    for name in names:
        of_each = [SUITES[name](mpi, args.repeat) if name in SEEDED else SUITES[name](mpi) for mpi in mpis]
        # In turn, because tests of one MPI may share a recording, and would wait for each other.
        cases += [case for pair in itertools.zip_longest(*of_each) for case in pair if case]
    if args.only:
        cases = [case for case in cases if fnmatch.fnmatch(case.id, args.only) or args.only in case.id]
    return cases


def repeat_command(args, case):
    words = [sys.argv[0], "--build", str(args.build), "--suite", case.suite, "--mpi", case.mpi, "--only", case.id,
             "--seed", args.seed, "--repeat", str(args.repeat), "--keep"]
    if case.suite in SEEDED:
        words += ["--without", random_programs.Choice.without]
        words += ["--seeds", args.seeds] if args.seeds else []
    words += ["--timed"] if args.timed else []
    return shlex.join(words)


def run_one(settings, case):
    if not harness.available(case.mpi):
        return "skip", f"mpicc.{case.mpi}, mpicxx.{case.mpi} or mpirun.{case.mpi} is not installed", 0.0
    return harness.run_case(settings, case)


def report(args, case, verdict, text, seconds, counts):
    counts[verdict] += 1
    print(f"{verdict:4}  {case.id} ({seconds:.1f} s)" + (f": {text}" if text and verdict != "FAIL" else ""))
    if verdict == "FAIL":
        print(textwrap.indent(text.rstrip(), "      "))
        print(f"      repeat: {repeat_command(args, case)}")
    sys.stdout.flush()


def main():
    args = arguments()
    # A shell has what it starts in the background ignore SIGINT, and all that the tests start would do so, too.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)
    args.build = args.build.resolve()
    cases = chosen(args)
    if args.list:
        print("\n".join(case.id for case in cases))
        return 0
    if not cases:
        harness.complain("no test has such a name; --list prints them")
        return 2
    # Short on purpose: sockets live below it, and their paths are limited to 108 characters.
    scratch = Path(tempfile.mkdtemp(prefix="rt-"))
    settings = harness.Settings(args.build, args.seed, args.repeat, scratch, args.keep, args.timed)
    if not args.timed:
        oversubscribed.shorten_slices()
        if any(case.mpi == "mpich" for case in cases):
            settings.yields = oversubscribed.library_that_yields(scratch)
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    print(f"{len(cases)} tests, seed {args.seed}, repeat {args.repeat}")
    try:
        at_once = [case for case in cases if args.jobs > 1 and not case.alone and not (args.timed and case.waits)]
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for case, verdict in zip(at_once, pool.map(lambda case: run_one(settings, case), at_once)):
                report(args, case, *verdict, counts)
        for case in cases:
            if case not in at_once:
                report(args, case, *run_one(settings, case), counts)
    finally:
        if not (args.keep and counts["FAIL"]):
            shutil.rmtree(scratch, ignore_errors=True)
    line = f"{counts['ok']} passed, {counts['FAIL']} failed"
    if counts["skip"]:
        line += f", {counts['skip']} skipped"
    print(line)
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
