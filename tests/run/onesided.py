"""One-sided communication: each rank alone sees in its windows, and gets from others', what it did then."""

import json
import shutil

import random_programs
from families import differs
from harness import Case

RANKS = 4
# Arguments of tests/programs/onesided.c.
PARTS = ["fences", "freed", "epochs", "tests", "exclusive", "shared", "always", "dynamic", "operations"]
NOTE_AT = 24  # in the window of tests/programs/tree_search.c: who has stolen, and how much
PER_REPEAT = 6  # random programs per MPI and unit of --repeat
SETS = ["1", "0,3", "1,2"]  # whose values are recorded, if not everybody's


def launch(scene, part):
    """Open MPI's osc/rdma crashes in MPI_Compare_and_swap, and osc/ucx with dynamic windows (docs/library-bugs.md)."""
    launcher, *rest = scene.launch(RANKS, scene.program("onesided"), part)
    parameter = ["--mca", "osc", "rdma" if part == "dynamic" else "^rdma"] if scene.case.mpi == "openmpi" else []
    return [launcher, *parameter, *rest]


def each_alone(scene, command, ranks):
    """The program is nondeterministic; each rank alone, and all of them side by side, give what they gave."""
    differs(scene, command, ranks)
    for turn in range(scene.settings.repeat):
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, recorded = scene.record(command, words=("--data", "all"))
        scene.check_status(result, 0, "record")
        scene.check_solo(recorded, ranks, alone=None if turn == 0 else [turn % ranks])


def everybody(part):
    def function(scene):
        command = launch(scene, part)
        each_alone(scene, command, RANKS)
    return function


def fortran(scene):
    launcher, *rest = scene.launch(RANKS, scene.program("fortran_windows"))
    command = [launcher, *(["--mca", "osc", "^rdma"] if scene.case.mpi == "openmpi" else []), *rest]
    each_alone(scene, command, RANKS)


def some(scene):
    """The others only tell what they do."""
    for ranks in SETS:
        for part in PARTS:
            shutil.rmtree(scene.dir / "trace", ignore_errors=True)
            result, recorded = scene.record(launch(scene, part), words=("--data", ranks))
            scene.check_status(result, 0, f"{part}, record")
            replay, outputs = scene.side_by_side(ranks)
            scene.check_status(replay, 0, f"{part}, ranks {ranks}")
            wanted = {name: text for name, text in recorded.items() if name[len("out-"):-len(".txt")] in ranks.split(",")}
            scene.check_same(wanted, outputs, f"{part}, ranks {ranks}", replay)
            left = [path.name for path in (scene.dir / "trace").glob("*.window-*")]
            scene.check(not left, f"left in the trace: {left}", result)


def writers(scene):
    """Each value in the lists of "shared" and "exclusive" tells who wrote it: what is said about the writers against that."""
    said = right = changed = 0
    for part in ("shared", "exclusive"):
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, _ = scene.record(launch(scene, part), words=("--data", "1,2"))
        scene.check_status(result, 0, "record")
        shown = scene.run([scene.settings.reprise, "show", "--writers", "--json", scene.dir / "trace"])
        scene.check_status(shown, 0, "show --writers")
        found = json.loads(shown.out)
        scene.check(found["set"] == [1, 2], "another set", shown)
        for piece in found["seen"]:
            if piece["window"] != 2 or piece["begin"] < 4:  # the counters
                continue
            for at in range(0, piece["bytes"], 4):
                value = int.from_bytes(bytes.fromhex(piece["hex"])[at:at + 4], "little") if "hex" in piece else 0
                if value == 0:  # told of, but not there yet
                    continue
                changed += 1
                said += piece["writer"] is not None
                right += piece["writer"] == value % 10 - 1
                in_set = value % 10 - 1 in (1, 2)
                scene.check(not in_set or "written at" in piece and "MPI_Accumulate" in piece["written at"], f"not by which call: {piece}", shown)
    scene.check(changed > 40, f"only {changed} values", shown)
    scene.check(right == said == changed, f"of {changed} values {said} have a writer, {right} the right one", shown)
    scene.remark = f"{changed} values, precision {right / said:.3f}, recall {right / changed:.3f}"


def no_values(scene):
    scene.record(launch(scene, "fences"))
    shown = scene.run([scene.settings.reprise, "show", "--writers", scene.dir / "trace"])
    scene.check(shown.status == 125 and "--data" in shown.err and len(shown.err.strip().splitlines()) == 1, "not refused", shown)


def other_size(scene):
    """The window is smaller in the replay than it was."""
    scene.record(launch(scene, "exclusive"), words=("--data", "all"))
    replay, _ = scene.solo(1, words=("--ignore-sent",), env={"TEST_SLOTS": "3"})
    scene.check(replay.status in (75, 125) and "not as large as in the recorded run" in replay.err, "that is not said", replay)


def spin(scene):
    """Loads without a call are not recorded. The replay says which bytes changed, and after which call."""
    launcher, *rest = scene.launch(2, scene.program("spin"))
    for _ in range(5):  # unless rank 0 was so fast that rank 1 saw it in a call
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, _ = scene.record([launcher, "--mca", "osc", "^rdma", *rest], words=("--data", "all"))
        scene.check_status(result, 0, "record")
        replay, _ = scene.solo(1)
        if replay.status != 0:
            break
    scene.check(replay.status == 75 and "window 1, bytes 0-3 of rank 1 changed" in replay.err and "MPI_Win_lock_all at spin.c:11" in replay.err,
                "that is not said", replay)


def polls(scene):
    """What is read between two calls, with calls that let it come in between."""
    launcher, *rest = scene.launch(3, scene.program("polls"))
    command = [launcher, *(["--mca", "osc", "^rdma"] if scene.case.mpi == "openmpi" else []), *rest]
    for _ in range(scene.settings.repeat):
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, recorded = scene.record(command, words=("--data", "all"))
        scene.check_status(result, 0, "record")
        scene.check_solo(recorded, 3)


def follows(some, all_of_them):
    """Is it a part of them, in the same order?"""
    rest = iter(all_of_them)
    return all(one in rest for one in some)


def launch_tree(scene):
    launcher, *rest = scene.launch(8, scene.program("tree_search"))
    return [launcher, *(["--mca", "osc", "^rdma"] if scene.case.mpi == "openmpi" else []), *rest]


def tree(ranks, launch=launch_tree, region=0):
    """Work is stolen. The set replays, and what a victim sees of it is its thief's."""
    def function(scene):
        command = launch(scene)
        thefts = pieces = right = 0
        for _ in range(scene.settings.repeat):
            shutil.rmtree(scene.dir / "trace", ignore_errors=True)
            result, recorded = scene.record(command, words=("--data", ranks))
            scene.check_status(result, 0, "record")
            replay, outputs = scene.side_by_side(ranks)
            scene.check_status(replay, 0, "replay")
            chosen = [int(rank) for rank in ranks.split(",")]
            scene.check_same({f"out-{rank}.txt": recorded[f"out-{rank}.txt"] for rank in chosen}, outputs, f"ranks {ranks}", replay)
            shown = scene.run([scene.settings.reprise, "show", "--writers", "--json", scene.dir / "trace"])
            scene.check_status(shown, 0, "show --writers")
            notes = [piece for piece in json.loads(shown.out)["seen"]
                     if piece["region"] == region and piece["begin"] <= NOTE_AT and piece["begin"] + piece["bytes"] >= NOTE_AT + 16]
            for rank in chosen:
                seen = []
                for piece in notes:
                    first = NOTE_AT - piece["begin"]
                    thief, amount = (int.from_bytes(bytes.fromhex(piece["hex"])[at:at + 8], "little") for at in (first, first + 8))
                    if piece["rank"] != rank or thief == 0:  # told of, but not there yet
                        continue
                    pieces += 1  # if several have stolen since the last look, and none is in the set, nobody can say who was last
                    right += piece["writer"] == thief - 1 and piece["in set"] == (thief - 1 in chosen)
                    seen.append((thief - 1, amount))
                lines = [line.split() for line in recorded[f"out-{rank}.txt"].decode().splitlines() if line.startswith("robbed by")]
                robbed = [(int(words[2]), int(words[4])) for words in lines]
                robbed = [one for number, one in enumerate(robbed) if number == 0 or one != robbed[number - 1]]  # the same again is no news
                scene.check(follows(robbed, seen), f"rank {rank} was robbed by {robbed}, seen is {seen}", shown)
                thefts += len(robbed)
        scene.check(right >= 0.9 * pieces, f"of {pieces} pieces only {right} have the right writer")
        scene.remark = f"{thefts} thefts; the right writer of {right} pieces of {pieces}"
    return function


def seeds(numbers):
    """Random programs with windows of all kinds, each rank alone and all of them side by side."""
    def function(scene):
        without = ["dynamic_windows"] if scene.case.mpi == "openmpi" else []  # they need osc/rdma, and the others must not have it
        for seed in numbers:
            ranks, program = random_programs.build(scene, seed, without)
            launcher, *rest = scene.launch(ranks, program)
            command = [launcher, *(["--mca", "osc", "^rdma"] if scene.case.mpi == "openmpi" else []), *rest]
            trace = scene.dir / f"trace-{seed}"
            result, recorded = scene.record(command, trace, words=("--data", "all"))
            scene.check_status(result, 0, f"seed {seed}: record")
            scene.check(random_programs.ended_well(recorded, ranks), f"seed {seed}: a rank did not end well", result)
            scene.check_solo(recorded, ranks, trace=trace)
            shutil.rmtree(trace)
    return function


def cases(mpi, repeat):
    first, last = random_programs.Choice.seeds or (1, PER_REPEAT * repeat)
    groups = {f"seeds-{start}-{min(last, start + 4)}": seeds(range(start, min(last, start + 4) + 1)) for start in range(first, last + 1, 5)}
    listed = {part: everybody(part) for part in PARTS} | {"fortran": fortran, "polls": polls, "some-ranks": some, "writers": writers, "no-values": no_values, "other-size": other_size,
                                                             "tree-1": tree("3"), "tree-2": tree("1,5"), "tree-4": tree("0,2,4,6")}
    if mpi == "openmpi":
        listed["spin"] = spin  # MPICH makes no progress without calls
    return [Case("onesided", mpi, name, function) for name, function in (listed | groups).items()]
