"""`reprise check --sweep`: a short one ends with a table, whatever the library does; what a deliberately faulty MPI (tests/flow) breaks is
named, with a command that repeats it; the programs of docs/library-bugs can be compiled.
"""

import json
import os
import subprocess
from pathlib import Path

import flow
from harness import Case, available

BUGS = Path(__file__).resolve().parents[2] / "docs" / "library-bugs"
FAULTS = {"lost-block": "gather,allgather,alltoall", "in-place": "gather,allgather,alltoall"}  # which neither library breaks alone
# An algorithm that the library lets one choose.
ALGORITHM = {"openmpi": "coll_tuned_allreduce_algorithm=3", "mpich": "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=recursive_doubling"}


def sweep(scene, *words, mpirun=None, env=None):
    mpi = scene.case.mpi
    return scene.run([scene.settings.reprise, "check", "--sweep", "--mpicc", f"mpicc.{mpi}", "--mpirun", mpirun or f"mpirun.{mpi}", "-o",
                      scene.dir / "out", *words], 200, env=env, cwd=scene.dir)


def short(scene):
    """Whatever is wrong with the library: it is told, and can be repeated."""
    result = sweep(scene, "--sizes", "1-2", "--cases", "8", "--settings", ALGORITHM[scene.case.mpi], "--json")
    found = json.loads(result.out)
    scene.check_status(result, 1 if found["findings"] else 0, "the status says whether there are findings")
    scene.check(found["cases"] >= 24 and found["intentions"] > 0, "8 cases each, and 8 more with the algorithm", result)
    scene.check(found["troubles"] == [] and found["not usable"] == [], "everything can be looked at", result)
    for finding in found["findings"]:
        scene.check((scene.dir / "out" / finding["reproducer"]).is_file(), f"{finding['reproducer']} is missing", result)
    scene.remark = f"{found['cases']} cases, {found['intentions']} intentions, {len(found['findings'])} mistakes of the library"


def launcher(scene, **settings):
    """Reprise does not pass on variables of such names, so a launcher of our own sets them in front of the program."""
    script = scene.dir / "launcher"
    words = " ".join(f"REPRISE_FAULT{name}={value}" for name, value in settings.items())
    script.write_text(f'#!/bin/sh\nshift; ranks=$1; shift\nexec mpirun.{scene.case.mpi} -n "$ranks" env {words} "$@"\n')
    script.chmod(0o755)
    return script


def fault(name, families):
    def test(scene):
        _, library = flow.built(scene)
        log = scene.dir / "fault"
        script = launcher(scene, **{"": name}, _RANK=1, _AT=0, _LOG=log)
        result = sweep(scene, "--sizes", "3", "--cases", "12", "--settings", "none", "--only", families, mpirun=script,
                       env={"LD_PRELOAD": str(library)})
        scene.check(log.exists(), "the fault was not applied", result)
        broken = log.read_text().split()[2].removesuffix("_c")
        scene.check_status(result, 1, broken)
        lines = result.out.splitlines()
        scene.check(lines and lines[0].split()[0] == "call", "there is no table", result)
        blamed = [line for line in lines[1:] if flow.same_call(broken, line.split()[0])]
        scene.check(blamed, f"{broken} is broken, and not named", result)
        repeat = next(word for word in blamed[0].split() if word.startswith("finding-"))
        scene.check((scene.dir / "out" / repeat).is_file(), f"{repeat} is missing", result)
        scene.remark = broken
    return test


def refused(scene):
    """One clean sentence for what cannot be done."""
    for words, sentence in ((["--mpicc", "no-such-mpicc"], "no-such-mpicc"), (["--sizes", "x"], "--sizes"), (["--", "true"], "no command")):
        result = scene.run([scene.settings.reprise, "check", "--sweep", *words], 60, cwd=scene.dir)
        scene.check(result.status not in (0, 1) and sentence in result.err, f"{words}", result)


def programs(scene):
    """Those that need MPI 4 say so. MPICH has no OpenSHMEM."""
    for source in sorted(BUGS.glob("*.c")):
        if "<shmem.h>" in source.read_text() and scene.case.mpi == "mpich":
            continue
        if "Needs MPI 4" in source.read_text() and scene.case.mpi == "openmpi":
            continue
        done = subprocess.run([f"mpicc.{scene.case.mpi}", "-Wall", "-Wextra", "-Werror", "-c", source, "-o", os.devnull],
                              capture_output=True, text=True)
        scene.check(done.returncode == 0, done.stderr)


def cases(mpi):
    if not available(mpi):
        return []
    return ([Case("sweep", mpi, "short", short), Case("sweep", mpi, "refused", refused), Case("sweep", mpi, "programs", programs)]
            + [Case("sweep", mpi, f"fault-{name}", fault(name, families)) for name, families in FAULTS.items()])
