"""Clocks, random sources and process numbers that the program reads: plain runs differ, a replay repeats them."""

import json
import shutil
import subprocess

from harness import DIVERGED, SOURCES, Case, Failure, Skip

TRIES = 20

# name: ranks, arguments
PROGRAMS = {
    "clocks": (2, []),
    "random_sources": (2, []),
    "random_device": (2, []),
    "fork_child": (2, []),
    "thread_clocks": (2, []),
    "clock_in_malloc": (2, []),
    "mpi_in_thread": (3, []),
}
PYTHON = "/usr/bin/python3"  # the one that Debian's python3-mpi4py is for


def plain_runs_differ(scene, command, ranks):
    """Otherwise an identical replay would prove nothing."""
    seen = None
    for _ in range(TRIES):
        result, outputs = scene.plain(command)
        scene.check_status(result, 0, "plain run")
        scene.check(len(outputs) == ranks, "plain run: output files are missing", result)
        if seen is not None and outputs != seen:
            return
        seen = outputs
    raise Failure(f"not nondeterministic here: {TRIES} plain runs were alike")


def replays(scene, command, ranks, **options):
    result, recorded = scene.record(command, **options)
    scene.check_status(result, 0, "record")
    scene.check(len(recorded) == ranks, "record: output files are missing", result)
    for number in range(1, scene.settings.repeat + 1):
        replay, outputs = scene.replay()
        what = f"replay {number} of {scene.settings.repeat}"
        scene.check_status(replay, 0, what)
        scene.check_same(recorded, outputs, what, replay)
    return result


def program(name):
    def function(scene):
        ranks, args = PROGRAMS[name]
        command = scene.launch(ranks, scene.program(name.split()[0]), *args)
        plain_runs_differ(scene, command, ranks)
        replays(scene, command, ranks)
    return function


def fortran(scene):
    compiler = f"mpifort.{scene.case.mpi}"
    if not shutil.which(compiler):
        raise Skip(f"{compiler} is not installed")
    program_path = scene.dir / "fortran_clocks"
    done = subprocess.run([compiler, "-O1", "-g", "-o", program_path, SOURCES / "fortran_clocks.f90"],
                          capture_output=True, text=True, cwd=scene.dir)
    scene.check(done.returncode == 0, f"{compiler} fails:\n{done.stderr}")
    command = scene.launch(2, program_path)
    plain_runs_differ(scene, command, 2)
    replays(scene, command, 2)


def python(scene):
    if subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode != 0:
        raise Skip(f"{PYTHON} has no mpi4py")
    command = scene.launch(3, PYTHON, SOURCES / "python_clocks.py")
    command = command[:4] + [command[5], command[4]]  # the script comes before its argument
    plain_runs_differ(scene, command, 3)
    replays(scene, command, 3, words=["--mpi", scene.case.mpi])


def shown(scene, rank=0):
    result = scene.run([scene.settings.reprise, "show", scene.dir / "trace", "--json", "--limit", "0", "--rank", rank])
    scene.check_status(result, 0, "show")
    return json.loads(result.out)["logs"][0]["calls"]


def only_the_programs(scene):
    """The MPI library reads clocks all the time; none of that is in the log of a program that reads none."""
    result, _ = scene.record(scene.launch(2, scene.program("large")))
    scene.check_status(result, 0, "record")
    foreign = {call["function"] for call in shown(scene) if not call["function"].startswith("MPI_")}
    scene.check(not foreign, f"in the log of a program that reads no clock: {foreign}", result)
    scene.check("clocks" not in result.err, "reads of the MPI library's threads were taken for the program's", result)


def rank_unknown(scene):
    """A launcher that does not say which rank a process is: what is read before MPI_Init is real, the rest replays."""
    command = scene.launch(2, scene.program("hidden_rank"))
    plain_runs_differ(scene, command, 2)
    result = replays(scene, command, 2)
    scene.check("does not say which rank" in result.err, "the recording does not say so", result)
    replay, _ = scene.replay()
    scene.check("before MPI_Init were not replayed" in replay.err, "the replay does not say so", replay)


def alone(scene):
    """Without a launcher there is no rank to look for, but it can only be rank 0."""
    command = [scene.program("clocks"), str(scene.out)]
    plain_runs_differ(scene, command, 1)
    replays(scene, command, 1)


def through_a_script(scene):
    """Shells between the launcher and the program read clocks as well, under the same rank."""
    script = scene.dir / "go.sh"
    script.write_text("#!/bin/bash\necho $$ $RANDOM $SECONDS >/dev/null\n\"$@\"\n")
    script.chmod(0o755)
    command = scene.launch(2, scene.program("clocks"))
    command.insert(3, str(script))
    replays(scene, command, 2, words=["--mpi", scene.case.mpi])


def other_clock(scene):
    """A read that was not recorded is a divergence, before MPI_Init as well, and is named."""
    for word, line in (("early", "early_read"), ("late", "late_read")):
        choice = scene.dir / "choice.txt"
        choice.write_text("none\n")
        trace = scene.dir / word
        command = scene.launch(2, scene.program("other_clock"), choice)
        result, _ = scene.record(command, trace=trace)
        scene.check_status(result, 0, "record")
        choice.write_text(word + "\n")
        replay, _ = scene.replay(trace)
        scene.check_status(replay, DIVERGED, f"replay with a read that is {word}")
        scene.check(f"({line})" in replay.err and "clock_gettime" in replay.err, "does not name the read", replay)


def cases(mpi):
    found = [Case("system", mpi, name.replace(" ", "-"), program(name)) for name in PROGRAMS]
    found.append(Case("system", mpi, "fortran_clocks", fortran))
    if mpi == "openmpi":  # Debian's mpi4py is built for it
        found.append(Case("system", mpi, "python_clocks", python))
    for function in (only_the_programs, rank_unknown, alone, through_a_script, other_clock):
        found.append(Case("system", mpi, function.__name__, function))
    return found
