"""Threads inside the ranks: plain runs differ, one recording replays with identical output every time."""

from families import differs, replays_alike
from harness import Case

# name: program, ranks, arguments
PROGRAMS = {
    "locks": ("thread_locks", 2, []),
    "cpp": ("thread_cpp", 2, []),
    "daemon": ("thread_daemon", 2, []),
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


def cases(mpi):
    return [Case("threads", mpi, name, program(name)) for name in PROGRAMS]
