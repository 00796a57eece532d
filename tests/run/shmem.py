"""OpenSHMEM: each PE alone sees in its symmetric memory, and gets from others', what it did then."""

import json
import shutil

from harness import Case
from onesided import SETS, each_alone, tree

PES = 4
# Arguments of tests/programs/symmetric.c.
PARTS = ["types", "sizes", "atomics", "waits", "locks", "collectives", "contexts", "memory", "own", "mixed", "unfinished"]
LIBRARY = ("-loshmem",)


def start(scene, pes, program, *words):
    """Open MPI's osc/rdma crashes in shmem_finalize (docs/library-bugs.md)."""
    _, *rest = scene.launch(pes, scene.program(program, libraries=LIBRARY), *words)
    return ["oshrun", "--oversubscribe", "--mca", "osc", "^rdma", *rest]


def everybody(part):
    def function(scene):
        command = start(scene, PES, "symmetric", part)
        each_alone(scene, command, PES)
    return function


def some(scene):
    """The others only tell what they do."""
    for pes in SETS:
        for part in PARTS:
            shutil.rmtree(scene.dir / "trace", ignore_errors=True)
            result, recorded = scene.record(start(scene, PES, "symmetric", part), words=("--data", pes))
            scene.check_status(result, 0, f"{part}, record")
            replay, outputs = scene.side_by_side(pes)
            scene.check_status(replay, 0, f"{part}, PEs {pes}")
            wanted = {f"out-{pe}.txt": recorded[f"out-{pe}.txt"] for pe in pes.split(",")}
            scene.check_same(wanted, outputs, f"{part}, PEs {pes}", replay)


def without_values(scene):
    """Recorded as ever, and shown."""
    command = start(scene, PES, "symmetric", "waits")
    result, _ = scene.record(command)
    scene.check_status(result, 0, "record")
    shown = scene.run([scene.settings.reprise, "show", "--calls", scene.dir / "trace"])
    scene.check_status(shown, 0, "show")
    for name in ("shmem_init", "shmem_long_atomic_fetch_inc", "shmem_long_wait_until", "shmem_finalize"):
        scene.check(name in shown.out, f"{name} is not shown", shown)
    refused, _ = scene.solo(1)
    scene.check(refused.status == 125 and "--data" in refused.err, "a PE without values is not refused", refused)


def writers(scene):
    """Everybody has a place of its own in everybody's list, so it is known who wrote what."""
    right = pieces = 0
    for pes in SETS:
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, _ = scene.record(start(scene, PES, "symmetric", "memory"), words=("--data", pes))
        scene.check_status(result, 0, "record")
        shown = scene.run([scene.settings.reprise, "show", "--writers", "--json", "--limit", "0", scene.dir / "trace"])
        scene.check_status(shown, 0, "show --writers")
        for piece in json.loads(shown.out)["seen"]:
            if piece["region"] % 4 != 1 or piece["begin"] >= 8 * PES or piece["bytes"] % 8 or piece.get("hex", "0").strip("0") == "":
                continue
            for at in range(0, piece["bytes"], 8):
                pieces += 1
                right += piece["writer"] == (piece["begin"] + at) // 8
    scene.check(pieces > 20 and right == pieces, f"of {pieces} values {right} have the right writer")
    scene.remark = f"{pieces} values, all from the right PE"


def pointer(scene):
    """Memory that is stored to without a call: the line is named, and the PE is not replayed."""
    result, _ = scene.record(start(scene, PES, "symmetric", "pointer"), words=("--data", "all"))
    scene.check_status(result, 0, "record")
    refused, _ = scene.solo(1)
    for said in (result, refused):
        scene.check("cannot be replayed alone: shmem_ptr" in said.err and "symmetric.c:" in said.err, "the line is not named", said)
    scene.check(refused.status == 125, "not refused", refused)


def launch_tree(scene):
    return start(scene, 8, "tree_search_shmem")


def explored(scene):
    result = scene.run([scene.settings.reprise, "explore", "-n", "2", "--", scene.program("symmetric", libraries=LIBRARY), str(scene.out), "waits"])
    scene.check(result.status == 2 and "shmem_init: OpenSHMEM cannot be explored" in result.err, "not refused", result)


def cases(mpi):
    if mpi != "openmpi":
        return []  # MPICH has no OpenSHMEM
    listed = {part: everybody(part) for part in PARTS}
    listed |= {"some-pes": some, "without-values": without_values, "writers": writers, "explored": explored, "pointer": pointer}
    listed |= {f"tree-{len(pes.split(','))}": tree(pes, launch_tree, 1) for pes in ("3", "1,5", "0,2,4,6")}
    return [Case("shmem", mpi, name, function) for name, function in listed.items()]
