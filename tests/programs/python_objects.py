"""Pickled objects from any source: mpi4py receives them by matched probes, or by a probe and a receive."""

from mpi4py import MPI

from python_support import Output, jitter

EACH = 8
comm = MPI.COMM_WORLD
out = Output(comm.rank)

if comm.rank == 0:
    status = MPI.Status()
    for _ in range(EACH * (comm.size - 1)):
        message = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        out.say("object from", status.source, "tag", status.tag, message)
    for _ in range(EACH * (comm.size - 1)):
        comm.probe(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        out.say("probed", status.source, comm.recv(source=status.source, tag=status.tag))
    polls = 0
    for _ in range(EACH * (comm.size - 1)):
        while not comm.iprobe(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status):
            polls += 1
        out.say("polled", polls, status.source, comm.recv(source=status.source, tag=status.tag))
else:
    for number in range(3 * EACH):
        jitter(0.002)
        comm.send({"rank": comm.rank, "number": number, "list": list(range(number))}, dest=0, tag=number % 3)

out.say("gathered", comm.allgather([comm.rank]))
out.finish(comm)
