"""Short time slices for the ranks of the tests.

There are more ranks than processors, and most of them wait by spinning: whoever has something to do waits until the others have used up
theirs. With slices of 0.1 ms instead of some 3 ms they wait for less, and their orders vary more. Since Linux 6.12 a thread may
choose, and what it starts inherits it (sched_setattr); before, nothing changes. Benchmarks do not use this.
"""

import ctypes
import os
import platform
import struct

SYSTEM_CALLS = {"x86_64": 314, "aarch64": 274}
SHORTEST = 100_000  # ns


def shorten():
    """For this thread, and for all threads and processes that it will start."""
    number = SYSTEM_CALLS.get(platform.machine())
    if number is None:
        return
    # size, policy, flags, nice, priority, runtime, deadline, period, two clamps
    attributes = struct.pack("IIQiIQQQII", 56, os.SCHED_OTHER, 0, os.getpriority(os.PRIO_PROCESS, 0), 0, SHORTEST, 0, 0, 0, 0)
    ctypes.CDLL(None).syscall(ctypes.c_long(number), ctypes.c_long(0), attributes, ctypes.c_long(0))  # if it is refused, all works as well
