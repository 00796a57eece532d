"""A program that does something else in replay is found out at the first call that differs, promptly.

Each way to differ must end the replay, name the right rank and, where there are two, both source lines: that of the
recorded call and that of the actual one. With --timed it must do so within LIMIT seconds; otherwise the time is printed. Refused before the start: exit status 125. Found in the run: 75.
Nothing may be left running, and a replay under the old conditions must succeed afterwards.

Most ways are words that the program `ways` reads from a file, so one recording serves all of them.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import DIVERGED, SOURCES, TROUBLE, Case, Failure, Skip, available, build_program

LIMIT = 10  # seconds for the whole replay, launcher included, on a machine that has nothing else to do
PATIENCE = 300  # seconds until the test itself gives up
RANKS = 3


@dataclass
class Way:
    ranks: set               # one of them must be named first; empty if it is no rank's fault
    recorded: str = ""       # marks of lines in the program: of the recorded call
    now: str = ""            # of the actual call, or of the last one
    says: str = ""           # what else must be said
    places: list = field(default_factory=list)  # lines where ranks must be said to wait


def at(rank, recorded="", now="", says="", places=()):
    ranks = rank if isinstance(rank, set) else {rank}
    return Way(ranks, recorded, now or recorded, says, list(places))


ANYBODY = {0, 1, 2}
WAYS = {
    # another call, more, fewer
    "function": at(1, "send", "ssend", "another function"),
    "more": at(0, "recv-any", "more"),
    "probe": at(0, "recv-any", "probe"),
    "specific": at(0, "recv-any", "recv-specific", "another place"),
    "fewer": at(1, "send", "after-stream-1"),
    "unheard": at(1, "send", "send-more"),
    "swapped": at({1, 2}, "send", "after-stream-1|send-more"),
    # other arguments
    "tag": at(1, "send", says="tag 9"),
    "size": at(1, "send", says="8 bytes"),
    "type": at(1, "send", says="8 bytes"),
    "peer": at(1, "send", says="peer 2"),
    "comm": at(1, "send", says="on comm 3"),
    "poll-tag": at(0, "iprobe", says="tag 21"),
    "root": at(1, "bcast", says="peer 1"),
    "waitany": at(0, "waitany"),
    "waitall": at(0, "waitall"),
    "colour": at(2, "split", says="colour 1"),
    "key": at(2, "split", says="key -7"),
    "intercomm": at(0, "intercomm", says="tag 61"),
    # probes, tests, requests
    "poll-order": at(0, "iprobe", "irecv-tested"),
    "poll-elsewhere": at(0, "iprobe", "iprobe-early"),
    "poll-never": at(0, "iprobe", "recv-probed"),
    "test-less": at(0, "irecv-many|test", "wait-tested", "had \\d+ tests? more"),
    "start-order": at(0, "start-1", "start-first"),
    "no-cancel": at(0, "cancel", "wait-cancelled"),
    "deadlock": at(0, says="every rank waits", places=["wait-1", "recv-42", "bcast"]),
    # collectives and communicators
    "collective": at(1, "allreduce", "reduce", "another function"),
    "skip": at(2, "barrier", "allgather"),
    "group": at(ANYBODY, "create", says="communicator"),
    "merge": at(ANYBODY, "merge", says="another order"),
    "freed": at(1, "barrier-extra", "free-early"),
    # the end
    "exit": at(1, "send", says="the program ends"),
    "vanish": at(1, "send", says="ended by itself"),
    "suicide": at(1, "send", says="SIGKILL"),
    "segv": at(1, "send", "segv", "SIGSEGV"),
    "sigabrt": at(1, "send", says="SIGABRT"),
    "mpi-abort": at(1, "send", "mpi-abort", "another function"),
    "finalize": at(1, "send", "early-finalize"),
    "status": at(1, says="exit status 3, recorded was 0(.*\n)+.*now: .*after MPI_Finalize"),
    # no further call
    "spin": at(1, "send", says="made no call for"),
    "sleep": at(1, "send", says="made no call for"),
    "after-finalize": at(1, says="made no call for.*\n.*no further call"),
    "before-init": at(1, says="has not come to MPI_Init"),
}

# Those that are known at once, wherever the ranks are and whoever started them.
PROMPT = ["function", "tag", "fewer", "segv", "exit"]

# Those that are known only when nothing has moved for some time, which is longer on a machine with other things to do;
# and those that ask how such time is measured.
SLOW = {"deadlock", "spin", "sleep", "after-finalize", "before-init", "vanish", "pauses", "slow-machine"}

# Sources of chance that are not recorded: the recorded run and its replay differ by themselves.
CHANCE = ["layout", "cycles", "auxiliary", "uninitialised", "race", "child", "counter"]

LOCKS = {}
LOCKS_LOCK = threading.Lock()


@dataclass
class Recording:
    dir: Path
    program: str
    outputs: dict = field(default_factory=dict)

    def write(self, **files):
        for name, text in files.items():
            (self.dir / f"{name}.txt").write_text(f"{text}\n")

    def normal(self, word="normal"):
        self.write(word=word, ranks=RANKS, more="")


@contextlib.contextmanager
def recording(scene, word="normal", program="ways"):
    """A recording that several tests share, made by the first. It is held while the test uses it.

    Made through a script that takes the number of ranks and the arguments from files, as scripts do.
    """
    mpi = scene.case.mpi
    with LOCKS_LOCK:
        made = LOCKS.setdefault((scene.settings.scratch, mpi, word), [threading.Lock(), None])
    with made[0]:
        if made[1] is None:
            made[1] = record(scene, scene.settings.scratch / f"{word}-{mpi}", word, scene.program(program))
        shared = made[1]
        shared.normal(word)
        scene.out = shared.dir / "out"
        yield shared


def record(scene, directory, word, program):
    made = Recording(directory, program)
    scene.out = directory / "out"
    scene.out.mkdir(parents=True)
    made.normal(word)
    script = directory / "go.sh"
    command = scene.launch("$(cat ranks.txt)", program, directory / "word.txt")
    script.write_text("#!/bin/sh\ncd \"$(dirname \"$0\")\"\nexec " + " ".join(command) + " $(cat more.txt)\n")
    script.chmod(0o755)
    result, made.outputs = scene.record([str(script)], directory / "trace", words=["--mpi", scene.case.mpi],
                                        cwd=directory)
    scene.check_status(result, 0, "record")
    return made


# --- judging ----------------------------------------------------------------------------------------------------------


def slowness():
    """How many times longer than on a machine of its own a computation takes here, now."""
    began, used = time.monotonic(), time.process_time()
    while time.process_time() - used < 0.03:
        pass
    return max(1.0, (time.monotonic() - began) / (time.process_time() - used))


class Timed:
    """The time that a replay may take, on a machine that may have other things to do."""

    def __init__(self, scene):
        self.scene, self.before = scene, slowness()

    def check(self, replay, what):
        slow = max(self.before, slowness())
        self.scene.remark = f"{replay.seconds:.1f} s" + (f", machine {slow:.1f} times slower" if slow > 1.5 else "")
        late = self.scene.settings.timed and replay.seconds > LIMIT * slow
        self.scene.check(not late, f"{what}: took {replay.seconds:.1f} s on a machine that is "
                         f"{slow:.1f} times slower than it could be", replay)


def marked_lines(program, marks):
    source = (SOURCES / f"{program}.c").read_text().splitlines()
    found = {number for number, line in enumerate(source, 1) for mark in marks.split("|")
             if re.search(rf"//@{mark}\b(?!-)", line)}
    if not found:
        raise Failure(f"no line of {program}.c has the mark {marks}")
    return found


def said_lines(replay, heading, program="ways"):
    """The lines of the program that are named under this heading."""
    said = re.findall(rf"^  {heading}: +(.*)$", replay.err, re.M)
    return {int(line) for line in re.findall(rf"{program}\.c:(\d+)", said[0])} if said else set()


def check_report(scene, replay, way, program="ways"):
    first = re.search(r"\brank (\d+)", replay.err)
    if way.ranks:
        scene.check(first and int(first[1]) in way.ranks, f"does not name a rank of {way.ranks} first", replay)
    for heading, marks in (("recorded", way.recorded), ("now", way.now)):
        if marks:
            lines, wanted = said_lines(replay, heading, program), marked_lines(program, marks)
            scene.check(lines & wanted, f"{heading}: names {lines}, not one of {wanted} (//@{marks})", replay)
    scene.check(re.search(way.says, replay.err), f"does not say {way.says!r}", replay)
    for mark in way.places:
        lines = marked_lines(program, mark)
        said = any(f"{program}.c:{line} " in replay.err for line in lines)
        scene.check(said, f"no rank is said to be at {mark}", replay)


def check_diverges(scene, what, way, trace, statuses=(DIVERGED,), program="ways", **options):
    timed = Timed(scene)
    replay, _ = scene.replay(trace, limit=PATIENCE, **options)
    scene.check_status(replay, statuses, what)
    timed.check(replay, what)
    check_report(scene, replay, way, program)


def check_still_replays(scene, made):
    replay, again = scene.replay(made.dir / "trace")
    scene.check_status(replay, 0, "replay under the old conditions")
    scene.check_same(made.outputs, again, "replay under the old conditions", replay)


# --- other input, environment, chance ---------------------------------------------------------------------------------


def other_word(name):
    def function(scene):
        with recording(scene) as made:
            for _ in range(max(1, scene.settings.repeat // 5)):
                made.write(word=name)
                check_diverges(scene, f"replay with the word {name!r}", WAYS[name], made.dir / "trace")
            made.normal()
            check_still_replays(scene, made)
    return function


def other_word_apart(name):
    """For cases that have launchers or hosts of their own, so that they cannot share a recording."""
    def function(scene):
        made = record(scene, scene.dir / "ways", "normal", scene.program("ways"))
        made.write(word=name)
        check_diverges(scene, f"replay with the word {name!r}", WAYS[name], made.dir / "trace")
        made.normal()
        check_still_replays(scene, made)
    return function


def other_environment(scene):
    with recording(scene) as made:
        check_diverges(scene, "replay in another environment", WAYS["tag"], made.dir / "trace",
                       env={"WAY_TO_GO": "tag"})
        check_still_replays(scene, made)


def unrecorded_chance(name):
    def function(scene):
        if name == "layout" and Path("/proc/sys/kernel/randomize_va_space").read_text().strip() == "0":
            raise Skip("the system does not randomise addresses")
        made = record(scene, scene.dir / "ways", name, scene.program("ways"))
        check_diverges(scene, f"replay with chance by {name}", at(1, "chance", says="other arguments"),
                       made.dir / "trace")
    return function


# --- another program, other ranks, another trace ----------------------------------------------------------------------


def check_refused(scene, what, trace, *mentions, **options):
    timed = Timed(scene)
    replay, _ = scene.replay(trace, limit=PATIENCE, **options)
    scene.check_status(replay, TROUBLE, what)
    timed.check(replay, what)
    for mention in mentions:
        scene.check(re.search(mention, replay.err), f"{what}: does not say {mention!r}", replay)


def other_binary(scene):
    program = str(scene.dir / "program")
    scene.program("ways", output=program)
    made = record(scene, scene.dir / "ways", "normal", program)
    os.rename(program, f"{program}.old")
    scene.program("ways", flags=["-DVARIANT=2"], output=program)
    check_refused(scene, "another build of the program", made.dir / "trace", "build-id")
    os.rename(f"{program}.old", program)
    check_still_replays(scene, made)


def other_library(scene):
    library = scene.dir / "libways.so"
    flags = ["-shared", "-fPIC", "-DLIBRARY", "-Wl,--build-id"]
    scene.program("ways_library", flags=[*flags, "-DVARIANT=1"], output=library)
    program = scene.program("ways_library", output=scene.dir / "program",
                            libraries=[str(library), f"-Wl,-rpath,{scene.dir}"])
    made = record(scene, scene.dir / "ways", "normal", program)
    os.rename(library, f"{library}.old")
    scene.program("ways_library", flags=[*flags, "-DVARIANT=2"], output=library)
    check_diverges(scene, "another build of a library", at(ANYBODY, says=r"libways\.so is another build"),
                   made.dir / "trace", program="ways_library")
    os.rename(f"{library}.old", library)
    check_still_replays(scene, made)


def other_arguments(scene):
    with recording(scene) as made:
        made.write(more="--more")
        check_refused(scene, "another argument", made.dir / "trace", "other arguments", "--more")
        made.normal()
        check_still_replays(scene, made)


def other_rank_count(count):
    def function(scene):
        with recording(scene) as made:
            made.write(ranks=count)
            check_refused(scene, f"{count} ranks in place of {RANKS}", made.dir / "trace",
                          rf"had {RANKS} ranks.*{count}")
            made.normal()
            check_still_replays(scene, made)
    return function


def missing_log(scene):
    with recording(scene) as made:
        log = made.dir / "trace" / "rank-1.log"
        log.rename(scene.dir / "log")
        check_refused(scene, "a rank's log is missing", made.dir / "trace", "2 of 3 logs")
        (scene.dir / "log").rename(log)
        check_still_replays(scene, made)


def other_mpi(scene):
    other = "mpich" if scene.case.mpi == "openmpi" else "openmpi"
    if not available(other):
        raise Skip("there is only one MPI here")
    program = build_program(scene.settings.build, other, "ways")
    with recording(scene) as made:
        timed = Timed(scene)
        replay = scene.run([scene.settings.reprise, "replay", "--yes", made.dir / "trace", "--", f"mpirun.{other}",
                            "-n", str(RANKS), program, scene.out], PATIENCE)
        scene.check_status(replay, TROUBLE, "a command of the other MPI")
        timed.check(replay, "a command of the other MPI")
        scene.check(re.search("recorded with .*, but this command uses", replay.err), "does not say so", replay)
        check_still_replays(scene, made)


# --- from outside -----------------------------------------------------------------------------------------------------


def killed(choose, way):
    """Something is killed while rank 1 sleeps, as it did in the recorded run."""
    def function(scene):
        with recording(scene, "slow") as made:
            scene.clear()
            child = scene.start([scene.settings.reprise, "replay", "--yes", made.dir / "trace"])
            os.kill(choose(scene, child), signal.SIGKILL)
            began = time.monotonic()
            timed = Timed(scene)
            replay = scene.finish(child, PATIENCE)
            replay.seconds = time.monotonic() - began
            scene.check_status(replay, DIVERGED, "replay that loses a process")
            timed.check(replay, "replay that loses a process")
            check_report(scene, replay, way)
            check_still_replays(scene, made)
    return function


def sleeping_rank(scene, _):
    path = scene.out / "pid-1.txt"
    for _ in range(PATIENCE * 100):
        if path.exists() and path.read_text().endswith("\n"):
            return int(path.read_text())
        time.sleep(0.01)
    raise Failure("rank 1 did not come so far")


def interrupted(number, interrupt=None):
    """Who ends a replay learns nothing about the program. `interrupt` does what makes the launcher end."""
    def function(scene):
        made = record(scene, scene.dir / "ways", "normal", scene.program("ways"))
        made.write(word="sleep")  # there is time enough
        scene.clear()
        child = scene.start([scene.settings.reprise, "replay", "--yes", made.dir / "trace"])
        for _ in range(PATIENCE * 100):
            if (scene.out / "out-1.txt").exists():
                break
            time.sleep(0.01)
        scene.look()
        if interrupt:
            interrupt(child)
        else:
            child.send_signal(number)
        replay = scene.finish(child, PATIENCE)
        scene.check_status(replay, 128 + number, "an interrupted replay")
        scene.check(f"interrupted by {number.name}" in replay.err, "does not say so", replay)
        scene.check("diverged" not in replay.err, "says that it diverged", replay)
        made.normal()
        check_still_replays(scene, made)
    return function


def launcher(scene, child):
    sleeping_rank(scene, child)
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    return int(children[0])


# --- replays that are only slow ---------------------------------------------------------------------------------------


def pauses(scene):
    command = scene.launch(RANKS, scene.program("pauses"), 3, 1)
    result, outputs = scene.record(command)
    scene.check_status(result, 0, "record")
    replay, again = scene.replay()
    scene.check_status(replay, 0, "replay of a run with long pauses")
    scene.check_same(outputs, again, "replay of a run with long pauses", replay)


@contextlib.contextmanager
def busy_machine(hogs):
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(hogs)]
    try:
        yield
    finally:
        for hog in running:
            hog.kill()
            hog.wait()


def slow_machine(scene):
    """By the clock on the wall the replay stands still for longer than it may, but not in its own time."""
    command = scene.launch(RANKS, scene.program("pauses"), 0, 1)
    result, outputs = scene.record(command)
    scene.check_status(result, 0, "record")
    scene.clear()
    with busy_machine(4 * len(os.sched_getaffinity(0))):
        replay = scene.run([scene.settings.reprise, "replay", "--yes", "--stall-timeout", "3", scene.dir / "trace"])
    scene.check_status(replay, 0, "replay on a slower machine")
    scene.check_same(outputs, scene.outputs(), "replay on a slower machine", replay)
    scene.remark = f"{replay.seconds:.1f} s, recorded in {result.seconds:.1f} s"


def cases(mpi):
    tests = [(name, other_word(name)) for name in WAYS]
    tests += [(f"chance-{name}", unrecorded_chance(name)) for name in CHANCE]
    tests += [("environment", other_environment), ("other-binary", other_binary), ("other-library", other_library),
              ("other-arguments", other_arguments), ("other-mpi", other_mpi), ("missing-log", missing_log),
              ("fewer-ranks", other_rank_count(2)), ("more-ranks", other_rank_count(4)),
              ("rank-killed", killed(sleeping_rank, at(1, "send", says="SIGKILL"))),
              ("launcher-killed", killed(launcher, at(set(), says=r"the command ended.*SIGKILL"))),
              ("interrupted-sigint", interrupted(signal.SIGINT)), ("interrupted-sigterm", interrupted(signal.SIGTERM)),
              ("pauses", pauses), ("slow-machine", slow_machine)]
    return [Case("divergence", mpi, name, function, faults=True, waits=name in SLOW) for name, function in tests]
