"""Threads inside the ranks: plain runs differ, one recording replays with identical output every time."""

import json
import signal
import time

from families import TRIES, differs, replays_alike
from harness import SOURCES, Case, Failure, available
from random_programs import record_armed

# name: program, ranks, arguments
PROGRAMS = {
    "locks": ("thread_locks", 2, []),
    "cpp": ("thread_cpp", 2, []),
    "daemon": ("thread_daemon", 2, []),
    "c11": ("thread_c11", 2, []),
    "producers": ("thread_producers", 3, []),
    "mpi-multiple": ("thread_mpi", 3, []),
    "mpi-serialized": ("thread_mpi", 3, ["serialized"]),
}


def program(name):
    source, ranks, arguments = PROGRAMS[name]

    def function(scene):
        command = scene.launch(ranks, scene.program(source), *arguments)
        differs(scene, command, ranks)
        replays_alike(scene, command, ranks)
    return function


def every_line_differs(scene, command, ranks):
    """Each construct has a line of its own; each must be a matter of chance."""
    seen = {}
    tries = 5 * TRIES  # few are needed, but for a machine that has no time for chance
    for _ in range(tries):
        result, outputs = scene.plain(command)
        scene.check_status(result, 0, "plain run")
        scene.check(len(outputs) == ranks, "plain run: output files are missing", result)
        for line in b"".join(outputs.values()).decode().splitlines():
            what, _, value = line.rpartition(" ")
            seen.setdefault(what, set()).add(value)
        alike = [what for what, values in seen.items() if what and len(values) == 1]
        if not alike:
            return
    raise Failure(f"not nondeterministic here, in {tries} plain runs: {alike}")


def openmp(source):
    def function(scene):
        command = scene.launch(2, scene.program(source))
        every_line_differs(scene, command, 2)
        replays_alike(scene, command, 2)
    return function


def model_checker(ranks, *words):
    """A program of some size: worker and communicator of each rank race for their queues."""
    def function(scene):
        command = [*scene.launch(ranks, scene.program("model_checker"))[:-1], "--log", str(scene.out), *words]
        differs(scene, command, ranks)
        result = replays_alike(scene, command, ranks)
        verdict = "IS VIOLATED" if "--broken" in words else "mutual exclusion holds"
        scene.check(verdict in result.out, f"does not find that mutual exclusion {verdict}", result)
    return function


def without_mpi(source):
    """The same program, and no MPI: recorded from the start of main to its end."""
    def function(scene):
        command = [scene.program_without_mpi(source), str(scene.out)]
        differs(scene, command, 1)
        replays_alike(scene, command, 1)
    return function


def last_message(level, *how):
    """A rank that aborts helps the others to come as far as they came."""
    def function(scene):
        result, recorded = scene.record(scene.launch(2, scene.program("thread_last_message"), level, *how))
        scene.check(recorded["out-0.txt"].endswith(b"asked 300 times\n"), "rank 0 did not come so far", result)
        scene.check(recorded["out-1.txt"].endswith(b"sent\n"), "the message did not get through", result)
        for number in range(scene.settings.repeat):
            replay, outputs = scene.replay(scene.dir / "trace")
            scene.check_status(replay, result.status, f"replay {number + 1}")
            scene.check_same(recorded, outputs, f"replay {number + 1}", replay)
    return function


def without_mpi_crash(scene):
    """A program that aborts does so again; one that was killed is replayed up to that point. With the same status."""
    command = [scene.program_without_mpi("thread_crash"), scene.out, "abort"]
    result, recorded = scene.record(command, scene.dir / "abort")
    scene.check_status(result, 128 + signal.SIGABRT, "record")
    for number in range(scene.settings.repeat):
        replay, outputs = scene.replay(scene.dir / "abort")
        scene.check_status(replay, result.status, f"replay {number + 1}")
        scene.check_same(recorded, outputs, f"replay {number + 1}", replay)
    for word in ("kill", "late"):
        result, recorded = record_armed(scene, [*command[:2], word], scene.dir / word)
        scene.check_status(result, 128 + signal.SIGKILL, "record")
        for number in range(scene.settings.repeat):
            replay, outputs = scene.replay(scene.dir / word)
            scene.check_status(replay, result.status, f"{word}: replay {number + 1}")
            scene.check("the recorded run ended here (SIGKILL)" in replay.err, "does not say so", replay)
            again, before = outputs["out-0.txt"], recorded["out-0.txt"]
            scene.check(again.startswith(before) and again.count(b"\n") <= before.count(b"\n") + 1,
                        f"{word}: replay {number + 1} comes to another point", replay)


def without_mpi_manners(scene):
    """Nothing to record is said, and leaves nothing behind; programs that it starts are not recorded in its place."""
    result = scene.run([scene.settings.reprise, "record", "-o", scene.dir / "nothing", "--", "/bin/true"])
    scene.check_status(result, 125, "record of a program without threads")
    scene.check("nothing was recorded" in result.err and not (scene.dir / "nothing").exists(), "leaves a trace", result)
    result = scene.run([scene.settings.reprise, "record", "--mpi", "none", "-o", scene.dir / "nothing", "--",
                        *scene.launch(2, scene.program("thread_c11"))])
    scene.check(result.status == 125 and "starts the ranks" in result.err, "a launcher is no program without MPI", result)
    doctor = scene.run([scene.settings.reprise, "doctor", "--", scene.program_without_mpi("thread_crash"), scene.out])
    scene.check(doctor.status == 0 and "no MPI was seen" in doctor.out, "doctor has another opinion", doctor)
    result, _ = scene.record([scene.program_without_mpi("thread_crash"), scene.out, "system"])
    scene.check_status(result, 0, "record of a program that starts another")
    scene.check("recorded 1 rank" in result.err, "not recorded", result)
    replay, _ = scene.replay()
    scene.check_status(replay, 0, "its replay")


def without_mpi_main_leaves(scene):
    """The process ends with its last thread, not with one of ours."""
    command = [scene.program_without_mpi("thread_crash"), scene.out, "leave"]
    result, recorded = scene.record(command)
    scene.check_status(result, 0, "record")
    for number in range(min(3, scene.settings.repeat)):
        replay, outputs = scene.replay()
        scene.check_status(replay, 0, f"replay {number + 1}")
        scene.check_same(recorded, outputs, f"replay {number + 1}", replay)


def openmp_tasks(scene):
    """They cannot be replayed, and the recording says so."""
    result, _ = scene.record(scene.launch(2, scene.program("openmp_tasks")))
    scene.check_status(result, 0, "record")
    scene.check("tasks of OpenMP" in result.err, "does not say that tasks are not recorded", result)


def shown(scene):
    """The calls of every thread, with their lines; communicators by the names that the main thread's log gives them."""
    result, _ = scene.record(scene.launch(3, scene.program("thread_mpi")))
    scene.check_status(result, 0, "record")
    show = scene.run([scene.settings.reprise, "show", "--calls", "--limit", "0", scene.dir / "trace"])
    scene.check_status(show, 0, "show")
    for rank in range(3):
        for thread in range(1, 4):
            head = f"\nrank {rank}, thread {thread}  "
            scene.check(head in show.out, f"no calls of thread {thread} of rank {rank}", show)
            part = show.out.split(head)[1].split("\nrank ")[0]
            scene.check("MPI_Irecv" in part and "world" in part and "thread_mpi.c:" in part, "calls are missing", show)
    show = scene.run([scene.settings.reprise, "show", "--json", "--call", "pthread_create", scene.dir / "trace"])
    calls = [call for log in json.loads(show.out)["logs"] for call in log["calls"]]
    scene.check(len(calls) == 9, "not every thread was seen made", show)


def log_is_missing(scene):
    """A run that ended well has the logs of all its threads."""
    result, _ = scene.record(scene.launch(2, scene.program("thread_cpp")))
    scene.check_status(result, 0, "record")
    (scene.dir / "trace" / "rank-1.thread-2.log").unlink()
    replay, _ = scene.replay()
    scene.check(replay.status == 125 and "rank-1.thread-2.log" in replay.err, "not noticed", replay)


def line_of(source, comment):
    """The line of a program that ends with this comment, as Reprise writes it."""
    path = SOURCES / f"{source}.c"
    for number, text in enumerate(path.read_text().splitlines(), 1):
        if text.endswith(f"// {comment}"):
            return f"{source}.c:{number} "
    raise Failure(f"{path} has no line with the comment {comment}")


# way: threads that are stuck and all threads; who waits for what, in which line; where what they hold was taken
DEADLOCKS = {
    "locks": ("all its threads", [(1, "held by thread 2", "left waits"), (2, "held by thread 1", "right waits")],
              ["left takes", "right takes"]),
    "three": ("all its threads", [(1, "held by thread 2", "left waits"), (2, "held by thread 3", "reader waits"),
                                  (3, "held by thread 1", "writer waits")], ["left takes", "writer takes"]),
    "self": ("all its threads", [(1, "which it holds itself", "twice waits")], ["twice takes"]),
    "signal": ("all its threads", [(1, "waits for condition", "late sleeper waits")], []),
    "some": ("2 of its 4 threads", [(1, "held by thread 2", "left waits"), (2, "held by thread 1", "right waits")],
             ["left takes", "right takes"]),
}


def check_report(scene, way, rank, result, what):
    """One report, with the right threads and lines, from one rank."""
    who, waits, taken = DEADLOCKS[way]
    lines = result.err.splitlines()
    heads = [line for line in lines if "deadlock in rank" in line]
    scene.check(len(heads) == 1 and f"deadlock in rank {rank}: {who}" in heads[0], f"{what}: no report, or not one", result)
    for thread, why, comment in waits:
        told = [line for line in lines if f"  thread {thread} waits" in line]
        scene.check(len(told) == 1 and why in told[0] and line_of("thread_deadlock", comment) in told[0],
                    f"{what}: says something else about thread {thread}", result)
    for comment in taken:
        scene.check(any("holds lock" in line and line_of("thread_deadlock", comment) in line for line in lines),
                    f"{what}: does not say where a lock was taken ({comment})", result)
    if way == "signal":
        lost = [line for line in lines if "a lost wake-up" in line]
        scene.check(len(lost) == 1 and line_of("thread_deadlock", "signal is lost") in lost[0],
                    f"{what}: does not say which signal was lost", result)


def deadlock(way, ranks):
    """Found while recording; the run is ended if nobody can go on. The replay comes to the same place and says the same."""
    def function(scene):
        command = scene.launch(ranks, scene.program("thread_deadlock"), way) if ranks else \
            [scene.program_without_mpi("thread_deadlock"), scene.out, way]
        rank = max(ranks - 1, 0)
        result, recorded = scene.record(command, limit=180)  # what is not found hangs
        check_report(scene, way, rank, result, "record")
        scene.check((result.status == 0) == (way == "some"), f"record ends with {result.status}", result)
        for number in range(min(3, scene.settings.repeat)):
            replay, outputs = scene.replay()
            scene.check_status(replay, result.status, f"replay {number + 1}")
            scene.check_same(recorded, outputs, f"replay {number + 1}", replay)
            if way != "some":
                check_report(scene, way, rank, replay, f"replay {number + 1}")
    return function


def deadlock_not_watched(scene):
    """Switched off, the program hangs; when it is ended, a replay finds the locks. Conditions it cannot be sure about."""
    for way in ("locks", "signal"):
        trace = scene.dir / way
        command = [scene.program_without_mpi("thread_deadlock"), scene.out, way]
        child = scene.start([scene.settings.reprise, "record", "--no-deadlock-check", "-o", trace, "--", *command])
        time.sleep(4)
        scene.check(child.poll() is None, "was ended although nobody was to look")
        child.send_signal(signal.SIGTERM)
        result = scene.finish(child)
        scene.check_status(result, 128 + signal.SIGTERM, "record")
        scene.check("deadlock" not in result.err, "was found although nobody was to look", result)
        replay, _ = scene.replay(trace)
        scene.check_status(replay, result.status, "replay")
        if way == "locks":
            check_report(scene, way, 0, replay, "replay")
        else:
            scene.check("deadlock" not in replay.err, "a replay cannot know that", replay)


def no_deadlock(scene):
    """Whoever waits for long, or for what nobody can see, is not stuck."""
    for way in ("slow", "timer", "alarm", "cancelled"):
        result, _ = scene.record([scene.program_without_mpi("thread_deadlock"), scene.out, way], scene.dir / way)
        scene.check_status(result, 0, way)
        scene.check("deadlock" not in result.err, f"{way}: a false report", result)


def cases(mpi):
    listed = {name: program(name) for name in PROGRAMS}
    listed |= {"openmp": openmp("openmp"), "openmp-fortran": openmp("openmp_fortran"), "openmp-tasks": openmp_tasks}
    listed |= {"model-checker-3": model_checker(3, "--processes", "4", "--jitter", "5"),
               "model-checker-4": model_checker(4, "--broken", "--jitter", "20")}
    if mpi == next(filter(available, ("openmpi", "mpich")), None):  # once
        listed |= {f"without-mpi-{name}": without_mpi(source)
                   for name, source in (("locks", "thread_locks"), ("cpp", "thread_cpp"), ("c11", "thread_c11"), ("openmp", "openmp"))}
        listed |= {"without-mpi-crash": without_mpi_crash, "without-mpi-manners": without_mpi_manners,
                   "without-mpi-main-leaves": without_mpi_main_leaves}
        listed |= {f"without-mpi-deadlock-{way}": deadlock(way, 0) for way in DEADLOCKS}
        listed |= {"deadlock-not-watched": deadlock_not_watched, "no-deadlock": no_deadlock}
    listed |= {f"deadlock-{way}": deadlock(way, 2) for way in DEADLOCKS}
    for level in ("funneled", "serialized", "multiple"):
        listed |= {f"last-message-{level}": last_message(level), f"last-message-{level}-mpi-abort": last_message(level, "mpi-abort")}
    listed |= {"shown": shown, "log-is-missing": log_is_missing}
    return [Case("threads", mpi, name, function) for name, function in listed.items()]
