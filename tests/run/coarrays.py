"""Coarrays: what images do to each other is MPI's one-sided communication, and each image alone sees what it saw then."""

import shutil
from pathlib import Path

from harness import Case
from onesided import each_alone

IMAGES = 4
# Arguments of tests/programs/coarrays.f90. MPICH 4.0.2 loses what is put into most of them, and with it events (docs/library-bugs.md).
PARTS = {"openmpi": ["puts", "gets", "locks", "critical", "events", "atomics", "collectives", "allocated"],
         "mpich": ["gets", "locks", "critical", "atomics", "collectives", "allocated"]}
# Programs of the library's own tests that Debian has in its packages, and that work there.
OTHERS = {"openmpi": ["atomics", "co_reduce_test", "get_with_vector_index", "allocatable_p2p_event_post", "whole_get_array", "coarray_burgers_pde",
                      "send_convert_nums"],
          "mpich": ["atomics", "co_reduce_test", "get_with_vector_index", "async_comp_alloc", "get_static_array"]}


def start(scene, program, *words):
    launcher, *rest = scene.launch(IMAGES, program, *words)
    return [launcher, *(["--mca", "osc", "^rdma"] if scene.case.mpi == "openmpi" else []), *rest]


def part(name):
    def function(scene):
        program = scene.program("coarrays", flags=("-fcoarray=lib",), libraries=(f"-lcaf_{scene.case.mpi}",))
        command = start(scene, program, name)
        each_alone(scene, command, IMAGES)
    return function


def programs_of_others(mpi):
    found = sorted(Path("/usr/lib").glob(f"*/open-coarrays/{mpi}/bin/OpenCoarrays-*-tests"))
    return found[-1] if found else None


def others(scene):
    directory = programs_of_others(scene.case.mpi)
    scene.check(directory, "the programs of libcoarrays' packages are missing: tools/setup.sh installs them")
    for name in OTHERS[scene.case.mpi]:
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, _ = scene.record(start(scene, directory / name), words=("--data", "all"))
        scene.check_status(result, 0, f"{name}: record")
        replay, _ = scene.side_by_side("all")
        scene.check_status(replay, 0, f"{name}: replay")


def cases(mpi):
    listed = {name: part(name) for name in PARTS[mpi]} | {"programs-of-others": others}
    return [Case("coarrays", mpi, name, function) for name, function in listed.items()]
