"""How one message of a stream is taken: void one_N(const Stream* s, MPI_Status* status, unsigned char* buffer).

Each of these takes exactly one message from any source, so they can stand for each other. Some send a message to their
own rank meanwhile, for which a receive is posted before; they must not be used while older receives for any tag are
pending, which would take that message.
"""

from program import block

RECEIVE = "buffer, s->count, s->type, MPI_ANY_SOURCE, s->tag, s->comm"

POLL = """
    int flag = 0, polls = 0;
    while (!flag@limit@) {
      DO(@poll@);
      if (!flag) failed(&polls);
    }
    polled("@what@", polls);
    """

FINISH_TEST = """
    int flag = 0, polls = 0;
    while (!flag) {
      DO(MPI_Test(&request, &flag, status));
      if (!flag) failed(&polls);
    }
    polled("test", polls);
    """


def poll(program, what, call, instead=""):
    limit = program.random.choice([None, None, 3, 100])
    text = block(POLL, what=what, poll=call, limit="" if limit is None or not instead else f" && polls < {limit}")
    return text + ("\n" + instead if instead else "")


def finish(program):
    """Completes `request`, which is a receive."""
    how = program.choose([(3, (), "wait"), (3, ("test",), "test"), (1, (), "waitall"), (1, (), "waitany"),
                          (1, (), "waitsome"), (1, ("get_status",), "get_status")])
    if how == "wait":
        return "DO(MPI_Wait(&request, status));"
    if how == "waitall":
        return "DO(MPI_Waitall(1, &request, status));"
    if how == "waitany":
        return "int index;\nDO(MPI_Waitany(1, &request, &index, status));"
    if how == "waitsome":
        return "int n, index;\nDO(MPI_Waitsome(1, &request, &n, &index, status));"
    if how == "get_status":
        return poll(program, "get_status", "MPI_Request_get_status(request, &flag, status)") + \
            "\nDO(MPI_Wait(&request, status));"
    return block(FINISH_TEST)


def recv(program):
    return f"DO(MPI_Recv({RECEIVE}, status));"


def recv_large_count(program):
    return block(f"""
        #if MPI_VERSION >= 4
          DO(MPI_Recv_c({RECEIVE}, status));
        #else
          DO(MPI_Recv({RECEIVE}, status));
        #endif
        """)


def irecv(program):
    return block(f"""
        MPI_Request request;
        DO(MPI_Irecv({RECEIVE}, &request));
        @jitter@
        @finish@
        """, jitter=program.jitter(0.3), finish=finish(program))


def irecv_until(program):
    return block(f"""
        MPI_Request request;
        int flag = 0, polls = 0;
        double now, until;
        DO(MPI_Irecv({RECEIVE}, &request));
        DO(until = MPI_Wtime());
        now = until;
        until += @seconds@;
        while (!flag && now < until) {{
          DO(MPI_Test(&request, &flag, status));
          DO(now = MPI_Wtime());
          if (!flag) failed(&polls);
        }}
        say("%s after %d polls and %.9f s", flag ? "came" : "time is up", polls, now - until);
        fold((uint64_t)polls);
        if (!flag) DO(MPI_Wait(&request, status));
        """, seconds=program.random.choice(["20e-6", "100e-6", "500e-6"]))


def persistent(program):
    return block(f"""
        MPI_Request request;
        DO(MPI_Recv_init({RECEIVE}, &request));
        DO(@start@);
        @jitter@
        @finish@
        DO(MPI_Request_free(&request));
        """, jitter=program.jitter(0.3), finish=finish(program),
                 start=program.random.choice(["MPI_Start(&request)", "MPI_Startall(1, &request)"]))


def after_probe(program):
    return program.choose([
        (2, (), "DO(MPI_Recv(buffer, s->count, s->type, status->MPI_SOURCE, status->MPI_TAG, s->comm, status));"),
        (1, (), block("""
            MPI_Request request;
            DO(MPI_Irecv(buffer, s->count, s->type, status->MPI_SOURCE, status->MPI_TAG, s->comm, &request));
            DO(MPI_Wait(&request, status));
            """)),
        (1, (), block("""
            int count;
            MPI_Get_count(status, s->type, &count);
            DO(MPI_Recv(buffer, count, s->type, status->MPI_SOURCE, status->MPI_TAG, s->comm, status));
            """)),
    ])


def after_matched_probe(program):
    return program.choose([
        (2, (), "DO(MPI_Mrecv(buffer, s->count, s->type, &message, status));"),
        (2, (), block("""
            MPI_Request request;
            DO(MPI_Imrecv(buffer, s->count, s->type, &message, &request));
            DO(MPI_Wait(&request, status));
            """)),
        (1, ("test",), block("""
            MPI_Request request;
            int done = 0, tests = 0;
            DO(MPI_Imrecv(buffer, s->count, s->type, &message, &request));
            while (!done) {
              DO(MPI_Test(&request, &done, status));
              if (!done) failed(&tests);
            }
            polled("test", tests);
            """)),
        (1, ("large_count",), block("""
            #if MPI_VERSION >= 4
              DO(MPI_Mrecv_c(buffer, s->count, s->type, &message, status));
            #else
              DO(MPI_Mrecv(buffer, s->count, s->type, &message, status));
            #endif
            """)),
    ])


def probe(program):
    return "DO(MPI_Probe(MPI_ANY_SOURCE, s->tag, s->comm, status));\n" + after_probe(program)


def iprobe(program):
    blocking = program.maybe("probe", 0.4)
    loop = poll(program, "iprobe", "MPI_Iprobe(MPI_ANY_SOURCE, s->tag, s->comm, &flag, status)",
                "if (!flag) DO(MPI_Probe(MPI_ANY_SOURCE, s->tag, s->comm, status));" if blocking else "")
    return loop + "\n" + after_probe(program)


def iprobe_first(program):
    """So many looks as the digest says, then a receive that may or may not take what was seen."""
    return block(f"""
        int flag, seen = 0;
        for (int looks = (int)(digest % @few@); looks >= 0; --looks) {{
          DO(MPI_Iprobe(MPI_ANY_SOURCE, s->tag, s->comm, &flag, @status@));
          seen += flag;
        }}
        fold((uint64_t)seen);
        say("iprobe saw something %d times", seen);
        DO(MPI_Recv({RECEIVE}, status));
        """, few=program.random.choice([2, 4, 20]), status=program.random.choice(["status", "MPI_STATUS_IGNORE"]))


def mprobe(program):
    return block("""
        MPI_Message message;
        DO(MPI_Mprobe(MPI_ANY_SOURCE, s->tag, s->comm, &message, status));
        @jitter@
        @take@
        """, take=after_matched_probe(program), jitter=program.jitter(0.3))


def improbe(program):
    blocking = program.maybe("mprobe", 0.4)
    loop = poll(program, "improbe", "MPI_Improbe(MPI_ANY_SOURCE, s->tag, s->comm, &flag, &message, status)",
                "if (!flag) DO(MPI_Mprobe(MPI_ANY_SOURCE, s->tag, s->comm, &message, status));" if blocking else "")
    return "MPI_Message message;\n" + loop + "\n" + after_matched_probe(program)


SENDRECV = {
    "sendrecv": f"DO(MPI_Sendrecv(own.buffer, own.count, s->sent, s->me, s->side, {RECEIVE}, status));",
    "sendrecv_replace": """
        fill(buffer, s->bytes);
        DO(MPI_Sendrecv_replace(buffer, s->count, s->type, s->me, s->side, MPI_ANY_SOURCE, s->tag, s->comm, status));
        """,
}


def sendrecv(kind):
    def make(program):
        return block("""
            MPI_Request mine;
            Message own = new_message(s);
            unsigned char* back = (unsigned char*)zeroed(s->bytes);
            DO(MPI_Irecv(back, s->count, s->type, s->me, s->side, s->comm, &mine));
            @exchange@
            DO(MPI_Wait(&mine, MPI_STATUS_IGNORE));
            fold(hash_of(back, s->bytes));
            free(back);
            free(own.buffer);
            """, exchange=block(SENDRECV[kind]))
    return make


def cancel(program):
    """The message may or may not be there when the receive is cancelled; after some tries it is waited for."""
    how = program.choose([(3, (), "DO(MPI_Wait(&request, status));"), (1, (), "DO(MPI_Waitall(1, &request, status));"),
                          (1, ("test",), block(FINISH_TEST))])
    before = program.choose([(2, (), ""), (1, ("get_status",), "int there;\n"
                                           "DO(MPI_Request_get_status(request, &there, MPI_STATUS_IGNORE));\n"
                                           "fold((uint64_t)there);")])
    tries = program.random.choice([1, 2, 4])
    return block(f"""
        int gone = 1;
        for (int tries = 0; gone && tries < {tries}; ++tries) {{
          MPI_Request request;
          DO(MPI_Irecv({RECEIVE}, &request));
          @jitter@
          @before@
          DO(MPI_Cancel(&request));
          @complete@
          DO(MPI_Test_cancelled(status, &gone));
          fold((uint64_t)gone);
          say("cancel: %s", gone ? "in time" : "too late");
        }}
        if (gone) DO(MPI_Recv({RECEIVE}, status));
        """, jitter=program.jitter(0.9), complete=how, before=before)


# weight, families, maker, sends to itself
SINGLES = [
    (3, (), recv, False),
    (1, ("large_count",), recv_large_count, False),
    (4, (), irecv, False),
    (2, ("wtime", "test"), irecv_until, False),
    (2, ("persistent",), persistent, False),
    (2, ("probe",), probe, False),
    (2, ("iprobe",), iprobe, False),
    (1, ("iprobe",), iprobe_first, False),
    (2, ("mprobe",), mprobe, False),
    (2, ("improbe",), improbe, False),
    (1, ("sendrecv",), sendrecv("sendrecv"), True),
    (1, ("sendrecv",), sendrecv("sendrecv_replace"), True),
    (2, ("cancel",), cancel, False),
]


def single(program, to_itself=True):
    """The name of a function that takes one message."""
    def make():
        maker = program.choose([(weight, families, maker) for weight, families, maker, own in SINGLES
                                if to_itself or not own])
        name = program.name("one")
        program.function(f"static void {name}(const Stream* s, MPI_Status* status, unsigned char* buffer)",
                         maker(program))
        return name
    return program.from_pool(f"singles {to_itself}", make, 4)
