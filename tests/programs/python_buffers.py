"""Buffers from any source: blocking, nonblocking, Waitany, Testsome. No pickling, so no matched probes."""

from array import array

from mpi4py import MPI

from python_support import Output, jitter

EACH = 8
comm = MPI.COMM_WORLD
out = Output(comm.rank)
others = comm.size - 1


def post(count):
    buffers = [array("i", [0]) for _ in range(count)]
    return buffers, [comm.Irecv([buffer, MPI.INT], source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG) for buffer in buffers]


if comm.rank == 0:
    status = MPI.Status()
    buffer = array("i", [0])
    for _ in range(EACH * others):
        comm.Recv([buffer, MPI.INT], source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        out.say("blocking", status.source, status.tag, buffer[0])
    for _ in range(EACH):
        buffers, requests = post(others)
        for _ in range(others):
            index = MPI.Request.Waitany(requests, status)
            out.say("any", index, status.source, buffers[index][0])
    failures = 0
    for _ in range(EACH):
        buffers, requests = post(others)
        left = others
        while left:
            statuses = []
            done = MPI.Request.Testsome(requests, statuses) or []
            failures += not done
            left -= len(done)
            for position, index in enumerate(done):
                out.say("some", failures, index, statuses[position].source, buffers[index][0])
else:
    for number in range(3 * EACH):
        jitter(0.002)
        comm.Send([array("i", [comm.rank * 1000 + number]), MPI.INT], dest=0, tag=number % 3)

out.finish(comm)
