"""Phases: what all ranks of a communicator do together. Each is free of deadlock by itself:

  - who sends how many messages to whom is fixed when the program is generated, or follows a protocol whose end is known
    to everybody;
  - a rank that receives in a phase sends without blocking, and completes its sends when it has taken everything, so
    receivers always drain; only ranks that do not receive may block in a send;
  - a phase has tags of its own. One that receives with MPI_ANY_TAG ends with a barrier, so that nobody's message of a
    later phase can be taken, or has a communicator of its own.

All ranks go through the phases in the same order, and nobody waits in a phase for what happens in a later one.
"""

from completions import completion
from program import block
from senders import sender
from singles import single
from takers import taker

SMALL, MIDDLE, LARGE = (0, 1, 3, 10), (60, 170), (3000, 8300)  # elements of 24 bytes


def room(program):
    drawn = program.random.random()
    if drawn > 0.93 and program.maybe("rendezvous", 1):
        return program.random.choice(LARGE)
    return program.random.choice(MIDDLE if drawn > 0.75 else SMALL)


def stream(program, comm="comm", tags=1, any_tag=0, plain=False):
    """An initialiser for a Stream. plain: without derived datatypes."""
    typed = not plain and program.maybe("types", 0.5)
    received, sent = (program.random.choice([-1, 0, 1, 2, 3, 4, 5]) if typed else -1 for _ in range(2))
    return f"stream({comm}, {program.tags(tags + 1)}, {tags}, {any_tag}, {received}, {sent}, {room(program)})"


def table(name, values):
    return f"static const int {name}[] = {{{', '.join(map(str, values))}}};"


def call(comm, name):
    return f"if ({comm.name} != MPI_COMM_NULL) {name}({comm.name});"


def plan(program, comm, most=4):
    """Who receives (ranks in comm), and per rank of MPI_COMM_WORLD how many messages it sends to each, and takes."""
    rng = program.random
    count = rng.choice([1, 1, 1, 2, comm.smallest])
    receivers = sorted(rng.sample(range(comm.smallest), min(count, comm.smallest)))
    sends, takes = [0] * program.ranks, [0] * program.ranks
    everybody = rng.random() < 0.3  # otherwise mostly those that do not receive
    for group in comm.groups:
        for position, rank in enumerate(group):
            if everybody or comm.inter or position not in receivers or len(group) == 1:
                sends[rank] = rng.randint(1, most)
    if comm.inter and rng.random() < 0.5:
        for rank in comm.groups[0]:
            sends[rank] = 0
    for group in comm.groups:
        for position in receivers:
            takes[group[position]] = sum(sends[rank] for rank in comm.sources(group))
    return receivers, sends, takes


def sending(program, sends, takes):
    """Statements that start the sends of a phase."""
    calm = sender(program)
    text = f"{calm}(&s, &out, to, peers, sends[world_rank]);"
    if any(count and not takes[rank] for rank, count in enumerate(sends)) and program.random.random() < 0.6:
        text = block("""
            if (takes[world_rank])
              @calm@
            else
              @bold@(&s, &out, to, peers, sends[world_rank]);
            """, calm=text, bold=sender(program, may_block=True))
    return text


def funnel(program, comm):
    """Some ranks take messages from many."""
    receivers, sends, takes = plan(program, comm)
    any_tag = int(program.random.random() < 0.4)
    own = any_tag and program.random.random() < 0.5
    first, second = taker(program), taker(program)
    body = block("""
        @receivers@
        @sends@
        @takes@
        enum { peers = @peers@ };
        @dup@
        const Stream s = @stream@;
        Batch out = {.stream = &s};
        const int n = takes[world_rank];
        @sending@
        @first@(&s, (n + 1) / 2);
        @jitter@
        @second@(&s, n / 2);
        @complete@(&out);
        release(&out);
        @isolate@
        """, receivers=table("to", receivers), sends=table("sends", sends), takes=table("takes", takes),
                 peers=len(receivers), stream=stream(program, tags=3 if any_tag else 1, any_tag=any_tag),
                 sending=sending(program, sends, takes), first=first, second=second, complete=completion(program),
                 jitter=program.jitter(0.3),
                 dup="MPI_Comm shared = comm;\nDO(MPI_Comm_dup(shared, &comm));" if own else "",
                 isolate="DO(MPI_Comm_free(&comm));" if own else "DO(MPI_Barrier(comm));" if any_tag else "")
    return body, "Messages from many, in any order."


def late(program, comm):
    """Receives that take messages and are looked at much later: three parts, between which other phases run."""
    program.use("unobserved")
    receivers, sends, takes = plan(program, comm)
    hidden = [program.random.randint(1, count) if count else 0 for count in takes]
    any_tag = int(program.random.random() < 0.5)
    state = program.name("late")
    program.functions.append(block("""
        static struct {
          Stream s;
          Batch hidden;
          MPI_Comm comm;
        } @state@;
        """, state=state) + "\n")
    tables = [table("sends", sends), table("takes", takes), table("hidden", hidden)]
    first = block("""
        @hidden@
        DO(MPI_Comm_dup(comm, &@state@.comm));
        @state@.s = @stream@;
        const Stream* s = &@state@.s;
        @state@.hidden.stream = s;
        for (int i = 0; i < hidden[world_rank]; ++i) {
          unsigned char* buffer = (unsigned char*)zeroed(s->bytes);
          DO(MPI_Irecv(buffer, s->count, s->type, MPI_ANY_SOURCE, s->tag, s->comm,
                       add(&@state@.hidden, buffer, buffer)));
        }
        """, hidden=tables[2], state=state,
                  stream=stream(program, f"{state}.comm", tags=2 if any_tag else 1, any_tag=any_tag))
    second = block("""
        @to@
        @sends@
        @takes@
        @hidden@
        enum { peers = @peers@ };
        (void)comm;
        const Stream s = @state@.s;
        Batch out = {.stream = &s};
        @sending@
        @take@(&s, takes[world_rank] - hidden[world_rank]);
        @complete@(&out);
        release(&out);
        """, to=table("to", receivers), sends=tables[0], takes=tables[1], hidden=tables[2], peers=len(receivers),
                   state=state, take=taker(program, observed=True), complete=completion(program),
                   sending=sending(program, sends, takes))
    third = block("""
        (void)comm;
        @complete@(&@state@.hidden);
        release(&@state@.hidden);
        DO(MPI_Comm_free(&@state@.comm));
        """, state=state, complete=completion(program))
    return [first, second, third], "Receives that are completed long after they took a message."


def overlap(program, comm):
    """Receives for any source posted before and after receives for one source.

    The one source sends at least as many messages as there are receives for it and older ones for any source, so
    whatever the older ones take, enough is left.
    """
    rng = program.random
    before, named, extra = rng.randint(1, 3), rng.randint(1, 2), rng.randint(0, 2)
    first_sender = rng.randrange(comm.smallest)
    takes_from_others = rng.randint(1, 2)
    order = rng.choice(["i < before", "i % 2 == 0 && i / 2 < before"])
    tag = rng.choice(["s.tag", "s.tag", "MPI_ANY_TAG"])
    return block("""
        enum { before = @before@, named = @named@, chief = @chief@, often = before + named + @extra@ };
        const Stream s = @stream@;
        Batch out = {.stream = &s}, in = {.stream = &s};
        int size;
        static const int to[] = {0};
        DO(MPI_Comm_size(comm, &size));
        if (s.me == 0) {
          const int total = often + (size - 1) * @others@;
          for (int i = 0, left = named, old = before; i < total; ++i) {
            unsigned char* buffer = (unsigned char*)zeroed(s.bytes);
            const int any = left == 0 || (old > 0 && @order@);
            const int source = any ? MPI_ANY_SOURCE : chief;
            if (any) --old; else --left;
            DO(MPI_Irecv(buffer, s.count, s.type, source, any ? s.tag : @tag@, comm, add(&in, buffer, buffer)));
          }
        }
        @send@(&s, &out, to, 1, s.me == chief ? often : @others@);
        @jitter@
        @complete@(&in);
        @complete2@(&out);
        release(&in);
        release(&out);
        DO(MPI_Barrier(comm));
        """, before=before, named=named, chief=first_sender, extra=extra, others=takes_from_others, order=order,
                 tag=tag, stream=stream(program), send=sender(program), jitter=program.jitter(0.5),
                 complete=completion(program), complete2=completion(program)), \
        "Pending receives for any source and for one source compete."


def master_worker(program, comm):
    """The master answers whoever comes; who works how much depends on the order."""
    rng = program.random
    exchange = program.choose([
        (2, (), "DO(MPI_Send(result, n, MPI_UINT32_T, 0, s.base, comm));\n"
                "DO(MPI_Recv(task, kWordsPerElement, MPI_UINT32_T, 0, MPI_ANY_TAG, comm, &status));"),
        (1, (), "MPI_Request request;\n"
                "DO(MPI_Isend(result, n, MPI_UINT32_T, 0, s.base, comm, &request));\n"
                "DO(MPI_Recv(task, kWordsPerElement, MPI_UINT32_T, 0, MPI_ANY_TAG, comm, &status));\n"
                "DO(MPI_Wait(&request, MPI_STATUS_IGNORE));"),
        (2, ("sendrecv",), "DO(MPI_Sendrecv(result, n, MPI_UINT32_T, 0, s.base, task, kWordsPerElement, MPI_UINT32_T, "
                           "0, MPI_ANY_TAG, comm, &status));"),
    ])
    base = program.tags(3)
    return block("""
        const Stream s = stream(comm, @base@, 1, 0, -1, -1, 1);
        const int task_tag = s.base + 1, stop_tag = s.base + 2;
        MPI_Status status;
        int size, tasks = @tasks@;
        DO(MPI_Comm_size(comm, &size));
        if (s.me == 0) {
          for (int working = size - 1; working > 0;) {
            unsigned char* buffer = (unsigned char*)zeroed(s.bytes);
            uint32_t task[kWordsPerElement];
            @one@(&s, &status, buffer);
            took_message("result", &s, &status, buffer);
            free(buffer);
            fill(task, sizeof task);
            const int stop = tasks-- <= 0;
            DO(@send@(task, kWordsPerElement, MPI_UINT32_T, status.MPI_SOURCE, stop ? stop_tag : task_tag, comm));
            if (stop) --working;
          }
        } else {
          for (int worked = 0;; ++worked) {
            uint32_t result[kWordsPerElement], task[kWordsPerElement];
            const int n = (int)(draw() % (kWordsPerElement + 1));
            fill(result, sizeof result);
            @jitter@
            @exchange@
            fold(hash_of(task, sizeof task));
            if (status.MPI_TAG == stop_tag) {
              say("worked %d times", worked);
              break;
            }
          }
        }
        """, base=base, tasks=rng.randint(3, 12), one=single(program), exchange=exchange,
                 send=rng.choice(["MPI_Send", "MPI_Ssend"]), jitter=program.jitter(1)), \
        "A master answers its workers in the order in which they come."


def tokens(program, comm):
    """Tokens wander to ranks that depend on what was seen so far, and end after a number of hops."""
    rng = program.random
    base = program.tags(4)
    return block("""
        enum { count = @count@, hops = @hops@ };
        const Stream s = stream(comm, @base@, 3, 1, -1, -1, @room@);
        const int done_tag = s.base + 1, stop_tag = s.base + 2;
        Batch out = {.stream = &s};
        int size, running = 1, ended = 0;
        DO(MPI_Comm_size(comm, &size));
        for (int i = 0; s.me == 0 && i < count; ++i) {
          Message m = new_message(&s);
          *(uint32_t*)m.buffer = hops;
          DO(MPI_Isend(m.buffer, kWordsPerElement, s.sent, (int)(draw() % (uint64_t)size), s.base, comm,
                       add(&out, NULL, m.buffer)));
        }
        while (running) {
          MPI_Status status;
          Message m = new_message(&s);
          unsigned char* buffer = (unsigned char*)zeroed(s.bytes);
          @one@(&s, &status, buffer);
          took_message("token", &s, &status, buffer);
          const uint32_t left = *(uint32_t*)buffer;
          free(buffer);
          *(uint32_t*)m.buffer = left - 1;
          if (status.MPI_TAG == stop_tag) {
            running = 0;
          } else if (status.MPI_TAG == done_tag) {
            running = ++ended < count;
            for (int i = 1; !running && i < size; ++i)
              DO(MPI_Isend(m.buffer, 1, s.sent, i, stop_tag, comm, add(&out, NULL, NULL)));
          } else {
            const int dest = left ? (int)(draw() % (uint64_t)size) : 0;
            DO(@isend@(m.buffer, kWordsPerElement, s.sent, dest, left ? s.base : done_tag, comm,
                       add(&out, NULL, NULL)));
          }
          add(&out, NULL, m.buffer);  // only keeps the buffer
          @jitter@
        }
        for (int i = 0; i < out.n; ++i)
          if (out.request[i] == MPI_REQUEST_NULL) out.active[i] = 0, --out.pending;
        @complete@(&out);
        release(&out);
        DO(MPI_Barrier(comm));
        """, count=rng.randint(1, 3), hops=rng.randint(2, 7), base=base, room=rng.choice([1, 3]), one=single(program),
                 isend=rng.choice(["MPI_Isend", "MPI_Issend"]), jitter=program.jitter(0.5, 100),
                 complete=completion(program)), \
        "Tokens wander to ranks that depend on what was seen so far."
