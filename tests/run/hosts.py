"""Several nodes: two network namespaces with host names of their own, joined by a cable. The disk is shared.

mpirun starts its helpers on the other host through a script in place of ssh, which hands no environment on, as ssh does
not. Rank 0 is on the host where the command runs, all others are on the other one. Those that diverge are started by a
script that calls mpirun.
"""

import os
import shutil
import signal
import subprocess

import divergence
import families
import faults
from harness import Case, Skip

RACES = ["recv_any", "waitany", "test_poll", "probes", "communicators"]
TOOLS = ("ip", "unshare", "mount", "hostname")
NETWORK = "10.213.{}"  # + number of the case, so that several can run at once

ENTER = """#!/bin/sh
# enter HOST COMMAND...: runs a command on one of the hosts.
host=$1; shift
exec ip netns exec "$host" unshare --uts --mount sh -c '
  hostname "$0"; mount --bind "{dir}/hosts" /etc/hosts; exec "$@"' "$host" "$@"
"""

AGENT = """#!/bin/sh
# agent [OPTIONS] HOST COMMAND: what ssh would do.
while case $1 in -*) true ;; *) false ;; esac; do shift; done
host=$1; shift
exec env -i HOME="$HOME" PATH="$PATH" TEST_CASE_TOKEN="$TEST_CASE_TOKEN" "{dir}/enter" "$host" sh -c "$*"
"""


def why_not():
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    return f"not installed: {' '.join(missing)}" if missing else None


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip(f"cannot make two hosts here: ip {' '.join(words)}: {done.stderr.strip()}")


class Hosts:
    def __init__(self, scene):
        self.scene = scene
        self.names = [f"{letter}{scene.token[:8]}" for letter in "ab"]
        self.made = []

    def __enter__(self):
        scene, (here, there) = self.scene, self.names
        network = NETWORK.format(int(scene.token[:2], 16))
        try:
            for name in self.names:
                ip("netns", "add", name)
                self.made.append(name)
            ip("link", "add", "cable", "netns", here, "type", "veth", "peer", "name", "cable", "netns", there)
            for number, name in enumerate(self.names, 1):
                ip("-n", name, "addr", "add", f"{network}.{number}/24", "dev", "cable")
                ip("-n", name, "link", "set", "lo", "up")
                ip("-n", name, "link", "set", "cable", "up")
        except Skip:
            self.remove()
            raise
        (scene.dir / "hosts").write_text(f"127.0.0.1 localhost\n{network}.1 {here}\n{network}.2 {there}\n")
        for name, text in (("enter", ENTER), ("agent", AGENT)):
            path = scene.dir / name
            path.write_text(text.replace("{dir}", str(scene.dir)))
            path.chmod(0o755)
        scene.prefix = [str(scene.dir / "enter"), here]
        agent, where = str(scene.dir / "agent"), f"{here}:1,{there}:3"
        scene.launcher = {"openmpi": ["mpirun.openmpi", "--mca", "plm_rsh_agent", agent, "--host", where],
                          "mpich": ["mpirun.mpich", "-launcher-exec", agent, "-hosts", where]}[scene.case.mpi]
        return self

    def __exit__(self, *_):
        self.scene.end_processes()
        self.remove()

    def remove(self):
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], check=True)


def on_two_hosts(function):
    def run(scene):
        if reason := why_not():
            raise Skip(reason)
        with Hosts(scene):
            function(scene)
    return run


def doctor(scene):
    result = scene.run([scene.settings.reprise, "doctor", "--", *scene.launch(4, scene.program("recv_any"))])
    scene.check_status(result, 0, "doctor")
    for name in ("all 4 seen", *(f"on {name}" for name in hosts_of(scene))):
        scene.check(name in result.out, f"doctor does not say {name!r}", result)


def hosts_of(scene):
    return [line.split()[1] for line in (scene.dir / "hosts").read_text().splitlines()[1:]]


def elsewhere(scene):
    """What was recorded on one host is replayed on two, and the other way round."""
    program = scene.program("recv_any")
    spread = scene.launch(4, program)
    scene.launcher = None
    together = scene.launch(4, program)
    for recorded_as, replayed_as, name in ((together, spread, "spread"), (spread, together, "together")):
        result, recorded = scene.record(recorded_as, scene.dir / name)
        scene.check_status(result, 0, f"record, {name}")
        scene.clear()
        replay = scene.run([scene.settings.reprise, "replay", "--yes", scene.dir / name, "--", *replayed_as])
        scene.check_status(replay, 0, f"replay, {name}")
        scene.check_same(recorded, scene.outputs(), f"replay, {name}", replay)


def cases(mpi):
    tests = [(name, families.family(name)) for name in RACES]
    # MPICH's mpiexec does not end a job of several hosts when a rank exits without MPI_Finalize.
    kinds = ("segv", "abort", "mpi_abort", "exit") if mpi == "openmpi" else ("segv", "abort", "mpi_abort")
    tests += [(kind, faults.own_fault(kind)) for kind in kinds]
    tests += [(f"{victim}-{number.name.lower()}", faults.outside_fault(victim, number, [faults.ENDED]))
              for victim, number in (("rank", signal.SIGKILL), ("mpirun", signal.SIGKILL), ("mpirun", signal.SIGTERM))]
    tests += [(f"diverges-{name}", divergence.other_word_apart(name)) for name in divergence.PROMPT]
    tests += [("doctor", doctor), ("names-the-crash", faults.names_the_crash), ("elsewhere", elsewhere),
              ("interrupted-replay", divergence.interrupted(signal.SIGTERM))]
    return [Case("hosts", mpi, name, on_two_hosts(function), faults=True) for name, function in tests]
