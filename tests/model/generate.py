"""Random programs of language.py, small enough for the model. Many of them can deadlock; that is what they are for.

    tests/model/generate.py --seed 7            prints the program
    tests/model/generate.py --seed 7 --c        the same as a C program with MPI calls
"""

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from language import (ANY, Bcast, Barrier, Cancel, If, Probe, Recv, Send, Test, Wait, Waitany, Waitsome)
from to_c import c_program


class Writer:
    """One rank's statements."""

    def __init__(self, rng, rank, ranks):
        self.rng, self.rank, self.ranks = rng, rank, ranks
        self.count = 0
        self.statements = []

    def peer(self):
        return self.rng.choice([r for r in range(self.ranks) if r != self.rank])

    def name(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def tag(self):
        return self.rng.choice([0, 0, 1])

    def wanted(self):
        """Source, tag and communicator of a receive or a probe."""
        return dict(source=self.rng.choice([ANY, ANY, self.peer()]), tag=self.rng.choice([ANY, ANY, 0, 1]), comm=self.comm())

    def comm(self):
        return self.rng.choice([0, 0, 0, 1])


def generate(seed):
    """A list of ranks. Every third program is made of chains."""
    rng = random.Random(f"tiny {seed}")
    return chains(rng) if seed % 3 == 0 else scattered(rng)


def chains(rng):
    """Messages one after the other, so that one releases the next; receives may be posted long before, and wait for other
    tags meanwhile."""
    ranks = rng.choice([3, 3, 4])
    writers = [Writer(rng, r, ranks) for r in range(ranks)]
    pending = [[] for _ in range(ranks)]
    sender = rng.randrange(ranks)
    for _ in range(rng.randint(3, 5)):
        receiver = 0 if sender != 0 and rng.random() < 0.6 else writers[sender].peer()
        tag = rng.choice([0, 1])
        writers[sender].statements.append(Send(receiver, tag, 0, rng.choice(["standard"] * 3 + ["buffered"])))
        writer = writers[receiver]
        source, wanted = rng.choice([ANY, ANY, ANY, sender]), rng.choice([ANY, tag, tag, tag])
        if rng.random() < 0.5:
            request = writer.name("r")
            early = rng.randint(0, len(writer.statements))
            writer.statements.insert(early, Recv(source, wanted, 0, request))
            if rng.random() < 0.5:
                writer.statements.append(Wait(request))
            else:
                pending[receiver].append(request)
        else:
            writer.statements.append(Recv(source, wanted, 0, None, writer.name("v")))
        sender = rng.choice([receiver, rng.randrange(ranks)])
    for writer, requests in zip(writers, pending):
        complete(writer, requests)
    return [tuple(writer.statements) for writer in writers]


def scattered(rng):
    """First it is drawn who sends to whom, so that most receives have something to wait for."""
    ranks = rng.choice([2, 3, 3, 3, 4])
    writers = [Writer(rng, r, ranks) for r in range(ranks)]
    todo = [[] for _ in range(ranks)]
    for _ in range(rng.randint(2, 5 if ranks < 4 else 4)):
        sender = rng.randrange(ranks)
        receiver = writers[sender].peer()
        comm, tag = writers[sender].comm(), writers[sender].tag()
        todo[sender].append(("send", receiver, tag, comm))
        todo[receiver].append(("receive", sender, tag, comm))
    for r, writer in enumerate(writers):
        rng.shuffle(todo[r])
        pending = []
        for kind, peer, tag, comm in todo[r]:
            if kind == "send":
                mode = rng.choice(["standard"] * 4 + ["synchronous", "buffered"])
                request = writer.name("s") if rng.random() < 0.3 else None
                writer.statements.append(Send(peer, tag, comm, mode, request))
                pending += [request] if request else []
                continue
            receive(writer, pending, rng.choice([ANY, ANY, peer]), rng.choice([ANY, ANY, tag]), comm)
        complete(writer, pending)
    if rng.random() < 0.3:
        collective = rng.choice([Barrier(0), Barrier(1), Bcast(rng.randrange(ranks), 0)])
        for writer in writers:
            writer.statements.insert(rng.randint(0, len(writer.statements)), collective)
    return [tuple(writer.statements) for writer in writers]


def receive(writer, pending, source, tag, comm):
    rng = writer.rng
    if rng.random() < 0.15:
        writer.statements.append(Probe(source, tag, comm, writer.name("p"), rng.random() < 0.5))
    if rng.random() < 0.45:
        request = writer.name("r")
        writer.statements.append(Recv(source, tag, comm, request))
        tested = rng.random() < 0.15
        if tested:
            writer.statements.append(Test(request, writer.name("t")))
        if rng.random() < 0.1 and not tested:  # what is complete cannot be cancelled
            writer.statements.append(Cancel(request))
            writer.statements.append(Wait(request))
        else:
            pending.append(request)
        return
    variable = writer.name("v")
    writer.statements.append(Recv(source, tag, comm, None, variable))
    if rng.random() < 0.2:
        other = Send(writer.peer(), 1, 0, "buffered")
        writer.statements.append(If(variable, writer.peer(), (other,), ()))


def complete(writer, pending):
    rng = writer.rng
    while pending:
        kind = rng.random()
        if len(pending) > 1 and kind < 0.3:
            writer.statements.append(Waitany(tuple(pending), writer.name("i")))
            for request in pending:
                writer.statements.append(Wait(request))
            return
        if len(pending) > 1 and kind < 0.5:
            writer.statements.append(Waitsome(tuple(pending), writer.name("i")))
            for request in pending:
                writer.statements.append(Wait(request))
            return
        writer.statements.append(Wait(pending.pop(rng.randrange(len(pending)))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--c", action="store_true", help="as a C program")
    args = parser.parse_args()
    program = generate(args.seed)
    if args.c:
        sys.stdout.write(c_program(program))
        return
    for rank, statements in enumerate(program):
        print(f"rank {rank}:")
        for statement in statements:
            print(f"  {statement}")


if __name__ == "__main__":
    main()
