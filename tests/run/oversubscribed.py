"""There are more ranks than processors, and most of them wait by spinning: whoever has something to do waits until they have used up
their time slices. Two remedies; benchmarks and tests that look at times use neither.

Slices of 0.1 ms instead of some 3 ms: others wait for less, and their orders vary more. Since Linux 6.12 a thread may choose, and what
it starts inherits it (sched_setattr); before, nothing changes.

Ranks of MPICH that wait let others run (tests/helpers/yield_when_idle.c). Open MPI is told to by a setting (harness.py). Some suites do
without, so that MPICH is tried as it is, too.
"""

import ctypes
import os
import platform
import struct
import subprocess
from pathlib import Path

SYSTEM_CALLS = {"x86_64": 314, "aarch64": 274}
SPINNING = {"families", "languages", "scale", "cli"}
SHORTEST = 100_000  # ns
YIELDS = Path(__file__).resolve().parents[1] / "helpers" / "yield_when_idle.c"


def shorten_slices():
    """For this thread, and for all threads and processes that it will start."""
    number = SYSTEM_CALLS.get(platform.machine())
    if number is None:
        return
    # size, policy, flags, nice, priority, runtime, deadline, period, two clamps
    attributes = struct.pack("IIQiIQQQII", 56, os.SCHED_OTHER, 0, os.getpriority(os.PRIO_PROCESS, 0), 0, SHORTEST, 0, 0, 0, 0)
    ctypes.CDLL(None).syscall(ctypes.c_long(number), ctypes.c_long(0), attributes, ctypes.c_long(0))  # if it is refused, all works as well


def library_that_yields(directory):
    """To be preloaded; none if it cannot be built, and then all works as well, but slowly."""
    library = directory / "yield_when_idle.so"
    done = subprocess.run(["cc", "-O2", "-Wall", "-shared", "-fPIC", YIELDS, "-o", library, "-ldl"], check=False)
    return library if done.returncode == 0 else None
