"""mpi4py.futures without spawning: rank 0 hands tasks to the others, results come back as they are ready."""

import concurrent.futures
import sys

from mpi4py import MPI
from mpi4py.futures import MPICommExecutor, MPIPoolExecutor

from python_support import Output, jitter

TASKS = 20


def work(number):
    jitter(0.005)
    return MPI.COMM_WORLD.rank, number * number


def hand_out(executor, out):
    tasks = {executor.submit(work, number): number for number in range(TASKS)}
    for task in concurrent.futures.as_completed(tasks):
        out.say("task", tasks[task], "done by", *task.result())


def main():
    comm = MPI.COMM_WORLD
    out = Output(comm.rank)
    if "pool" in sys.argv[2:]:  # under python3 -m mpi4py.futures, where only rank 0 comes here
        with MPIPoolExecutor() as executor:
            hand_out(executor, out)
        out.say("done")
        return
    with MPICommExecutor(comm, root=0) as executor:
        if executor is not None:
            hand_out(executor, out)
    out.finish(comm)


if __name__ == "__main__":
    main()
