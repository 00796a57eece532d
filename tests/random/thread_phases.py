"""Phases in which every rank has threads.

A phase is a sequence of sections, the same for all threads of all ranks. No section can deadlock by itself, and nobody
waits in a section for what happens in a later one:

  - locks: everything that one thread may do alone; where two locks are held at once, they are taken in order;
  - a queue: some threads produce as many items as the others consume; then a barrier;
  - a barrier;
  - messages: every thread first sends without blocking, and then takes as many as it has sent. Each rank sends to the ranks
    that lie at the same distances from it, so it gets as many as it sends, from whomever.
"""

from program import block

LEVELS = ("MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE", "MPI_THREAD_MULTIPLE")


def alone(program):
    """Something that a thread can do by itself."""
    rng = program.random
    i = rng.randrange(4)
    outer, inner = sorted(rng.sample(range(4), 2))
    return rng.choice([
        f"locked(self, {i}, {rng.choice([0, 0, 20])});",
        f"locked(self, {i}, {rng.choice([0, 0, 20])});",
        f"nested(self, {outer}, {inner});",
        f"tried(self, {i});",
        f"timed(self, {i}, {rng.choice([1, 50, 400])});",
        f"read_locked(self, {i});",
        f"write_locked(self, {i});",
        "spun(self);",
        "counted(self);",
        "counted_if_free(self);",
        f"nudge(self, {rng.randrange(2)});",
        f"nudged_or_late(self, {rng.choice([20, 200])});",
        "looked_at_clock(self);",
        f"once(self, {i}, first_{i});",
        "had_child(self);",
    ])


def locks(program, threads, _tag):
    rng = program.random
    texts = []
    for _ in range(threads):
        steps = [alone(program) + program.jitter(0.2, 60) for _ in range(rng.randint(2, 6))]
        rounds = rng.choice([1, 3, 8])
        texts.append(f"for (int round = 0; round < {rounds}; ++round) {{\n" + "\n".join(steps) + "\n}")
    return texts


def queue(program, threads, _tag):
    rng = program.random
    producers = rng.randint(1, threads - 1)
    items = [0] * threads
    for _ in range(rng.randint(3, 20)):
        items[rng.randrange(producers)] += 1
    for _ in range(sum(items[:producers])):
        items[rng.randrange(producers, threads)] += 1
    every = rng.randrange(2)
    # Whoever goes on must not take what is meant for somebody who has still to come.
    return [f"{'produced' if i < producers else 'consumed'}(self, {items[i]}, {every});\nmet(self);"
            for i in range(threads)]


def barrier(_program, threads, _tag):
    return ["met(self);"] * threads


def messages(program, threads, tag):
    rng = program.random
    serialized = int(program.thread_level == "MPI_THREAD_SERIALIZED")
    shifts = [rng.randint(0, program.ranks - 1) for _ in range(rng.randint(1, 3))]
    texts = []
    for _ in range(threads):
        steps = [f"sent(self, comm, {shift}, {tag}, {serialized});" + program.jitter(0.3, 60) for shift in shifts]
        for _ in shifts:
            if serialized:
                steps.append(f"matched_by_asking(self, comm, {tag}, 1);")
            else:
                steps.append(rng.choice([f"received(self, comm, {tag});", f"tested(self, comm, {tag});",
                                         f"matched(self, comm, {tag});", f"matched_by_asking(self, comm, {tag}, 0);"]))
        texts.append("\n".join([*steps, f"sends_completed(self, {serialized});"]))
    return texts


def phase(program, comm):
    """Statements of main for one phase with threads."""
    program.fork("threads", len(program.functions))
    rng = program.random
    threads = rng.randint(2, 4)
    kinds = [locks, locks, queue, barrier]
    if program.thread_level != "MPI_THREAD_FUNNELED":
        kinds += [messages, messages]
    works = [[] for _ in range(threads)]
    for _ in range(rng.randint(2, 5)):
        texts = rng.choice(kinds)(program, threads, program.tags(1))
        for work, text in zip(works, texts):
            work.append(text)
    names = []
    for work in works:
        names.append(program.name("thread"))
        program.function(f"static void {names[-1]}(Self* self, MPI_Comm comm)", "(void)comm;\n" + "\n".join(work))
    name = program.name("with_threads")
    program.function(f"static void {name}(MPI_Comm comm)", block("""
        static void (*const work[])(Self*, MPI_Comm) = {@names@};
        run_threads(comm, @count@, work);
        """, names=", ".join(names), count=threads), "Threads that share locks, a queue and messages.")
    return f"if ({comm.name} != MPI_COMM_NULL) {name}({comm.name});"
