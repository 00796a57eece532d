"""One-sided communication: each rank alone sees in its windows, and gets from others', what it did then."""

import shutil

from families import differs
from harness import Case

RANKS = 4
# Arguments of tests/programs/onesided.c.
PARTS = ["fences", "epochs", "tests", "exclusive", "shared", "always", "dynamic"]
SETS = ["1", "0,3", "1,2"]  # whose values are recorded, if not everybody's


def launch(scene, part):
    """Open MPI's osc/rdma crashes in MPI_Compare_and_swap, and osc/ucx with dynamic windows (docs/library-bugs.md)."""
    launcher, *rest = scene.launch(RANKS, scene.program("onesided"), part)
    parameter = ["--mca", "osc", "rdma" if part == "dynamic" else "^rdma"] if scene.case.mpi == "openmpi" else []
    return [launcher, *parameter, *rest]


def everybody(part):
    def function(scene):
        command = launch(scene, part)
        differs(scene, command, RANKS)
        for _ in range(max(1, scene.settings.repeat // 5)):
            shutil.rmtree(scene.dir / "trace", ignore_errors=True)
            result, recorded = scene.record(command, words=("--data", "all"))
            scene.check_status(result, 0, "record")
            scene.check_solo(recorded, RANKS)
    return function


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


def cases(mpi):
    listed = {part: everybody(part) for part in PARTS} | {"some-ranks": some}
    return [Case("onesided", mpi, name, function) for name, function in listed.items()]
