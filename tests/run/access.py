"""Programs that see what others write by loading it, compiled with `reprise cc`: each rank alone gives what it gave then."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from families import differs
from harness import SOURCES, Case, Failure, Skip, mpi_environment

RANKS = 3
KINDS = ["spin", "steal", "shared", "race", "atomics", "copies", "vectors"]  # arguments of tests/programs/access.c
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
COMPILERS = ["gcc", "clang"]
LONG = 20  # from so many repetitions on, every level of optimisation is tried, and not one for each kind
WRAPPERS = {".c": ("cc", "mpicc", "CC"), ".cpp": ("c++", "mpicxx", "CXX"), ".f90": ("fc", "mpifort", "FC")}
BEHIND = {"mpicc": {"gcc": "gcc", "clang": "clang"}, "mpicxx": {"gcc": "g++", "clang": "clang++"}, "mpifort": {"gcc": "gfortran"}}


def wrapped(scene, source, compiler):
    """(the words of `reprise cc`, the environment that chooses the compiler behind the MPI's own wrapper)"""
    command, wrapper, variable = WRAPPERS[Path(source).suffix]
    behind = BEHIND[wrapper][compiler]
    if not shutil.which(behind):
        raise Skip(f"{behind} is not installed")
    prefix = "OMPI" if scene.case.mpi == "openmpi" else "MPICH"
    return [scene.settings.reprise, command, "--wrap", f"{wrapper}.{scene.case.mpi}"], {f"{prefix}_{variable}": behind}


def compiled(scene, source, compiler, level, name=None, more=()):
    words, env = wrapped(scene, source, compiler)
    target = scene.dir / (name or f"{Path(source).stem}{level}-{compiler}")
    with_support = [SOURCES / "fortran_support.f90", "-J", scene.dir] if source.endswith(".f90") else []
    standard = ["-std=c++20"] if source.endswith(".cpp") else []
    command = [*words, level, "-g", *standard, "-o", target, *with_support, SOURCES / source, *more]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ | env, cwd=scene.dir)
    if done.returncode != 0 or done.stderr.strip():
        raise Failure(f"$ {shlex.join(map(str, command))}\n{done.stderr}")
    return target


def launch(scene, program, *words, ranks=RANKS):
    launcher, *rest = scene.launch(ranks, program, *words)
    return [launcher, *(["--mca", "osc", "^rdma"] if scene.case.mpi == "openmpi" else []), *rest]


def each_alone(scene, command, ranks=RANKS, repeat=None):
    """All ranks side by side, and one of them alone."""
    for turn in range(repeat or scene.settings.repeat):
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, recorded = scene.record(command, words=("--data", "all", "--fidelity", "access"))
        scene.check_status(result, 0, "record")
        replay, outputs = scene.side_by_side("all")
        scene.check_status(replay, 0, "all ranks side by side")
        scene.check_same(recorded, outputs, "all ranks side by side", replay)
        rank = turn % ranks
        replay, outputs = scene.solo(rank)
        scene.check_status(replay, 0, f"rank {rank} alone")
        scene.check_same({f"out-{rank}.txt": recorded[f"out-{rank}.txt"]}, outputs, f"rank {rank} alone", replay)


def levels_for(scene, number):
    return LEVELS if scene.settings.repeat >= LONG else [LEVELS[number % len(LEVELS)]]


def kind(name, number, compiler):
    def function(scene):
        for level in levels_for(scene, number + (0 if compiler == "gcc" else 2)):
            command = launch(scene, compiled(scene, "access.c", compiler, level), name)
            differs(scene, command, RANKS)
            each_alone(scene, command)
        scene.remark = f"{compiler} {level}" if scene.settings.repeat < LONG else compiler
    return function


def language(source, compiler, level):
    def function(scene):
        for one in LEVELS if scene.settings.repeat >= LONG else [level]:
            command = launch(scene, compiled(scene, source, compiler, one))
            differs(scene, command, RANKS)
            each_alone(scene, command)
    return function


def some(scene):
    """The values of some ranks only; the others have no copy of their windows."""
    program = compiled(scene, "access.c", "gcc", "-O2")
    for ranks in ("1", "0,2"):
        for name in KINDS:
            shutil.rmtree(scene.dir / "trace", ignore_errors=True)
            result, recorded = scene.record(launch(scene, program, name), words=("--data", ranks, "--fidelity", "access"))
            scene.check_status(result, 0, f"{name}, record")
            replay, outputs = scene.side_by_side(ranks)
            scene.check_status(replay, 0, f"{name}, ranks {ranks}")
            wanted = {f"out-{rank}.txt": recorded[f"out-{rank}.txt"] for rank in ranks.split(",")}
            scene.check_same(wanted, outputs, f"{name}, ranks {ranks}", replay)


def cases(mpi):
    listed = {f"{name}-{compiler}": kind(name, number, compiler) for number, name in enumerate(KINDS) for compiler in COMPILERS}
    listed |= {f"c++-{compiler}": language("access_cxx.cpp", compiler, level) for compiler, level in (("gcc", "-O3"), ("clang", "-O1"))}
    listed |= {"fortran": language("access_fortran.f90", "gcc", "-O2"), "some-ranks": some}
    return [Case("access", mpi, name, function) for name, function in listed.items()]
