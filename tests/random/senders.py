"""How the messages of a stream are sent: void send_N(const Stream* s, Batch* out, const int* to, int peers, int n).

n messages go to each of the peers. Requests that are still to be completed are added to `out`.
"""

from program import block

ARGUMENTS = "m.buffer, m.count, s->sent, dest, m.tag, s->comm"

LOOP = """
    for (int i = 0; i < n; ++i)
      for (int j = 0, first = @first@; j < peers; ++j) {
        const int dest = to[(first + j) % peers];
        Message m = new_message(s);
        @jitter@
        @send@
      }
    """


def loop(program, send, jitter=0.7):
    first = program.random.choice(["0", "i % peers", "(int)(digest % (uint64_t)peers)"])
    return block(LOOP, first=first, jitter=program.jitter(jitter), send=send)


def small(program):
    """Bsend needs room in the buffer; a stream with large messages uses MPI_Isend."""
    return block(f"""
        if (s->bytes <= 4096) {{
          DO(MPI_Bsend({ARGUMENTS}));
          free(m.buffer);
        }} else {{
          DO(MPI_Isend({ARGUMENTS}, add(out, NULL, m.buffer)));
        }}
        """)


def isend(program):
    name = program.choose([(3, (), "Isend"), (2, (), "Issend"), (1, ("large_count",), "Isend_c")])
    call = f"DO(MPI_{name}({ARGUMENTS}, add(out, NULL, m.buffer)));"
    if name == "Isend_c":
        call = f"#if MPI_VERSION >= 4\n{call}\n#else\n{call.replace('_c(', '(')}\n#endif"
    return loop(program, call)


def bsend(program):
    return loop(program, small(program))


def freed(program):
    """The buffer is given up together with the request: nobody can know when it is free.

    Not for messages to oneself: MPICH 4.0.2 forgets those when their request is freed, and the receive hangs.
    """
    name = program.random.choice(["Isend", "Issend"])
    return loop(program, block(f"""
        static unsigned char* last = NULL;
        MPI_Request request;
        if (dest == s->me) {{
          DO(MPI_{name}({ARGUMENTS}, add(out, NULL, m.buffer)));
          continue;
        }}
        DO(MPI_{name}({ARGUMENTS}, &request));
        DO(MPI_Request_free(&request));
        memcpy(&last, &m.buffer, sizeof last);
        """))


def started(program):
    """Persistent sends, started together."""
    name = program.choose([(2, (), "Send_init"), (2, (), "Ssend_init")])
    start = program.random.choice(["DO(MPI_Startall(out->n - first_of_mine, out->request + first_of_mine));",
                                   "for (int i = first_of_mine; i < out->n; ++i) DO(MPI_Start(&out->request[i]));"])
    return block("""
        const int first_of_mine = out->n;
        @init@
        @start@
        """, init=loop(program, f"DO(MPI_{name}({ARGUMENTS}, add(out, NULL, m.buffer)));", 0), start=start)


def blocking(program):
    calls = {"Send": (), "Ssend": (), "Bsend": ("bsend",), "Send_c": ("large_count",), "Sendrecv": ("sendrecv",)}
    first, second = (program.choose([(2 if name == "Send" else 1, families, name) for name, families in calls.items()])
                     for _ in range(2))

    def text(name):
        if name == "Sendrecv":
            program.use("proc_null")
            return ("DO(MPI_Sendrecv(m.buffer, m.count, s->sent, dest, m.tag, NULL, 0, s->type, MPI_PROC_NULL, 0, "
                    "s->comm, MPI_STATUS_IGNORE));")
        if name == "Bsend":
            name = "Send"
            return f"if (s->bytes <= 4096)\n  DO(MPI_Bsend({ARGUMENTS}));\nelse\n  DO(MPI_Send({ARGUMENTS}));"
        if name == "Send_c":
            return f"#if MPI_VERSION >= 4\nDO(MPI_Send_c({ARGUMENTS}));\n#else\nDO(MPI_Send({ARGUMENTS}));\n#endif"
        return f"DO(MPI_{name}({ARGUMENTS}));"

    send = text(first)
    if first != second:
        send = block("if (@when@) {\n  @first@\n} else {\n  @second@\n}", first=text(first), second=text(second),
                     when=program.random.choice(["i % 2", "digest % 2", "s->bytes > 1000"]))
    return loop(program, send + "\nfree(m.buffer);")


def restarted(program):
    """One persistent send per peer, started again for every message: the buffer is filled anew."""
    name = program.choose([(2, (), "Send_init"), (1, (), "Ssend_init")])
    return block(f"""
        Batch b = {{.stream = s}};
        for (int j = 0; j < peers; ++j) {{
          Message m = new_message(s);
          DO(MPI_{name}(m.buffer, m.count, s->sent, to[j], m.tag, s->comm, add(&b, NULL, m.buffer)));
        }}
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < peers; ++j) {{
            fill(b.owned[j], s->bytes);
            @jitter@
            DO(MPI_Start(&b.request[j]));
            DO(MPI_Wait(&b.request[j], MPI_STATUS_IGNORE));
          }}
        release(&b);
        """, jitter=program.jitter(0.7))


NONBLOCKING = [
    (5, (), isend),
    (1, ("bsend",), bsend),
    (2, ("free_send",), freed),
    (2, ("persistent_send",), started),
]
BLOCKING = [
    (5, (), blocking),
    (1, ("persistent_send",), restarted),
]


def sender(program, may_block=False):
    """The name of a function that sends. may_block: only for ranks that nobody waits for but their receivers."""
    def make():
        body = program.choose(BLOCKING if may_block else NONBLOCKING)(program)
        name = program.name("send")
        head = f"static void {name}(const Stream* s, UNUSED Batch* out, const int* to, int peers, int n)"
        program.function(head, body)
        return name
    return program.from_pool(f"senders {may_block}", make, 3)
