"""The brute-force model of message passing: every run of a program of language.py, one small step at a time.

A message that was sent arrives some time later. Between two ranks, on one communicator, messages arrive in the order in which
they were sent; otherwise in any order. That is all the nondeterminism of the network:

  - A message that arrives is taken by the earliest pending receive of that rank that accepts it, or it stays there.
  - A receive that is posted takes at once a message that is there and fits, if there is one: of each source the earliest, of
    several sources any. (Libraries look at sources in an order of their own, so that a wildcard receive after a probe need
    not get the message that the probe has shown.)
  - A probe shows what a receive could take. One that does not wait says "nothing" only if nothing is there.
  - A request whose message was matched may be seen complete from then on; a test may say no nevertheless.

Sends: buffered ones complete at once, synchronous ones when they are matched. What a standard send does is a matter of
`buffering`: "infinite" (like buffered), "none" (like synchronous), or "mixed", each one as it likes.

The outcome of a run is its match relation: what each receive took, what each probe saw, what each completion reported, per
rank in the order of its statements; and which ranks were left blocked, where. Two runs with equal outcomes are the same.

This is written apart from the explorer, which is compared with it, and for clarity, not for speed.
"""

from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Tuple

from language import (ANY, Bcast, Barrier, Cancel, If, Probe, Recv, Send, Test, Wait, Waitany, Waitsome)

BUFFERINGS = ("none", "infinite", "mixed")


@dataclass(frozen=True)
class Message:
    """A send. Its name is (source, which send of that rank); it stays here until the end of the run."""

    source: int
    number: int
    to: int
    tag: int
    comm: int
    synchronous: bool
    state: str = "sent"  # arrived, matched

    @property
    def name(self):
        return (self.source, self.number)


@dataclass(frozen=True)
class Receive:
    """A posted receive of one rank."""

    number: int  # in the order of posting
    source: int
    tag: int
    comm: int
    took: Tuple = ()  # the name of a message; ("cancelled",)

    def accepts(self, message):
        return (self.comm == message.comm and self.source in (ANY, message.source) and self.tag in (ANY, message.tag))


@dataclass(frozen=True)
class Rank:
    todo: Tuple  # statements
    variables: Tuple = ()  # (name, value), sorted
    requests: Tuple = ()  # (name, ("send", number) or ("receive", number) or None if complete), sorted
    receives: Tuple = ()
    sends: int = 0
    collectives: Tuple = (0, 0)  # how many it has entered, per communicator
    seen: Tuple = ()  # what its statements observed
    inside: Tuple = ()  # ("send", number), ("receive", number), ("collective", comm, number): the blocking call it is in

    def value(self, name):
        return dict(self.variables).get(name)

    def request(self, name):
        return dict(self.requests).get(name)

    def with_variable(self, name, value):
        if name is None:
            return self
        return replace(self, variables=tuple(sorted({**dict(self.variables), name: value}.items())))

    def with_request(self, name, what):
        return replace(self, requests=tuple(sorted({**dict(self.requests), name: what}.items())))

    def saw(self, what):
        return replace(self, seen=self.seen + (what,))

    def step(self):
        return replace(self, todo=self.todo[1:], inside=())


@dataclass(frozen=True)
class State:
    ranks: Tuple
    messages: Tuple = ()  # sorted by name
    entered: Tuple = ()  # (comm, number, rank) of those who have come to a collective
    kinds: Tuple = ()  # (comm, number, kind)

    def with_rank(self, r, rank):
        return replace(self, ranks=self.ranks[:r] + (rank,) + self.ranks[r + 1:])

    def with_message(self, message):
        others = [m for m in self.messages if m.name != message.name]
        return replace(self, messages=tuple(sorted([*others, message], key=lambda m: m.name)))

    def message(self, name):
        return next(m for m in self.messages if m.name == name)


class MismatchedCollectives(Exception):
    """The members of a communicator do not agree on what they do."""


class Model:
    def __init__(self, program, buffering):
        if buffering not in BUFFERINGS:
            raise ValueError(buffering)
        self.program, self.buffering = program, buffering

    # -- what may happen in a state ---------------------------------------------------------------------------------

    def successors(self, state):
        for message in state.messages:
            if message.state == "sent" and self.is_next_to_arrive(state, message):
                yield self.arrive(state, message)
        for r, rank in enumerate(state.ranks):
            if rank.todo:
                yield from self.run(state, r, rank)

    @staticmethod
    def is_next_to_arrive(state, message):
        return not any(m.state == "sent" and m.source == message.source and m.to == message.to and
                       m.comm == message.comm and m.number < message.number for m in state.messages)

    @staticmethod
    def arrive(state, message):
        rank = state.ranks[message.to]
        for receive in rank.receives:  # in the order of posting
            if not receive.took and receive.accepts(message):
                return match(state, message.to, receive, message)
        return state.with_message(replace(message, state="arrived"))

    def run(self, state, r, rank):
        if rank.inside:
            yield from self.leave(state, r, rank)
            return
        statement = rank.todo[0]
        yield from getattr(self, "do_" + type(statement).__name__.lower())(state, r, rank, statement)

    def leave(self, state, r, rank):
        """Goes on after a blocking call, if that can return."""
        statement = rank.todo[0]
        kind = rank.inside[0]
        if kind == "send" and state.message((r, rank.inside[1])).state == "matched":
            yield state.with_rank(r, rank.step())
        elif kind == "receive" and rank.receives[rank.inside[1]].took:
            took = rank.receives[rank.inside[1]].took
            yield state.with_rank(r, rank.saw(took).with_variable(statement.into, took[0]).step())
        elif kind == "collective" and self.may_leave(state, statement, rank.inside[1], rank.inside[2], r):
            yield state.with_rank(r, rank.step())

    # -- sends --------------------------------------------------------------------------------------------------------

    def do_send(self, state, r, rank, statement):
        kinds = {"synchronous": (True,), "buffered": (False,)}.get(
            statement.mode, {"none": (True,), "infinite": (False,), "mixed": (True, False)}[self.buffering])
        for synchronous in kinds:
            message = Message(r, rank.sends, statement.to, statement.tag, statement.comm, synchronous)
            after = replace(rank, sends=rank.sends + 1)
            if statement.request is not None:
                after = after.with_request(statement.request, ("send", message.number)).step()
            elif synchronous:
                after = replace(after, inside=("send", message.number))
            else:
                after = after.step()
            yield state.with_rank(r, after).with_message(message)

    # -- receives and probes --------------------------------------------------------------------------------------------

    @staticmethod
    def candidates(state, r, wanted):
        """Of each source the earliest message that is there and fits."""
        found = {}
        for message in state.messages:
            if message.to == r and message.state == "arrived" and wanted.accepts(message):
                found.setdefault(message.source, message)
        return list(found.values())

    def do_recv(self, state, r, rank, statement):
        receive = Receive(len(rank.receives), statement.source, statement.tag, statement.comm)
        after = replace(rank, receives=rank.receives + (receive,))
        if statement.request is not None:
            after = after.with_request(statement.request, ("receive", receive.number)).step()
        else:
            after = replace(after, inside=("receive", receive.number))
        posted = state.with_rank(r, after)
        there = self.candidates(posted, r, receive)
        if not there:
            yield posted
        for message in there:
            yield match(posted, r, receive, message)

    def do_probe(self, state, r, rank, statement):
        wanted = Receive(-1, statement.source, statement.tag, statement.comm)
        there = self.candidates(state, r, wanted)
        for message in there:
            yield state.with_rank(r, rank.saw(message.name).with_variable(statement.into, message.source).step())
        if not there and not statement.waits:
            yield state.with_rank(r, rank.saw(("nothing",)).with_variable(statement.into, None).step())

    # -- completion -----------------------------------------------------------------------------------------------------

    def is_complete(self, state, r, rank, what):
        if what is None:
            return True
        kind, number = what
        if kind == "receive":
            return bool(rank.receives[number].took)
        message = state.message((r, number))
        return not message.synchronous or message.state == "matched"

    @staticmethod
    def outcome(rank, what):
        if what is None:
            return ("inactive",)
        return rank.receives[what[1]].took if what[0] == "receive" else ("sent",)

    def complete(self, rank, name):
        """The rank after it has seen this request complete, and what it has seen."""
        outcome = self.outcome(rank, rank.request(name))
        return rank.with_request(name, None), outcome

    def do_wait(self, state, r, rank, statement):
        if not self.is_complete(state, r, rank, rank.request(statement.request)):
            return
        after, outcome = self.complete(rank, statement.request)
        source = outcome[0] if isinstance(outcome[0], int) else None
        yield state.with_rank(r, after.saw(outcome).with_variable(statement.into, source).step())

    def ready(self, state, r, rank, names):
        """Positions of active requests that may be reported; None if there is no active request."""
        active = [i for i, name in enumerate(names) if rank.request(name) is not None]
        if not active:
            return None
        return [i for i in active if self.is_complete(state, r, rank, rank.request(names[i]))]

    def do_waitany(self, state, r, rank, statement):
        ready = self.ready(state, r, rank, statement.requests)
        if ready is None:
            yield state.with_rank(r, rank.saw(("none active",)).with_variable(statement.into, -1).step())
            return
        for i in ready:
            after, outcome = self.complete(rank, statement.requests[i])
            yield state.with_rank(r, after.saw((i, outcome)).with_variable(statement.into, i).step())

    def do_waitsome(self, state, r, rank, statement):
        ready = self.ready(state, r, rank, statement.requests)
        if ready is None:
            yield state.with_rank(r, rank.saw(("none active",)).with_variable(statement.into, -1).step())
            return
        for some in chain.from_iterable(combinations(ready, count) for count in range(1, len(ready) + 1)):
            after, seen = rank, []
            for i in some:
                after, outcome = self.complete(after, statement.requests[i])
                seen.append((i, outcome))
            bits = sum(1 << i for i in some)
            yield state.with_rank(r, after.saw(tuple(seen)).with_variable(statement.into, bits).step())

    def do_test(self, state, r, rank, statement):
        what = rank.request(statement.request)
        if what is not None:
            yield state.with_rank(r, rank.saw(("not yet",)).with_variable(statement.into, 0).step())
        if self.is_complete(state, r, rank, what):
            after, outcome = self.complete(rank, statement.request)
            yield state.with_rank(r, after.saw(("complete", outcome)).with_variable(statement.into, 1).step())

    def do_cancel(self, state, r, rank, statement):
        what = rank.request(statement.request)
        if what is None or what[0] != "receive":
            raise ValueError("only receives are cancelled here")
        receive = rank.receives[what[1]]
        if not receive.took:
            rank = with_receive(rank, replace(receive, took=("cancelled",)))
        yield state.with_rank(r, rank.step())

    # -- collectives ------------------------------------------------------------------------------------------------------

    def enter(self, state, r, rank, statement):
        comm = statement.comm
        number = rank.collectives[comm]
        kind = ("barrier",) if isinstance(statement, Barrier) else ("bcast", statement.root)
        known = {(c, n): k for c, n, k in state.kinds}
        if known.setdefault((comm, number), kind) != kind:
            raise MismatchedCollectives(f"communicator {comm}: {known[comm, number]} and {kind}")
        counts = tuple(n + (c == comm) for c, n in enumerate(rank.collectives))
        after = replace(rank, collectives=counts, inside=("collective", comm, number))
        yield replace(state.with_rank(r, after), entered=tuple(sorted({*state.entered, (comm, number, r)})),
                      kinds=tuple(sorted((c, n, k) for (c, n), k in known.items())))

    do_barrier = do_bcast = enter

    def may_leave(self, state, statement, comm, number, r):
        there = {rank for c, n, rank in state.entered if (c, n) == (comm, number)}
        if len(there) == len(state.ranks):
            return True
        # Where sends are buffered, the root has nothing to wait for, and the others only for the root.
        return isinstance(statement, Bcast) and self.buffering != "none" and statement.root in there

    def do_if(self, state, r, rank, statement):
        chosen = statement.then if rank.value(statement.variable) == statement.value else statement.otherwise
        yield state.with_rank(r, replace(rank, todo=tuple(chosen) + rank.todo[1:]))

    # -- all runs -----------------------------------------------------------------------------------------------------------

    def outcomes(self, most_states=None):
        """The set of outcomes. Each is (per rank what it saw, per rank what its receives took, where blocked ranks are)."""
        first = State(tuple(Rank(tuple(statements)) for statements in self.program))
        known, waiting, found = {first}, [first], set()
        while waiting:
            state = waiting.pop()
            final = True
            for following in self.successors(state):
                final = False
                if following not in known:
                    known.add(following)
                    waiting.append(following)
            if most_states is not None and len(known) > most_states:
                return None
            if final:
                found.add(self.outcome_of(state))
        return found

    @staticmethod
    def outcome_of(state):
        """What cannot move any more: all have ended, or some are blocked."""
        blocked = tuple((r, len(rank.todo), type(rank.todo[0]).__name__)
                        for r, rank in enumerate(state.ranks) if rank.todo)
        return (tuple(rank.seen for rank in state.ranks),
                tuple(tuple(receive.took for receive in rank.receives) for rank in state.ranks), blocked)


def with_receive(rank, receive):
    return replace(rank, receives=rank.receives[:receive.number] + (receive,) + rank.receives[receive.number + 1:])


def match(state, r, receive, message):
    rank = with_receive(state.ranks[r], replace(receive, took=message.name))
    return state.with_rank(r, rank).with_message(replace(message, state="matched"))


def outcomes(program, buffering="infinite", most_states=None):
    return Model(program, buffering).outcomes(most_states)


def is_deadlock(outcome):
    return bool(outcome[2])
