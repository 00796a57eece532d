"""A tiny language of message passing: what the brute-force model (model.py) runs, and what can be written out as MPI calls.

A program is a list of ranks, each a list of statements. There are no loops, so that every run is finite. Two communicators,
0 and 1, both of all ranks.
"""

from dataclasses import dataclass
from typing import Optional, Tuple

ANY = -1  # source or tag


@dataclass(frozen=True)
class Send:
    to: int
    tag: int = 0
    comm: int = 0
    mode: str = "standard"  # synchronous, buffered
    request: Optional[str] = None  # None: blocking


@dataclass(frozen=True)
class Recv:
    source: int = ANY
    tag: int = ANY
    comm: int = 0
    request: Optional[str] = None  # None: blocking
    into: Optional[str] = None  # a variable that gets the source, for blocking ones


@dataclass(frozen=True)
class Probe:
    """Shows a message. It is `into` its source or, if it does not wait, None for no message."""

    source: int = ANY
    tag: int = ANY
    comm: int = 0
    into: Optional[str] = None
    waits: bool = True


@dataclass(frozen=True)
class Wait:
    request: str
    into: Optional[str] = None  # the source; None if it was cancelled, or a send


@dataclass(frozen=True)
class Waitany:
    requests: Tuple[str, ...]
    into: Optional[str] = None  # the index


@dataclass(frozen=True)
class Waitsome:
    requests: Tuple[str, ...]
    into: Optional[str] = None  # the set of indices, as bits


@dataclass(frozen=True)
class Test:
    request: str
    into: Optional[str] = None  # 1 or 0


@dataclass(frozen=True)
class Cancel:
    request: str  # of a receive


@dataclass(frozen=True)
class Barrier:
    comm: int = 0


@dataclass(frozen=True)
class Bcast:
    root: int
    comm: int = 0


@dataclass(frozen=True)
class If:
    """Depends on a variable that a receive, a probe or a completion has set."""

    variable: str
    value: Optional[int]
    then: tuple
    otherwise: tuple = ()
