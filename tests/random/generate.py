#!/usr/bin/env python3
"""Writes a random MPI program that cannot deadlock and whose outcome depends on the order of its messages.

    tests/random/generate.py --seed 7 > program.c
    tests/random/generate.py --seed 7 --threads > program.c
    tests/random/generate.py --seed 7 --windows > program.c
    tests/random/generate.py --seed 7 --ranks 4 --without cancel,persistent > program.c
    mpicc -I tests/random -I tests/programs program.c && mpirun -n RANKS ./a.out DIR

The first line of the program names the number of ranks that it is for; --show-ranks prints it. Every rank writes a line
per decision to DIR/out-RANK.txt; what it sends depends on everything that it has seen, so that one message in the
wrong place changes what everybody prints from then on.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import collectives
import communicators
import phases
import phases_more
import thread_phases
import window_phases
from program import FAMILIES, Program

# weight, families, function, communicators on which it works
PHASES = [
    (10, (), phases.funnel, "any"),
    (3, ("unobserved",), phases.late, "any"),
    (3, ("overlap",), phases.overlap, "intra"),
    (4, (), phases.master_worker, "intra"),
    (4, (), phases.tokens, "intra"),
    (3, (), phases_more.ring, "intra"),
    (2, ("ready",), phases_more.ready, "intra"),
    (4, ("cancel",), phases_more.cancelled, "intra"),
    (3, ("nonblocking_collectives", "test"), phases_more.consensus, "intra"),
    (1, ("errors",), phases_more.errors, "intra"),
    (1, ("partitioned",), phases_more.partitioned, "intra"),
    (1, ("grequest",), phases_more.grequest, "intra"),
    (1, ("proc_null",), phases_more.nobody, "any"),
    (2, ("wtime",), phases_more.clock, "any"),
    (4, ("collectives",), collectives.blocking, "any"),
    (4, ("nonblocking_collectives",), collectives.nonblocking, "any"),
    (2, ("persistent_collectives",), collectives.persistent, "intra"),
    (1, ("callbacks", "wtime"), collectives.callbacks, "intra"),
]
# Either of these will do.
NEEDS_ONE = {phases_more.ring: ("sendrecv", "isendrecv"), phases_more.consensus: ("iprobe", "improbe")}


def phase(program, number):
    """Adds one phase: its functions, and its calls at the end of main or, for its later parts, further on."""
    program.fork("phase", number)
    make, kind = program.choose([
        (weight, families, (make, kind)) for weight, families, make, kind in PHASES
        if not NEEDS_ONE.get(make) or any(program.allowed([f]) for f in NEEDS_ONE[make])])
    comms = [comm for comm in program.comms if kind == "any" or not comm.inter]
    comm = program.random.choice(comms)
    if comm.inter:
        program.use("intercomm")
    bodies, comment = make(program, comm)
    bodies = [bodies] if isinstance(bodies, str) else bodies
    calls = []
    for body in bodies:
        name = program.name("phase")
        program.function(f"static void {name}(MPI_Comm comm)", body, comment)
        calls.append(phases.call(comm, name))
    return calls


def generate(seed, ranks=None, without=(), with_threads=False, with_windows=False):
    """The Program, complete. with_threads: with phases in which every rank has threads, and fewer of the others; with_windows:
    the same with one-sided communication."""
    program = Program(seed, ranks, without)
    program.has_windows = with_windows
    if with_threads:
        program.thread_level = program.fork("thread level").choice(thread_phases.LEVELS)
    communicators.make_all(program)
    count = program.fork("length").randint(*((1, 3) if with_threads or with_windows else (4, 9)))
    pending = {}
    for number in range(count):
        if with_threads:
            intra = [comm for comm in program.comms if not comm.inter]
            program.statements.append(thread_phases.phase(program, program.fork("threads on", number).choice(intra)))
        if with_windows:
            intra = [comm for comm in program.comms if not comm.inter]
            program.statements.append(window_phases.phase(program, program.fork("windows on", number).choice(intra)))
        calls = phase(program, number)
        program.statements.append(calls[0])
        place = number
        for later in calls[1:]:
            place = min(count - 1, place + program.random.randint(0, 2))
            pending.setdefault(place, []).append(later)
        # The parts of a phase keep their order: a part is due now or later, never before the one that it follows.
        program.statements += pending.pop(number, [])
    communicators.free_all(program)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--ranks", type=int, choices=range(2, 9), metavar="2..8", help="drawn if it is not given")
    parser.add_argument("--without", default="", metavar="FAMILY,...", help=f"leave out: {', '.join(FAMILIES)}")
    parser.add_argument("--threads", action="store_true", help="with threads inside the ranks")
    parser.add_argument("--windows", action="store_true", help="with one-sided communication")
    parser.add_argument("--show-ranks", action="store_true", help="print only the number of ranks")
    args = parser.parse_args()
    try:
        program = generate(args.seed, args.ranks, [word for word in args.without.split(",") if word], args.threads, args.windows)
    except ValueError as error:
        parser.error(str(error))
    sys.stdout.write(f"{program.ranks}\n" if args.show_ranks else program.text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
