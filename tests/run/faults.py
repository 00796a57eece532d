"""Runs that end badly at a random moment: what was logged is there, and replay runs exactly up to the fault.

What "exactly" means. Each rank of the program counts in a shared map the calls that it began and ended, and the digest
of what it had received when the last one ended. A rank that is killed while it computes, or inside a call, has logged
every call that returned to it, and perhaps the one it was in. So the replayed rank
  - prints everything that the recorded one printed, and more only before its next call,
  - ends as many calls as the recorded one, or one more (killed between the end of the logged call and its counting),
  - begins as many, or one more (replay lets it run until it makes the first call that the log does not have),
  - has the same digest after the same number of calls.
A rank that brought the fault about itself repeats it, and its output is the same to the last byte.
"""

import os
import signal
import struct
import subprocess
import time

from harness import Case, Failure, Skip, process_name, processes_with

RANKS = 4
MESSAGES = 100000
ENDED = "the recorded run ended here"
EXTRA_LINES = 2  # at most this many lines are printed between two calls


def progress(scene):
    found = {}
    for path in scene.out.glob("progress-*.bin"):
        data = path.read_bytes()
        if len(data) == 24:
            found[path.stem] = struct.unpack("=QQQ", data)
    return found


def check_reached(scene, what, recorded, replayed, result, extra_lines=EXTRA_LINES):
    """`recorded` and `replayed` are pairs of outputs and progress."""
    for name, text in recorded[0].items():
        again = replayed[0].get(name, b"")
        scene.check(again.startswith(text), f"{what}: {name} was not reproduced: {len(again.splitlines())} lines of "
                    f"{len(text.splitlines())}, or they differ", result)
        extra = again[len(text):]
        scene.check(extra.count(b"\n") <= extra_lines, f"{what}: {name} went on beyond the fault:\n"
                    f"{extra[:500].decode(errors='replace')}", result)
    for name, (begun, ended, digest) in recorded[1].items():
        scene.check(name in replayed[1], f"{what}: {name} is missing", result)
        begun_again, ended_again, digest_again = replayed[1][name]
        near = begun <= begun_again <= begun + 1 and ended <= ended_again <= ended + 1
        scene.check(near, f"{what}: {name} recorded {begun} begun, {ended} ended; "
                    f"replayed {begun_again} begun, {ended_again} ended", result)
        if ended == ended_again:
            scene.check(digest == digest_again, f"{what}: {name} has another digest after {ended} calls", result)


def replay_up_to(scene, trace, recorded, result, what, says=None):
    replay, outputs = scene.replay(trace)
    scene.check_status(replay, result.status, what)
    check_reached(scene, what, recorded, (outputs, progress(scene)), replay)
    for text in says or []:
        scene.check(text in replay.err, f"{what}: does not say {text!r}", replay)
    return outputs


# -- faults that the program brings about ----------------------------------------------------------------------------

def own_fault(kind):
    def function(scene):
        program = scene.program("long_running")
        for number in range(scene.settings.repeat):
            rank = scene.random.randrange(RANKS)
            calls = MESSAGES if rank == 0 else MESSAGES // (RANKS - 1)
            at = scene.random.randrange(1, calls)
            trace = scene.dir / f"trace-{number}"
            command = scene.launch(RANKS, program, "--messages", MESSAGES, "--fault", kind, "--rank", rank, "--at", at)
            result, outputs = scene.record(command, trace)
            what = f"{kind} of rank {rank} at call {at}"
            scene.check(f"now: {kind}".encode() in outputs.get(f"out-{rank}.txt", b""), f"{what}: no fault", result)
            recorded = outputs, progress(scene)
            again = replay_up_to(scene, trace, recorded, result, what)
            scene.check(again[f"out-{rank}.txt"] == outputs[f"out-{rank}.txt"],
                        f"{what}: the failing rank's output is not the same", result)
    return function


def names_the_crash(scene):
    """Where no process above the ranks has our library in it, only the rank itself can tell."""
    program = scene.program("long_running")
    for kind, name in (("segv", "SIGSEGV"), ("abort", "SIGABRT")):
        trace = scene.dir / kind
        command = scene.launch(RANKS, program, "--messages", 3000, "--fault", kind, "--rank", 2, "--at", 500)
        result, _ = scene.record(command, trace)
        scene.check(f"({name} of rank 2)" in result.err, f"{kind}: does not name rank and signal", result)
        replay, _ = scene.replay(trace)
        scene.check_status(replay, result.status, kind)
        scene.check(f"rank 2: {ENDED} ({name})" in replay.err, f"{kind}: the replay does not name the signal", replay)


# -- faults from outside ---------------------------------------------------------------------------------------------

def launcher_pid(scene):
    for pid in processes_with(scene.token):
        if os.path.basename(process_name(pid).split(" ")[0]).startswith(("mpirun", "mpiexec", "orterun", "srun")):
            return pid
    return None


def wait_until(condition, child, limit=60):
    """False when the command ended first."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if (value := condition()) is not None:
            return value
        if child.poll() is not None:
            return False
        time.sleep(0.0005)
    raise Failure("the program did not get going")


def rank_pid(scene, rank):
    try:
        return int((scene.out / f"pid-{rank}.txt").read_text())
    except (OSError, ValueError):
        return None


def lines_reached(scene, wanted):
    try:
        return True if (scene.out / "out-0.txt").read_bytes().count(b"\n") >= wanted else None
    except OSError:
        return None


def strike(scene, child, victim, number):
    """Sends the signal at a random moment. False when the program was faster."""
    rank = scene.random.randrange(RANKS)
    lines = scene.random.randrange(MESSAGES // 1000)
    if not wait_until(lambda: rank_pid(scene, rank), child):
        return False
    pid = rank_pid(scene, rank) if victim == "rank" else launcher_pid(scene)
    if pid is None or not wait_until(lambda: lines_reached(scene, lines), child):
        return False
    scene.look()
    time.sleep(scene.random.random() * 0.003)
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def outside_fault(victim, number, says):
    def function(scene):
        program = scene.program("long_running")
        done = attempts = 0
        while done < scene.settings.repeat:
            attempts += 1
            scene.check(attempts < 20 + 5 * scene.settings.repeat, "the program was always faster than the signal")
            trace = scene.dir / f"trace-{attempts}"
            scene.clear()
            child = scene.start([scene.settings.reprise, "record", "-o", trace, "--",
                                 *scene.launch(RANKS, program, "--messages", MESSAGES)])
            struck = strike(scene, child, victim, number)
            result = scene.finish(child)
            outputs = scene.outputs()
            if not struck or all(text.endswith(b"done\n") for text in outputs.values()):
                continue
            done += 1
            what = f"{signal.Signals(number).name} of {victim}, attempt {attempts}"
            # Hydra may well end with 0 after it was told to end.
            scene.check(result.status != 0 or victim == "mpirun", f"{what}: record says success", result)
            replay_up_to(scene, trace, (outputs, progress(scene)), result, what, says)
    return function


# -- disk full -------------------------------------------------------------------------------------------------------

def mounted(scene, megabytes):
    if os.geteuid() != 0:
        raise Skip("a small file system can only be mounted by root")
    place = scene.dir / "small"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", place], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise Skip(f"cannot mount a tmpfs here: {done.stderr.strip()}")
    return place


def fill(place):
    """Leaves no block free."""
    with open(place / "filler", "wb", buffering=0) as filler:
        for size in (1 << 20, 1 << 12):
            try:
                while filler.write(b"x" * size) == size:
                    pass
            except OSError:
                pass


def disk_full(late):
    """The disk is full from the start, or becomes full while the program runs."""
    def function(scene):
        place = mounted(scene, 16 if late else 1)
        try:
            done = attempts = 0
            while done < (min(2, scene.settings.repeat) if late and scene.settings.repeat < 50 else scene.settings.repeat):
                attempts += 1
                scene.check(attempts < 10 + 3 * scene.settings.repeat, "the disk was always full too late")
                done += run_out_of_disk(scene, place, place / f"trace-{attempts}", late)
                for path in place.iterdir():
                    subprocess.run(["rm", "-rf", path], check=True)
        finally:
            scene.end_processes()
            subprocess.run(["umount", place], check=True)
    return function


def run_out_of_disk(scene, place, trace, late):
    """False when the log needed no more room after the disk was full."""
    messages = 50000
    command = scene.launch(RANKS, scene.program("long_running"), "--messages", messages, "--clock", 20)
    scene.clear()
    if not late:  # less is left than a log begins with
        (place / "other").write_bytes(bytes((1 << 20) - (40 << 10)))
    child = scene.start([scene.settings.reprise, "record", "-o", trace, "--", *command])
    if late:
        lines = scene.random.randrange(20)
        if wait_until(lambda: lines_reached(scene, lines), child):
            fill(place)
    result = scene.finish(child)
    outputs = scene.outputs()
    # Without any room there is no trace, and that is an error; the program is untouched in any case.
    scene.check_status(result, 0 if late else 125, "record on a full disk")
    scene.check(f"sum {expected_sum(messages)}\n".encode() in outputs["out-0.txt"], "another result", result)
    scene.check(all(text.endswith(b"done\n") for text in outputs.values()), "the program did not end well", result)
    said = "space" in result.err or "full" in result.err
    if late and not said and not list(trace.glob("rank-*.open")):
        return False
    scene.check(said, "record does not say that the disk was full", result)
    if not late:
        return True
    before = outputs
    (place / "filler").unlink(missing_ok=True)
    replay, again = scene.replay(trace)
    scene.check_status(replay, {0, 125}, "replay of what fitted")
    for name, text in again.items():
        scene.check(before[name].startswith(text), f"{name}: replay printed something else", replay)
    return True


def expected_sum(messages):
    workers, total = RANKS - 1, 0
    for rank in range(1, RANKS):
        mine = messages // workers + (1 if rank - 1 < messages % workers else 0)
        total += rank * 1000003 * mine + mine * (mine + 1) // 2
    return total


def cases(mpi):
    kinds = [(kind, own_fault(kind)) for kind in ("segv", "abort", "mpi_abort", "exit")]
    kinds += [
        ("sigkill", outside_fault("rank", signal.SIGKILL, [f"{ENDED} (SIGKILL)"])),
        ("mpirun-sigkill", outside_fault("mpirun", signal.SIGKILL, [ENDED])),
        ("mpirun-sigterm", outside_fault("mpirun", signal.SIGTERM, [ENDED])),
        ("disk-full-early", disk_full(late=False)),
        ("disk-full-late", disk_full(late=True)),
    ]
    return [Case("faults", mpi, name, function, faults=True) for name, function in kinds]
