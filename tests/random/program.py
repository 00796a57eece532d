"""A random program while it is put together: functions, the body of main, communicators, tags, families in use."""

import random
import textwrap

FAMILIES = {
    "bsend": "buffered sends",
    "callbacks": "operations and attribute functions of the program that call MPI",
    "cancel": "MPI_Cancel on receives",
    "collectives": "blocking collectives",
    "dynamic_windows": "windows whose memory is attached",
    "errors": "error handlers of the program, and errors returned",
    "free_receive": "MPI_Request_free on active receives",
    "free_send": "MPI_Request_free on active sends",
    "get_status": "MPI_Request_get_status",
    "grequest": "generalised requests",
    "improbe": "MPI_Improbe",
    "intercomm": "intercommunicators",
    "iprobe": "MPI_Iprobe",
    "isendrecv": "MPI_Isendrecv and MPI_Isendrecv_replace (MPI 4)",
    "large_count": "functions that end in _c (MPI 4)",
    "mprobe": "MPI_Mprobe",
    "neighbours": "collectives on Cartesian and graph communicators",
    "nonblocking_collectives": "nonblocking collectives",
    "overlap": "pending receives for any and for one source that could take the same message",
    "partitioned": "partitioned communication (MPI 4)",
    "persistent": "MPI_Recv_init for any source",
    "persistent_collectives": "persistent collectives (MPI 4)",
    "persistent_send": "persistent sends",
    "probe": "MPI_Probe",
    "proc_null": "MPI_PROC_NULL",
    "ready": "ready sends",
    "rendezvous": "messages of up to 200 KB",
    "sendrecv": "MPI_Sendrecv and MPI_Sendrecv_replace",
    "test": "MPI_Test, Testany, Testsome, Testall",
    "types": "derived datatypes",
    "unobserved": "receives that are completed long after they took a message",
    "wtime": "MPI_Wtime",
}


class Comm:
    """A variable of main that holds a communicator on some ranks.

    groups: the ranks of MPI_COMM_WORLD in each communicator that the variable stands for, in the order of their ranks
    there. An intercommunicator has two groups, which send to each other.
    """

    def __init__(self, name, groups, inter=False, degree=None, free=True):
        self.name, self.groups, self.inter, self.degree, self.free = name, groups, inter, degree, free

    @property
    def smallest(self):
        return min(len(group) for group in self.groups)

    @property
    def everywhere(self):
        return sum(map(len, self.groups))

    def sources(self, group):
        """Who sends to the members of this group."""
        return self.groups[1 - self.groups.index(group)] if self.inter else group


class Program:
    def __init__(self, seed, ranks=None, without=()):
        unknown = set(without) - set(FAMILIES)
        if unknown:
            raise ValueError(f"no such family: {', '.join(sorted(unknown))}; there are {', '.join(FAMILIES)}")
        self.seed, self.without = seed, frozenset(without)
        self.random = random.Random(f"program {seed}")
        drawn = self.random.choice([2, 3, 3, 3, 4, 4, 4, 5, 5, 8])
        self.ranks = ranks or drawn
        self.used = set()  # families
        self.functions = []  # text of C functions, in the order of definition
        self.statements = []  # of main
        self.comms = []
        self.next_tag = 0
        self.counters = {}
        self.pools = {}
        self.thread_level = None  # of a program whose ranks have threads
        self.has_windows = False

    def fork(self, *words):
        """A source of random numbers of its own, so that a change here leaves the rest of the program as it is."""
        self.random = random.Random(" ".join(map(str, ("part", self.seed, *words))))
        return self.random

    def allowed(self, families):
        return not self.without.intersection(families)

    def use(self, *families):
        self.used.update(families)

    def choose(self, options):
        """One of (weight, families, value) whose families are all wanted. What is left out is drawn and drawn again."""
        usable = [option for option in options if self.allowed(option[1])]
        if not usable:
            return None
        weights = [weight for weight, _, _ in options]
        while True:
            _, families, value = self.random.choices(options, weights)[0]
            if self.allowed(families):
                self.use(*families)
                return value

    def maybe(self, family, chance):
        """True in this share of the cases, if the family is wanted at all."""
        drawn = self.random.random() < chance
        if not drawn or not self.allowed([family]):
            return False
        self.use(family)
        return True

    def name(self, stem):
        self.counters[stem] = self.counters.get(stem, 0) + 1
        return f"{stem}_{self.counters[stem]}"

    def tags(self, count):
        """The first of so many tags that nobody else uses."""
        first = self.next_tag
        self.next_tag += count
        return first

    def jitter(self, chance, most=300):
        """A statement that delays, or nothing."""
        if self.random.random() >= chance:
            return ""
        return f"jitter({self.random.choice([most // 10, most // 3, most])});"

    def function(self, head, body, comment=None):
        text = "".join(f"// {line}\n" for line in textwrap.wrap(comment, 116)) if comment else ""
        self.functions.append(f"{text}{head} {{\n{indent(body)}\n}}\n")

    def from_pool(self, pool, make, most):
        """A function made by `make`, or one that is there already: call sites shall be met more than once."""
        made = self.pools.setdefault(pool, [])
        if len(made) < most and (not made or self.random.random() < 0.6):
            made.append(make())
            return made[-1]
        return self.random.choice(made)

    def text(self):
        used = textwrap.wrap(", ".join(sorted(self.used)), 108)
        head = [f"// Random program: seed {self.seed}, {self.ranks} ranks."]
        if self.without:
            head.append(f"// Without: {', '.join(sorted(self.without))}.")
        head += ["// Families: " + used[0] if used else "// Families: none"] + [f"//   {line}" for line in used[1:]]
        body = "\n".join(["begin(&argc, &argv, " + str(self.ranks) + ");", *self.statements, "end();", "return 0;"])
        include = '#include "window_runtime.h"' if self.has_windows else '#include "runtime.h"'
        if self.thread_level:
            include = f'#define THREAD_LEVEL {self.thread_level}\n#include "thread_runtime.h"'
        return "\n".join([*head, include, "", *self.functions,
                          "int main(int argc, char** argv) {\n" + indent(body) + "\n}", ""])


def indent(text):
    """Two spaces; empty lines stay out, preprocessor lines stay at the margin."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(line if line.startswith("#") else "  " + line for line in lines)


def block(text, **values):
    """Dedents a piece of C and puts values in the place of @name@. A value of several lines keeps its indentation."""
    out = []
    for line in textwrap.dedent(text).strip("\n").splitlines():
        for name, value in values.items():
            mark = f"@{name}@"
            if mark not in line:
                continue
            value = str(value)
            if line.strip() == mark:
                line = textwrap.indent(value, line[:len(line) - len(line.lstrip())])
            else:
                line = line.replace(mark, value)
        out.append(line)
    return "\n".join(line for line in "\n".join(out).splitlines() if line.strip())
