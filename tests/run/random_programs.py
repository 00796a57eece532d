"""Random programs that mix everything (tests/random): a recording of each replays exactly, all ranks together and each
rank alone, also up to a fault.

A case is a group of seeds. A tenth of them get a fault: a rank ends itself at a random call, by a signal, by MPI_Abort
or by exit, or is killed while it runs. How far each rank had come is in a shared map, and the replay must come exactly
as far (see faults.py). SEEDS_WITHOUT in the environment, or --without, names families to leave out; --seeds
takes exact numbers.
"""

import os
import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import faults
from harness import SOURCES, Case, Failure

RANDOM = Path(__file__).resolve().parent.parent / "random"
sys.path.insert(0, str(RANDOM))

from generate import generate  # noqa: E402

PER_REPEAT = 11  # seeds per MPI and unit of --repeat: 50 without faults, 5 with; up to ...
MOST = 1000
GROUPS = 25  # cases per MPI
LINES_BETWEEN_CALLS = 100  # one call may complete many requests, and each has a line
KINDS = ("segv", "abort", "mpi_abort", "exit", "kill", "timer")

FLAGS = ("-std=gnu11", "-g", "-Wall", "-Wextra",  # not optimised: they compute nothing, and there are hundreds of them
         "-Wno-stringop-overflow", "-Wno-stringop-overread",  # MPI_STATUSES_IGNORE and MPI_UNWEIGHTED are odd addresses
         "-Wno-unused-function")  # what only an MPI 4 calls


class Choice:
    """Which seeds to run and what to leave out; set by run_tests.py."""

    seeds = None  # (first, last)
    without = os.environ.get("SEEDS_WITHOUT", "")

    @classmethod
    def range(cls, repeat):
        return cls.seeds or (1, min(MOST, PER_REPEAT * repeat if repeat < 50 else MOST))

    @classmethod
    def families(cls):
        return [word for word in cls.without.split(",") if word]


def build(scene, seed, without=()):
    """(ranks, path) of the program for this seed, compiled without warnings; once for all suites."""
    kind = {"random_threads": ["threads"], "onesided": ["windows"]}.get(scene.case.suite, [])
    left_out = [*Choice.families(), *without]
    program = generate(seed, None, left_out, kind == ["threads"], kind == ["windows"])
    directory = scene.settings.scratch / "-".join(["random", scene.case.mpi, *kind, *left_out])
    directory.mkdir(exist_ok=True)
    source, target = directory / f"seed-{seed}.c", directory / f"seed-{seed}"
    if not target.exists():
        made = scene.dir / f"seed-{seed}"
        source.write_text(program.text())
        command = [f"mpicc.{scene.case.mpi}", *FLAGS, "-I", str(RANDOM), "-I", str(SOURCES), str(source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0 or done.stderr.strip():
            raise Failure(f"$ {shlex.join(command)}\n{done.stderr}")
        made.rename(target)
    return program.ranks, str(target)


def ended_well(outputs, ranks):
    return len(outputs) == ranks and all(text.endswith(b"done\n") for text in outputs.values())


# -- without faults --------------------------------------------------------------------------------------------------

def replays(scene, seed, times=1):
    ranks, program = build(scene, seed)
    trace = scene.dir / f"trace-{seed}"
    result, recorded = scene.record(scene.launch(ranks, program), trace)
    scene.check_status(result, 0, "record")
    scene.check(ended_well(recorded, ranks), "record: a rank did not end well", result)
    for number in range(1, times + 1):
        replay, outputs = scene.replay(trace)
        scene.check_status(replay, 0, f"replay {number}")
        scene.check_same(recorded, outputs, f"replay {number}", replay)
    shutil.rmtree(trace)
    result, recorded = scene.record(scene.launch(ranks, program), trace, words=("--data", "all"))
    scene.check_status(result, 0, "record with data")
    scene.check_solo(recorded, ranks, trace=trace)


def replays_with_values(scene, seed):
    """The same from one recording."""
    ranks, program = build(scene, seed)
    trace = scene.dir / f"trace-{seed}"
    result, recorded = scene.record(scene.launch(ranks, program), trace, words=("--data", "all"))
    scene.check_status(result, 0, "record")
    scene.check(ended_well(recorded, ranks), "record: a rank did not end well", result)
    replay, outputs = scene.replay(trace)
    scene.check_status(replay, 0, "replay")
    scene.check_same(recorded, outputs, "replay", replay)
    scene.check_solo(recorded, ranks, trace=trace)
    shutil.rmtree(trace)


# -- with faults -----------------------------------------------------------------------------------------------------

def record_armed(scene, command, trace):
    """Records while the file is there that lets a rank kill itself; a replay, which finds it gone, goes on there."""
    scene.clear()
    (scene.out / "armed").touch()
    result = scene.run([scene.settings.reprise, "record", "-o", trace, "--", *command])
    return result, scene.outputs()


def replays_up_to_fault(scene, seed):
    ranks, program = build(scene, seed)
    chance = random.Random(f"fault {seed} {scene.case.mpi}")
    kind, rank = chance.choice(KINDS), chance.randrange(ranks)
    plain, outputs = scene.plain(scene.launch(ranks, program))
    scene.check_status(plain, 0, "plain run")
    calls = faults.progress(scene)[f"progress-{rank}"][1]
    at = chance.randrange(1, max(2, calls * 3 // 4))
    command = scene.launch(ranks, program, "--fault", kind, "--rank", rank, "--at", at)
    what = f"{kind} of rank {rank} at call {at}"
    trace = scene.dir / f"trace-{seed}"
    result, outputs = record_armed(scene, command, trace)
    recorded = outputs, faults.progress(scene)
    replay, again = scene.replay(trace)
    scene.check_status(replay, result.status, what)
    if ended_well(outputs, ranks):  # this run was shorter, or over before the timer
        scene.check_same(outputs, again, what, replay)
        return
    scene.check(result.status != 0, f"{what}: record says success", result)
    faults.check_reached(scene, what, recorded, (again, faults.progress(scene)), replay, LINES_BETWEEN_CALLS)
    if kind not in ("kill", "timer"):
        name = f"out-{rank}.txt"
        scene.check(f"now: {kind}".encode() in outputs.get(name, b""), f"{what}: no fault", result)
        scene.check(again[name] == outputs[name], f"{what}: the failing rank's output is not the same", replay)


def has_fault(seed):
    return seed % 10 == 7


# -- cases -----------------------------------------------------------------------------------------------------------

def repeat_command(scene, seed):
    words = [sys.argv[0], "--build", str(scene.settings.build), "--suite", scene.case.suite, "--mpi", scene.case.mpi,
             "--seeds", f"{seed}-{seed}", "--seed", scene.settings.seed, "--repeat", str(scene.settings.repeat), "--keep"]
    if Choice.without:
        words += ["--without", Choice.without]
    return shlex.join(words)


def group(seeds, check):
    def function(scene):
        failures = []
        for seed in seeds:
            try:
                check(scene, seed)
            except Failure as failure:
                failures.append(f"seed {seed}: {failure}\nthis seed alone: {repeat_command(scene, seed)}")
                scene.end_processes()
        if failures:
            raise Failure("\n".join(failures))
    return function


def grouped(suite, mpi, repeat, check, around=lambda function, seeds: function):
    first, last = Choice.range(repeat)
    size = -(-(last - first + 1) // GROUPS)
    made = []
    for start in range(first, last + 1, size):
        seeds = range(start, min(last, start + size - 1) + 1)
        name = f"seeds-{seeds[0]}-{seeds[-1]}"
        made.append(Case(suite, mpi, name, around(group(seeds, check), seeds), faults=any(map(has_fault, seeds))))
    return made


def cases(mpi, repeat):
    def check(scene, seed):
        if has_fault(seed):
            replays_up_to_fault(scene, seed)
        elif seed % 2 == 0 or repeat >= 50:
            replays(scene, seed, 1 + (seed % 5 == 0))
        else:
            replays_with_values(scene, seed)
    return grouped("random", mpi, repeat, check)


def thread_cases(mpi, repeat):
    """The same for programs whose ranks have threads."""
    first, last = Choice.seeds or (1, 6 * repeat)

    def check(scene, seed):
        if has_fault(seed):
            replays_up_to_fault(scene, seed)
        else:
            replays_with_values(scene, seed)
    return [Case("random_threads", mpi, f"seeds-{start}-{min(last, start + 4)}",
                 group(range(start, min(last, start + 4) + 1), check), faults=True) for start in range(first, last + 1, 5)]


def plain_cases(mpi, repeat):
    """The programs alone, without Reprise: they end well, and not all of a group are the same in every run."""
    def check(scene, seed):
        ranks, program = build(scene, seed)
        seen = []
        for _ in range(2):
            result, outputs = scene.plain(scene.launch(ranks, program))
            scene.check_status(result, 0, "plain run")
            scene.check(ended_well(outputs, ranks), "plain run: a rank did not end well", result)
            seen.append(outputs)
        scene.differing = getattr(scene, "differing", 0) + (seen[0] != seen[1])

    def all_checked(function, seeds):
        def checked(scene):
            function(scene)
            scene.check(scene.differing > 0 or len(seeds) == 1, "no program of this group is nondeterministic here")
        return checked
    return grouped("random_programs", mpi, repeat, check, all_checked)
