"""Damaged traces: every byte flipped in turn, every truncation length. An error that names file and offset, or the
right answer; never a crash, never a hang.

An open chunk is committed record by record and gets its checksum when it is closed, so damage inside its records may
pass for other records; there it is only required that nothing crashes or hangs.

`reprise show` reads everything that replay reads and starts no ranks, so it takes every byte; replay takes a sample.
"""

import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import time

from harness import DIVERGED, TROUBLE, Case, available

RANKS = 2
LIMIT = 30
MOST = 4000  # damages per file; larger files are sampled:
SAMPLE, MORE_SAMPLE = 1000, 4000  # the second with --repeat 50 or more
REPLAYS = 12


def small_trace(scene):
    result, outputs = scene.record(scene.launch(RANKS, scene.program("exit_status"), 0))
    scene.check_status(result, 0, "record")
    return scene.dir / "trace", outputs


class Reader:
    """Runs `reprise show` thousands of times, without loading it each time (tests/helpers/command_server.cpp)."""

    def __init__(self, scene):
        self.server = subprocess.Popen([scene.settings.build / "bin" / "command_server"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env=scene.environment())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stdin.close()
        self.server.stdout.close()
        self.server.wait()

    def show(self, trace):
        self.server.stdin.write(f"reprise\tshow\t--calls\t{trace}\n".encode())
        self.server.stdin.flush()
        status, *sizes = map(int, self.server.stdout.readline().split())
        out, err = (self.server.stdout.read(size).decode(errors="replace") for size in sizes)
        return status, out, err


def judge(scene, name, what, answer, original, trace):
    status, out, err = answer
    if status == -signal.SIGALRM:
        return f"{what}: show hangs"
    if status not in (0, TROUBLE):
        return f"{what}: show ends with {status}\n{err[-1000:]}"
    if status == TROUBLE:
        # The message about one rank's log stands at that rank's place, among what is shown of the others.
        told = "\n".join(line for line in (out + err).splitlines() if name in line)
        if not told:
            return f"{what}: the message does not name {name}:\n{err[-500:]}"
        if name != "manifest.json" and not re.search(r"offset|byte|empty|short|missing", told):
            return f"{what}: the message names no offset:\n{told[-500:]}"
    elif not name.endswith((".json", ".open")) and out.replace(str(trace), "") != original:
        return f"{what}: the damage changed the answer unnoticed"
    return None


def damages(scene, size):
    """(kind, offset) of every damage to one file."""
    everything = [("flip", offset) for offset in range(size)] + [("cut", length) for length in range(size)]
    return everything if len(everything) <= MOST else scene.random.sample(everything, SAMPLE if scene.settings.repeat < 50 else MORE_SAMPLE)


def damaged(data, kind, offset, bit):
    if kind == "cut":
        return data[:offset]
    return data[:offset] + bytes([data[offset] ^ (1 << bit)]) + data[offset + 1:]


def damage_file(scene, trace, name, original, worker_dirs):
    data = (trace / name).read_bytes()
    work = [(kind, offset, scene.random.randrange(8)) for kind, offset in damages(scene, len(data))]

    def part(index):
        copy = worker_dirs[index]
        with Reader(scene) as reader:
            for kind, offset, bit in work[index::len(worker_dirs)]:
                (copy / name).write_bytes(damaged(data, kind, offset, bit))
                what = f"{name} cut to {offset} bytes" if kind == "cut" else f"{name}: bit {bit} of byte {offset} flipped"
                if problem := judge(scene, name, what, reader.show(copy), original, copy):
                    return problem
        (copy / name).write_bytes(data)
        return None

    with concurrent.futures.ThreadPoolExecutor(len(worker_dirs)) as pool:
        for problem in pool.map(part, range(len(worker_dirs))):
            scene.check(problem is None, problem)


def damage_all(scene, trace):
    with Reader(scene) as reader:
        answer = reader.show(trace)
    scene.check(answer[0] == 0, f"show of the undamaged trace: {answer}")
    original = answer[1].replace(str(trace), "")
    worker_dirs = []
    for index in range(min(2, os.cpu_count() or 1)):
        worker_dirs.append(scene.dir / f"copy-{index}")
        shutil.copytree(trace, worker_dirs[-1], symlinks=True)
    names = sorted(path.name for path in trace.iterdir() if path.is_file())
    for name in names:
        if not name.startswith("rank-1."):  # rank 0's files are of the same kinds
            damage_file(scene, trace, name, original, worker_dirs)


def closed_trace(scene):
    damage_all(scene, small_trace(scene)[0])


def open_trace(scene):
    """What is left when everything was killed at once: open chunks that nobody closed."""
    scene.clear()
    trace = scene.dir / "trace"
    child = scene.start([scene.settings.reprise, "record", "-o", trace, "--",
                         *scene.launch(RANKS, scene.program("long_running"), "--messages", 10**8)])
    end = time.monotonic() + 30
    while time.monotonic() < end and not list(trace.glob("rank-*.open")):
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(child.pid, signal.SIGKILL)
    scene.end_processes()
    child.wait()
    scene.check(list(trace.glob("rank-*.open")), "no open chunk was left behind")
    damage_all(scene, trace)


def replay_sample(scene):
    """Replays of damaged traces end, and either refuse or are right."""
    trace, outputs = small_trace(scene)
    names = sorted(path.name for path in trace.iterdir() if path.name.startswith("rank-") and path.is_file())
    for _ in range(REPLAYS):
        name = scene.random.choice(names)
        data = (trace / name).read_bytes()
        kind, offset = scene.random.choice(["flip", "flip", "cut"]), scene.random.randrange(len(data))
        (trace / name).write_bytes(damaged(data, kind, offset, scene.random.randrange(8)))
        replay, again = scene.replay(limit=60)
        what = f"replay with {name} {kind} at {offset}"
        scene.check_status(replay, {0, DIVERGED, TROUBLE}, what)
        if replay.status == 0:
            scene.check_same(outputs, again, what, replay)
        (trace / name).write_bytes(data)
    replay, again = scene.replay()
    scene.check_status(replay, 0, "replay of the repaired trace")
    scene.check_same(outputs, again, "replay of the repaired trace", replay)


def links_out(scene):
    """A stranger's trace may not make the reader follow a link out of its directory."""
    trace, _ = small_trace(scene)
    for name in ("rank-0.log", "manifest.json"):
        outside = scene.dir / f"outside-{name}"
        shutil.move(trace / name, outside)
        (trace / name).symlink_to(outside)
        answer = scene.run([scene.settings.reprise, "show", "--calls", trace], LIMIT)
        scene.check_status(answer, TROUBLE, f"show, where {name} is a link")
        (trace / name).unlink()
        shutil.move(outside, trace / name)


def nothing_there(scene):
    """Directories that are no traces."""
    empty = scene.dir / "empty"
    empty.mkdir()
    for place in (empty, scene.dir / "absent", "/dev/null", "/proc/self"):
        for command in ("show", "replay"):
            result = scene.run([scene.settings.reprise, command, place], LIMIT)
            scene.check_status(result, TROUBLE, f"{command} {place}")
            scene.check(result.err.strip(), f"{command} {place} says nothing", result)


# The reader is the same for both MPIs, and so are most bytes: with few repetitions, one of them is enough for all bytes.
def cases(mpi, repeat):
    tests = [("replay", replay_sample), ("links", links_out), ("nothing", nothing_there)]
    if repeat >= 50 or mpi == next(filter(available, ("openmpi", "mpich")), None):
        tests += [("closed", closed_trace), ("open", open_trace)]
    return [Case("bad_input", mpi, name, function, faults=True) for name, function in tests]
