"""Under srun: ranks are children of Slurm's own daemon, into which nothing of ours is loaded.

Runs on the Slurm that is configured here, if it has room for 4 tasks at once, or on one of its own (slurm_cluster.py).
Open MPI needs Slurm's PMIx plugin, MPICH the one for PMI-2. --kill-on-bad-exit is what makes srun end the other tasks
when one fails; many sites have it set.
"""

import functools
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import divergence
import families
import faults
import slurm_cluster
from harness import Case, Skip

PMI = {"openmpi": "pmix", "mpich": "pmi2"}
RACES = ["recv_any", "waitany", "test_poll", "probes", "communicators"]
LOCK = threading.Lock()


@functools.lru_cache
def why_no_cluster():
    if not shutil.which("srun"):
        return "srun is not installed (Debian: slurm-client and slurm-wlm)"
    return None if slurm_cluster.is_configured() else slurm_cluster.start()


@functools.lru_cache
def why_not(mpi):
    """The reason why srun cannot be used here; None if it can."""
    if reason := why_no_cluster():
        return reason
    try:
        listed = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, timeout=20)
        if not re.search(rf"\b{PMI[mpi]}\b", listed.stdout + listed.stderr):
            return f"this Slurm has no {PMI[mpi]} plugin" if listed.returncode == 0 else "srun does not work here"
        tried = subprocess.run(["srun", "--immediate=10", "-n", "4", "true"], capture_output=True, text=True, timeout=30)
    except subprocess.TimeoutExpired:
        return "srun does not get an allocation at once"
    return None if tried.returncode == 0 else "srun does not work here: " + (tried.stderr.strip().splitlines() or ["?"])[0]


def under_srun(function):
    def run(scene):
        with LOCK:
            reason = why_not(scene.case.mpi)
        if reason:
            raise Skip(reason)
        scene.launcher = ["srun", f"--mpi={PMI[scene.case.mpi]}", "--kill-on-bad-exit=1"]
        function(scene)
    return run


def doctor(scene):
    command = scene.launch(3, scene.program("recv_any"))
    result = scene.run([scene.settings.reprise, "doctor", "--", *command])
    scene.check_status(result, 0, "doctor")
    scene.check("all 3 seen" in result.out, "doctor has not seen all ranks", result)


def press_ctrl_c(child):
    """The first one makes srun tell how its tasks are, the second within a second ends them."""
    for _ in range(2):
        os.killpg(child.pid, signal.SIGINT)
        time.sleep(0.3)


def ctrl_c(scene):
    command = scene.launch(4, scene.program("long_running"), "--messages", 5000000)
    child = scene.start([scene.settings.reprise, "record", "-o", scene.dir / "trace", "--", *command])
    going = faults.wait_until(lambda: faults.lines_reached(scene, 3), child)
    scene.check(going, "the program was faster than the signal")
    press_ctrl_c(child)
    result = scene.finish(child, 30)
    scene.check(result.status > 0, "record of an interrupted run says success", result)
    replay, _ = scene.replay()
    scene.check_status(replay, result.status, "replay of an interrupted run")
    scene.check(faults.ENDED in replay.err, "the replay does not say that the run was cut off", replay)


def cases(mpi):
    tests = [(name, families.family(name)) for name in RACES]
    tests += [(kind, faults.own_fault(kind)) for kind in ("segv", "abort", "mpi_abort", "exit")]
    tests += [(f"{victim}-{number.name.lower()}", faults.outside_fault(victim, number, [faults.ENDED]))
              for victim, number in (("rank", signal.SIGKILL), ("mpirun", signal.SIGKILL), ("mpirun", signal.SIGTERM))]
    tests += [(f"diverges-{name}", divergence.other_word_apart(name)) for name in divergence.PROMPT]
    tests += [("doctor", doctor), ("names-the-crash", faults.names_the_crash), ("ctrl-c", ctrl_c),
              ("interrupted-replay", divergence.interrupted(signal.SIGINT, press_ctrl_c))]
    return [Case("slurm", mpi, name, under_srun(function), faults=True) for name, function in tests]
