"""MCAPI programs: the examples and one that calls everything, with nodes as threads and as processes. Receiver-based replay keeps what
each node receives, and how often it asked in vain; sender-based replay also the order of all arrivals; and with its values, each node runs
without the others. All that with another MCAPI, too, that has other types and does not say where messages come from."""

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
    "polls": (["polls"], None),
}


# The same of another MCAPI.
OTHER = {
    "figure8": (["other/figure8"], None),
    "graph-5": (["other/complete_graph", "5"], None),
    "bully-5": (["other/bully", "5"], None),
    "requests": (["other/requests"], None),
}


# And of a library that is linked into the program.
LINKED = {
    "figure8": (["linked/figure8"], None),
    "bully-5": (["linked/bully", "5"], None),
    "calls": (["linked/calls"], None),
}


def example(scene, words, processes):
    kind, _, program = words[0].rpartition("/")
    directory = f"mcapi-{kind}" if kind else "mcapi"
    return [scene.settings.build / "test-programs" / directory / program, *(["--processes"] if processes else []), *words[1:]]


def local(outputs, without):
    return {name: re.sub(without, b"", text) if without else text for name, text in outputs.items()}


def in_order(scene):
    """What the program itself could tell of the order of all arrivals (by a counter that its nodes share) is not exact: between a receive
    and what the program does next, anything may happen. So the replay writes the arrivals down, while the next one still waits."""
    scene.clear()
    listed = scene.dir / "arrivals"
    replay = scene.run([scene.settings.reprise, "replay", "--yes", "--arrivals", listed, scene.dir / "trace"], env={"OUT_DIR": str(scene.out)})
    numbers = [int(line.split()[0]) for line in listed.read_text().splitlines()]
    scene.check(numbers == list(range(1, len(numbers) + 1)) and numbers, f"arrivals in another order: {numbers}", replay)
    return replay, scene.outputs()


def replayed(words, without, processes, mode, *options):
    """All nodes, each in its own order; in mode sender, with one order of all arrivals."""
    def function(scene):
        seen = set()
        for _ in range(2 * scene.settings.repeat):
            shutil.rmtree(scene.dir / "trace", ignore_errors=True)
            result, recorded = scene.record(example(scene, words, processes), words=("--mode", mode, *options), env={"OUT_DIR": str(scene.out)})
            scene.check_status(result, 0, "record")
            scene.check(recorded, "no node said anything", result)
            seen.add(tuple(recorded.values()))
            if mode == "sender":
                replay, outputs = in_order(scene)
            else:
                replay, outputs = scene.replay(env={"OUT_DIR": str(scene.out)})
            scene.check_status(replay, 0, "replay")
            scene.check_same(local(recorded, without), local(outputs, without), "replay", replay)
        scene.remark = f"{len(seen)} different runs of {2 * scene.settings.repeat}"
    return function


def alone(words, without, processes, *options):
    """Each node from its values, without the others."""
    def function(scene):
        for _ in range(scene.settings.repeat):
            shutil.rmtree(scene.dir / "trace", ignore_errors=True)
            result, recorded = scene.record(example(scene, words, processes), words=("--data", "all", *options), env={"OUT_DIR": str(scene.out)})
            scene.check_status(result, 0, "record")
            for name in recorded:
                replay, outputs = scene.solo(re.search(r"\d+", name)[0], env={"OUT_DIR": str(scene.out)})
                scene.check_status(replay, 0, name)
                said = {other for other, text in outputs.items() if text}
                scene.check(said <= {name}, f"{name} alone, but also {sorted(said)}", replay)
                scene.check_same(local({name: recorded[name]}, without), local({name: outputs[name]}, without), "alone", replay)
    return function


def one_sentence(scene, result, *words, status=125):
    scene.check(result.status != 0 if status is None else result.status == status, "not refused", result)
    scene.check(len(result.err.strip().splitlines()) == 1 and all(word in result.err for word in words), f"not one sentence with {words}", result)


def bad_input(scene):
    reprise, trace, out = scene.settings.reprise, scene.dir / "trace", {"OUT_DIR": str(scene.out)}
    scene.record(example(scene, ["figure8"], False), words=("--data", "2"), env=out)
    one_sentence(scene, scene.run([reprise, "replay", "--yes", "--mode", "sender", trace], env=out), "mode receiver", "--mode sender")
    one_sentence(scene, scene.run([reprise, "replay", "--yes", "--rank", "4", trace], env=out), "node 4", "--data 4")
    one_sentence(scene, scene.run([reprise, "replay", "--yes", "--rank", "9", trace], env=out), "no node 9")
    one_sentence(scene, scene.run([reprise, "record", "--mode", "sender", "--", "ls"]), "--mode", "MCAPI")
    shutil.rmtree(trace)
    one_sentence(scene, scene.run([reprise, "record", "-q", "-o", trace, "--", *example(scene, ["other/channels"], False)]), "no mcapi_pktchan_connect_i", status=None)
    shutil.rmtree(trace)
    one_sentence(scene, scene.run([reprise, "record", "-q", "-o", trace, "--identify", "origin", "--", *example(scene, ["other/figure8"], False)]),
                 "does not say where messages come from", status=None)
    shutil.rmtree(trace, ignore_errors=True)
    scene.record(example(scene, ["complete_graph", "3"], False), env=out)
    other = scene.run([reprise, "replay", "--yes", trace, "--", *example(scene, ["complete_graph", "4"], False)], env=out)
    scene.check(other.status in (75, 125) and "other arguments" in other.err, "another number of nodes is not told", other)


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


def script(scene):
    """Processes that a script starts, with threads that are there before any of them is a node."""
    path = scene.dir / "start.sh"
    program = scene.settings.build / "test-programs" / "mcapi" / "some_nodes"
    path.write_text(f"#!/bin/sh\nexport MCAPI_UNIVERSE=script-$$\n{program} 1 2 5 & {program} 3 1 5 & {program} 4 2 5 & wait\n")
    path.chmod(0o755)
    out = {"OUT_DIR": str(scene.out)}
    for _ in range(2 * scene.settings.repeat):
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, recorded = scene.record([path], words=("--mpi", "mcapi", "--data", "all"), env=out)
        scene.check_status(result, 0, "record")
        scene.check(len(recorded) == 5 and "5 nodes" in result.err, "not five nodes", result)
        replay, outputs = scene.replay(env=out)
        scene.check_status(replay, 0, "replay")
        scene.check_same(recorded, outputs, "replay", replay)
    for node in (1, 3, 5):
        replay, outputs = scene.solo(node, env=out)
        scene.check_status(replay, 0, f"node {node}")
        scene.check_same({"out": recorded[f"out-{node}.txt"]}, {"out": outputs[f"out-{node}.txt"]}, f"node {node} alone", replay)


def in_gdb(scene):
    """A node alone, stopped where it has what it got."""
    result, recorded = scene.record(example(scene, ["figure8"], False), words=("--data", "4"), env={"OUT_DIR": str(scene.out)})
    scene.check_status(result, 0, "record")
    gdb = scene.run([scene.settings.reprise, "replay", "--yes", "--rank", "4", scene.dir / "trace", "--gdb", "-batch", "-ex", "break say", "-ex", "run",
                     "-ex", "up", "-ex", "continue"], env={"OUT_DIR": str(scene.out)})
    scene.check("in node_4 ()" in gdb.out and "exited normally" in gdb.out, "node 4 does not stop there, or does not end well", gdb)
    scene.check_same({"out": recorded["out-4.txt"]}, {"out": scene.outputs()["out-4.txt"]}, "in gdb", gdb)


def bundle(scene):
    """Two nodes, in a file of their own, where the trace is not."""
    out = {"OUT_DIR": str(scene.out)}
    for processes in (False, True):
        result, recorded = scene.record(example(scene, ["figure8"], processes), words=("--data", "all"), env=out)
        scene.check_status(result, 0, "record")
        file = scene.dir / "nodes.reprise"
        scene.check_status(scene.run([scene.settings.reprise, "extract", "--ranks", "2,4", "-o", file, scene.dir / "trace"]), 0, "extract")
        shutil.rmtree(scene.dir / "trace")
        scene.clear()
        replay = scene.run([scene.settings.reprise, "replay", "--yes", "--ranks", "2,4", file], env=out)
        scene.check_status(replay, 0, "replay")
        outputs = scene.outputs()
        for name in ("out-2.txt", "out-4.txt"):
            scene.check_same({name: recorded[name]}, {name: outputs[name]}, "from the bundle", replay)
        file.unlink()


def ended_by_kill(scene):
    """Killed in the middle: the trace is there, and its replay goes as far."""
    out = {"OUT_DIR": str(scene.out)}
    for number in range(scene.settings.repeat):
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, recorded = scene.record(example(scene, ["polls", "1000", str(1 + 37 * number)], False), env=out)
        scene.check(result.status == 137, "not killed", result)
        replay, outputs = scene.replay(env=out)
        scene.check(replay.status == 137, "the replay ends otherwise", replay)
        scene.check_same({"out": recorded["out-1.txt"]}, {"out": outputs["out-1.txt"]}, "replay", replay)


def cases(mpi):
    if mpi != "openmpi":  # there is no MPI in it: once is enough
        return []
    listed = {}
    for name, (words, without) in PROGRAMS.items():
        for kind in ("threads", "processes"):
            processes = kind == "processes"
            listed[f"{name}-{kind}"] = replayed(words, without, processes, "receiver")
            listed[f"{name}-{kind}-sender"] = replayed(words, without, processes, "sender")
            listed[f"{name}-{kind}-alone"] = alone(words, without, processes)
    for name, (words, without) in OTHER.items():
        for kind in ("threads", "processes"):
            processes = kind == "processes"
            listed[f"other-{name}-{kind}"] = replayed(words, without, processes, "receiver")
            listed[f"other-{name}-{kind}-digest"] = replayed(words, without, processes, "receiver", "--identify", "digest")
            listed[f"other-{name}-{kind}-sender"] = replayed(words, without, processes, "sender")
            listed[f"other-{name}-{kind}-alone"] = alone(words, without, processes)
    for name, (words, without) in LINKED.items():
        for kind in ("threads", "processes"):
            listed[f"linked-{name}-{kind}"] = replayed(words, without, kind == "processes", "receiver")
            listed[f"linked-{name}-{kind}-alone"] = alone(words, without, kind == "processes")
    for how in ("trailer", "digest"):
        for name in ("ten", "calls"):
            listed[f"{name}-{how}"] = replayed(*PROGRAMS[name], False, "receiver", "--identify", how)
    listed |= {"script": script, "gdb": in_gdb, "killed": ended_by_kill, "bundle": bundle}
    listed["assertion"] = killed
    listed["bad-input"] = bad_input
    return [Case("mcapi", mpi, name, function) for name, function in listed.items()]
