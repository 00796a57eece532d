"""MCAPI programs: the examples and one that calls everything, with nodes as threads and as processes. Receiver-based replay keeps what
each node receives, and how often it asked in vain."""

import re
import shutil

from harness import Case

# Program, its words, and what to leave out of the comparison.
PROGRAMS = {
    "figure8": (["figure8"], None),
    "figure28": (["figure28"], rb", arrival \d+"),  # an equivalent replay is not identical
    "tree-3": (["binary_tree", "3"], None),
    "tree-21": (["binary_tree", "21"], None),
    "graph-2": (["complete_graph", "2"], None),
    "graph-11": (["complete_graph", "11"], None),
    "ten": (["complete_graph", "10", "3"], None),
    "bully-3": (["bully", "3"], None),
    "bully-12": (["bully", "12"], None),
    "calls": (["calls"], None),
}


def example(scene, words, processes):
    program, *rest = words
    return [scene.settings.build / "test-programs" / "mcapi" / program, *(["--processes"] if processes else []), *rest]


def local(outputs, without):
    return {name: re.sub(without, b"", text) if without else text for name, text in outputs.items()}


def receiver(words, without, processes):
    def function(scene):
        seen = set()
        for _ in range(2 * scene.settings.repeat):
            shutil.rmtree(scene.dir / "trace", ignore_errors=True)
            result, recorded = scene.record(example(scene, words, processes), env={"OUT_DIR": str(scene.out)})
            scene.check_status(result, 0, "record")
            scene.check(recorded, "no node said anything", result)
            seen.add(tuple(recorded.values()))
            replay, outputs = scene.replay(env={"OUT_DIR": str(scene.out)})
            scene.check_status(replay, 0, "replay")
            scene.check_same(local(recorded, without), local(outputs, without), "replay", replay)
        scene.remark = f"{len(seen)} different runs of {2 * scene.settings.repeat}"
    return function


def killed(scene):
    """A node fails an assertion: the trace is kept, and its replay fails there, too."""
    for _ in range(40):
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, recorded = scene.record(example(scene, ["figure8"], False), env={"OUT_DIR": str(scene.out), "FIGURE8_ASSERTS": "1"})
        if result.status != 0:
            break
    scene.check(result.status == 134, "the assertion never failed", result)
    replay, outputs = scene.replay(env={"OUT_DIR": str(scene.out), "FIGURE8_ASSERTS": "1"})
    scene.check("Assertion" in replay.err, "the assertion does not fail in the replay", replay)
    scene.check(outputs["out-2.txt"] == recorded["out-2.txt"], "node 2 got something else", replay)


def cases(mpi):
    if mpi != "openmpi":  # there is no MPI in it: once is enough
        return []
    listed = {}
    for name, (words, without) in PROGRAMS.items():
        listed[f"{name}-threads"] = receiver(words, without, False)
        listed[f"{name}-processes"] = receiver(words, without, True)
    listed["assertion"] = killed
    return [Case("mcapi", mpi, name, function) for name, function in listed.items()]
