"""A Slurm of one node for the time of the tests, where none is configured: Debian's own daemons on free ports.

Nobody is authenticated (auth/none): only who runs the tests can run jobs, and only on the loopback network.
"""

import atexit
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

DAEMONS = ("slurmctld", "slurmd")
START = 20  # seconds
TASKS = 64  # may run at once, whatever the machine has

CONFIGURATION = """
ClusterName=reprise
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
KillWait=5
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={tasks} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def is_configured():
    return "SLURM_CONF" in os.environ or Path("/etc/slurm/slurm.conf").exists()


def find(daemon):
    return shutil.which(daemon) or shutil.which(daemon, path="/usr/sbin:/sbin")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def start():
    """Starts it, and says to all that is started later where it is. The reason why not, or None."""
    missing = [daemon for daemon in DAEMONS if not find(daemon)]
    if missing:
        return f"no Slurm is configured here, and {' and '.join(missing)} (Debian: slurm-wlm) cannot be started"
    directory = Path(tempfile.mkdtemp(prefix="rt-slurm-"))
    for name in ("state", "spool"):
        (directory / name).mkdir()
    conf = directory / "slurm.conf"
    conf.write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0], user=getpass.getuser(), dir=directory,
                                         ports=free_ports(2), tasks=TASKS))
    running = []
    for daemon in DAEMONS:
        with open(directory / f"{daemon}.log", "wb") as log:
            running.append(subprocess.Popen([find(daemon), "-D", "-f", conf], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True))
    atexit.register(stop, running, directory)
    os.environ["SLURM_CONF"] = str(conf)
    return wait_until_idle(running, directory)


def wait_until_idle(running, directory):
    until = time.monotonic() + START
    while time.monotonic() < until:
        for daemon, process in zip(DAEMONS, running):
            if process.poll() is not None:
                lines = (directory / f"{daemon}.log").read_text(errors="replace").strip().splitlines()
                return f"{daemon} does not run here: {(lines or ['?'])[-1]}"
        state = subprocess.run(["sinfo", "-h", "-o", "%t"], capture_output=True, text=True).stdout.split()
        if state == ["idle"]:
            return None
        time.sleep(0.2)
    return f"a Slurm of one node was not ready within {START} s"


def stop(running, directory):
    for process in reversed(running):
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    shutil.rmtree(directory, ignore_errors=True)
