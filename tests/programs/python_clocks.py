"""What a Python program takes from the system: the order of sets (its hash seed), random numbers, clocks."""

import os
import random
import sys
import time
import uuid

started = time.time()
words = list({"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"})
early = (started, words, random.random(), os.urandom(6).hex(), os.getpid(), str(uuid.uuid4()))

from mpi4py import MPI  # noqa: E402  (what comes before it is the point)

world = MPI.COMM_WORLD
with open(f"{sys.argv[1]}/out-{world.rank}.txt", "w") as out:
    print("early", *early, file=out)
    for number in range(5):
        got = world.sendrecv({"from": world.rank, "number": number}, dest=world.rank, source=world.rank)
        print(got, hash(str(number)), random.randrange(10**9), random.SystemRandom().random(), time.monotonic_ns(),
              time.perf_counter(), time.process_time(), time.strftime("%H:%M:%S"), file=out)
        time.sleep(0.002)
    print(world.allgather(random.random()), set(words), file=out)
