"""More phases of point-to-point calls: exchanges, ready sends, cancelled receives, consensus, errors and the like."""

from completions import completion
from phases import stream
from program import block
from senders import sender
from takers import need_grequest
from singles import finish


EXCHANGES = {
    "sendrecv": "DO(MPI_Sendrecv(m.buffer, m.count, s.sent, right, s.side, buffer, s.count, s.type, MPI_ANY_SOURCE,\n"
                "                s.tag, comm, &status));",
    "sendrecv_replace": "memcpy(buffer, m.buffer, s.bytes);\n"
                        "DO(MPI_Sendrecv_replace(buffer, s.count, s.type, right, s.side, MPI_ANY_SOURCE, s.tag, comm,\n"
                        "                        &status));",
}
EXCHANGES["isendrecv"] = EXCHANGES["sendrecv"].replace("Sendrecv", "Isendrecv")
EXCHANGES["isendrecv_replace"] = EXCHANGES["sendrecv_replace"].replace("Sendrecv", "Isendrecv")


def ring(program, comm):
    """Every rank takes as many messages as it gets by exchanges whose other half goes to its right neighbour.

    The receives for these halves are posted before anything else, so no exchange waits for a neighbour's progress.

    MPICH 4.0.2's nonblocking exchanges leave a status that has nothing to do with the message, and count references to
    derived datatypes wrongly. So these take plain words, and no notice of the status.
    """
    rng = program.random
    kind = program.choose([(2, ("sendrecv",), "sendrecv"), (2, ("sendrecv",), "sendrecv_replace"),
                           (1, ("isendrecv",), "isendrecv"), (1, ("isendrecv",), "isendrecv_replace")])
    blind = kind.startswith("i")
    exchange = EXCHANGES[kind]
    if blind:
        exchange = block("""
            #if MPI_VERSION >= 4
            MPI_Request request;
            @exchange@
            @finish@
            #else
            DO(MPI_Send(m.buffer, m.count, s.sent, right, s.side, comm));
            DO(MPI_Recv(buffer, s.count, s.type, MPI_ANY_SOURCE, s.tag, comm, &status));
            #endif
            """, exchange=exchange.replace("&status", "&request"),
                         finish=finish(program).replace(", status)", ", &status)"))
    return block("""
        enum { each = @each@ };
        const Stream s = @stream@;
        Batch out = {.stream = &s}, aside = {.stream = &s};
        int size, to[kRanks];
        DO(MPI_Comm_size(comm, &size));
        const int left = (s.me + size - 1) % size, right = (s.me + 1) % size;
        for (int i = 0; i < size; ++i) to[i] = i;
        for (int i = 0; i < each * size; ++i) {
          unsigned char* buffer = (unsigned char*)zeroed(s.bytes);
          DO(MPI_Irecv(buffer, s.count, s.type, left, s.side, comm, add(&aside, buffer, buffer)));
        }
        @send@(&s, &out, to, size, each);
        for (int i = 0; i < each * size; ++i) {
          MPI_Status status;
          Message m = new_message(&s);
          unsigned char* buffer = (unsigned char*)zeroed(s.bytes);
          @exchange@
          @took@
          free(buffer);
          free(m.buffer);
          @jitter@
        }
        @complete@(&aside);
        @complete@(&out);
        release(&aside);
        release(&out);
        """, each=rng.randint(1, 2), stream=stream(program, plain=blind), send=sender(program), exchange=exchange,
                 took='took_blindly("exchange", &s, buffer);' if blind else
                 'took_message("exchange", &s, &status, buffer);',
                 jitter=program.jitter(0.5, 100), complete=completion(program)), \
        "Messages from many, taken by exchanges with the right neighbour."


def ready(program, comm):
    """All receives are posted, then everybody passes a barrier: now ready sends are right in every order."""
    send = program.choose([
        (2, (), "DO(MPI_Rsend(m.buffer, m.count, s.sent, root, m.tag, comm));"),
        (2, (), "DO(MPI_Irsend(m.buffer, m.count, s.sent, root, m.tag, comm, add(&out, NULL, NULL)));"),
        (1, ("persistent_send",), "MPI_Request* const request = add(&out, NULL, NULL);\n"
                                  "DO(MPI_Rsend_init(m.buffer, m.count, s.sent, root, m.tag, comm, request));\n"
                                  "DO(MPI_Start(request));"),
    ])
    return block("""
        enum { root = @root@, each = @each@ };
        const Stream s = @stream@;
        Batch out = {.stream = &s}, in = {.stream = &s};
        unsigned char* sent[each] = {NULL};
        int size;
        DO(MPI_Comm_size(comm, &size));
        for (int i = 0; s.me == root && i < each * (size - 1); ++i) {
          unsigned char* buffer = (unsigned char*)zeroed(s.bytes);
          DO(MPI_Irecv(buffer, s.count, s.type, MPI_ANY_SOURCE, s.tag, comm, add(&in, buffer, buffer)));
        }
        DO(MPI_Barrier(comm));
        for (int i = 0; s.me != root && i < each; ++i) {
          Message m = new_message(&s);
          sent[i] = m.buffer;
          @jitter@
          @send@
        }
        @complete@(&in);
        @complete@(&out);
        release(&in);
        release(&out);
        for (int i = 0; i < each; ++i) free(sent[i]);
        """, root=program.random.randrange(comm.smallest), each=program.random.randint(1, 3), stream=stream(program),
                 send=send, jitter=program.jitter(1), complete=completion(program)), \
        "Ready sends to receives that are surely posted."


def cancelled(program, comm):
    """Receives are cancelled while their messages are perhaps on the way; what was cancelled is received later."""
    rng = program.random
    source = rng.choice(["left", "left", "MPI_ANY_SOURCE"])
    complete = rng.choice(["DO(MPI_Waitall(n, request, status));",
                           "for (int i = n - 1; i >= 0; --i) DO(MPI_Wait(&request[i], &status[i]));"])
    persistent = program.maybe("persistent", 0.3)
    post = f"DO(MPI_{'Recv_init' if persistent else 'Irecv'}(buffer[i], s.count, s.type, {source}, s.tag, comm, " \
           "&request[i]));"
    if persistent:
        post += "\nDO(MPI_Start(&request[i]));"
    never = program.random.choice([
        "DO(MPI_Cancel(&nothing));\nDO(MPI_Request_free(&nothing));",
        "DO(MPI_Cancel(&nothing));\nDO(MPI_Wait(&nothing, &status[0]));\n"
        "DO(MPI_Test_cancelled(&status[0], &gone));\nsay(\"nothing: %d\", gone);",
    ])
    return block("""
        enum { n = @n@ };
        const Stream s = @stream@;
        Batch out = {.stream = &s};
        MPI_Request request[n], nothing;
        MPI_Status status[n];
        unsigned char* buffer[n];
        int size, gone;
        DO(MPI_Comm_size(comm, &size));
        UNUSED const int left = (s.me + size - 1) % size;
        const int right = (s.me + 1) % size;
        DO(MPI_Irecv(NULL, 0, MPI_INT, @nobody@, s.side, comm, &nothing));
        for (int i = 0; i < n; ++i) {
          buffer[i] = (unsigned char*)zeroed(s.bytes);
          @post@
        }
        @early@
        for (int i = 0; i < n; ++i) {
          Message m = new_message(&s);
          @jitter@
          DO(MPI_Isend(m.buffer, m.count, s.sent, right, m.tag, comm, add(&out, NULL, m.buffer)));
        }
        @late@
        @never@
        for (int i = 0; i < n; ++i)
          if (@which@) DO(MPI_Cancel(&request[i]));
        @complete@
        int missing = 0;
        for (int i = 0; i < n; ++i) {
          DO(MPI_Test_cancelled(&status[i], &gone));
          fold((uint64_t)gone);
          say("receive %d: cancelled %s", i, gone ? "in time" : "too late or not at all");
          if (!gone) took_message("not cancelled", &s, &status[i], buffer[i]);
          missing += gone;
          @free@
          free(buffer[i]);
        }
        for (; missing > 0; --missing) {
          unsigned char* again = (unsigned char*)zeroed(s.bytes);
          DO(MPI_Recv(again, s.count, s.type, @source@, s.tag, comm, &status[0]));
          took_message("after all", &s, &status[0], again);
          free(again);
        }
        @finish@(&out);
        release(&out);
        """, n=rng.randint(1, 4), stream=stream(program), source=source, post=post, complete=complete,
                 never=never, nobody=rng.choice(["left", "MPI_ANY_SOURCE"]), early=program.jitter(0.5),
                 late=program.jitter(0.7), jitter=program.jitter(0.5), which=rng.choice(["1", "i % 2", "digest % 2"]),
                 free="DO(MPI_Request_free(&request[i]));" if persistent else "", finish=completion(program)), \
        "Receives that are cancelled, perhaps too late."


def consensus(program, comm):
    """Nobody knows how many messages come: synchronous sends, probes, and a barrier that tells the end."""
    matched = program.choose([(1, ("improbe",), True), (1, ("iprobe",), False)])
    if matched:
        look = "MPI_Improbe(MPI_ANY_SOURCE, s.tag, comm, &flag, &message, &status)"
        take = "MPI_Mrecv(buffer, s.count, s.type, &message, &status)"
    else:
        look = "MPI_Iprobe(MPI_ANY_SOURCE, s.tag, comm, &flag, &status)"
        take = "MPI_Recv(buffer, s.count, s.type, status.MPI_SOURCE, s.tag, comm, &status)"
    return block("""
        const Stream s = @stream@;
        Batch out = {.stream = &s};
        MPI_Request barrier = MPI_REQUEST_NULL;
        int size, over = 0, sent = 0, polls = 0;
        DO(MPI_Comm_size(comm, &size));
        for (int i = (int)(draw() % @most@); i >= 0; --i) {
          Message m = new_message(&s);
          DO(MPI_Issend(m.buffer, m.count, s.sent, (int)(draw() % (uint64_t)size), s.tag, comm,
                        add(&out, NULL, m.buffer)));
        }
        while (!over) {
          int flag = 0;
          MPI_Status status;
          @message@
          DO(@look@);
          if (flag) {
            unsigned char* buffer = (unsigned char*)zeroed(s.bytes);
            DO(@take@);
            took_message("found", &s, &status, buffer);
            free(buffer);
          } else if (sent) {
            DO(MPI_Test(&barrier, &over, MPI_STATUS_IGNORE));
            failed(&polls);
          } else {
            DO(MPI_Testall(out.n, out.request, &sent, MPI_STATUSES_IGNORE));
            if (sent) DO(MPI_Ibarrier(comm, &barrier));
          }
        }
        polled("consensus", polls);
        out.pending = 0;
        release(&out);
        """, stream=stream(program), look=look, take=take, message="MPI_Message message;" if matched else "",
                 most=program.random.randint(1, 4)), "Sparse exchange: nobody knows how many messages will come."


HANDLER = """
    // Calls MPI itself.
    static void note_error(MPI_Comm* comm, int* code, ...) {
      int rank, class;
      DO(MPI_Comm_rank(*comm, &rank));
      DO(MPI_Error_class(*code, &class));
      fold((uint64_t)class);
      say("handler on rank %d: %s", rank, class == MPI_ERR_TRUNCATE ? "truncated" : "another error");
    }
    """


def errors(program, comm):
    """Some messages are longer than the receive. MPICH asks MPI_COMM_WORLD's handler about errors found in a wait."""
    returned = program.random.random() < 0.4
    if not returned and "note_error" not in program.pools:
        program.pools["note_error"] = True
        program.functions.append(block(HANDLER) + "\n")
    handler = "MPI_ERRORS_RETURN" if returned else "handler"
    return block("""
        enum { each = @each@, words = 3, longest = 5, tag = @tag@ };
        MPI_Comm own;
        int me, size;
        @make@
        DO(MPI_Comm_dup(comm, &own));
        DO(MPI_Comm_set_errhandler(own, @handler@));
        DO(MPI_Comm_set_errhandler(MPI_COMM_WORLD, @handler@));
        DO(MPI_Comm_rank(own, &me));
        DO(MPI_Comm_size(own, &size));
        for (int i = 0; me == 0 && i < each * (size - 1); ++i) {
          uint32_t values[words] = {0};
          int code, class;
          MPI_Status status;
          if (i % 2) {
            DO(code = MPI_Recv(values, words, MPI_UINT32_T, MPI_ANY_SOURCE, tag, own, &status));
          } else {
            MPI_Request request;
            DO(MPI_Irecv(values, words, MPI_UINT32_T, MPI_ANY_SOURCE, tag, own, &request));
            DO(code = MPI_Wait(&request, &status));
          }
          DO(MPI_Error_class(code, &class));
          fold((uint64_t)(status.MPI_SOURCE * 100 + class));
          say("source %d %s value %08x", status.MPI_SOURCE, class == MPI_SUCCESS ? "well" : "truncated",
              class == MPI_SUCCESS ? values[0] : 0);
          if (class == MPI_SUCCESS) fold(values[0]);
        }
        for (int i = 0; me != 0 && i < each; ++i) {
          uint32_t values[longest + 1];
          fill(values, sizeof values);
          @jitter@
          DO(MPI_Send(values, (int)(draw() % (longest + 1)), MPI_UINT32_T, 0, tag, own));
        }
        DO(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
        @drop@
        DO(MPI_Comm_free(&own));
        """, each=program.random.randint(2, 4), tag=program.tags(1), handler=handler, jitter=program.jitter(1),
                 make="" if returned else "MPI_Errhandler handler;\n"
                      "DO(MPI_Comm_create_errhandler(note_error, &handler));",
                 drop="" if returned else "DO(MPI_Errhandler_free(&handler));"), \
        "Messages that may be too long, and " + ("errors returned." if returned else "an error handler.")


def partitioned(program, comm):
    """Parts of a message become ready in an order that depends on the digest, and are looked for one by one."""
    return block("""
        #if MPI_VERSION >= 4
          enum { parts = @parts@, words = @words@, rounds = @rounds@ };
          static uint64_t sent[parts * words], received[parts * words];
          MPI_Request out, in;
          int me, size;
          DO(MPI_Comm_rank(comm, &me));
          DO(MPI_Comm_size(comm, &size));
          const int left = (me + size - 1) % size, right = (me + 1) % size;
          DO(MPI_Psend_init(sent, parts, words, MPI_UINT64_T, right, @tag@, comm, MPI_INFO_NULL, &out));
          DO(MPI_Precv_init(received, parts, words, MPI_UINT64_T, left, @tag@, comm, MPI_INFO_NULL, &in));
          for (int round = 0; round < rounds; ++round) {
            const int first = (int)(digest % parts);
            int polls = 0;
            fill(sent, sizeof sent);
            DO(MPI_Start(&in));
            DO(MPI_Start(&out));
            for (int i = 0; i < parts; ++i) {
              @jitter@
              DO(MPI_Pready((first + i) % parts, out));
            }
            for (int i = 0, flag = 0; i < parts; ++i, flag = 0)
              while (!flag) {
                DO(MPI_Parrived(in, i, &flag));
                if (!flag) failed(&polls);
              }
            polled("parrived", polls);
            DO(MPI_Wait(&in, MPI_STATUS_IGNORE));
            DO(MPI_Wait(&out, MPI_STATUS_IGNORE));
            fold(hash_of(received, sizeof received));
            say("parts %08x", short_form(hash_of(received, sizeof received)));
          }
          DO(MPI_Request_free(&out));
          DO(MPI_Request_free(&in));
        #else
          (void)comm;
        #endif
        """, parts=program.random.randint(1, 4), words=program.random.choice([1, 5, 300]),
                 rounds=program.random.randint(1, 3), tag=program.tags(1), jitter=program.jitter(0.7)), \
        "Partitioned messages around a ring."


def grequest(program, comm):
    """A generalised request that the program completes itself, tested before and waited for after."""
    need_grequest(program)
    return block("""
        MPI_Request request;
        int flag = 0, early = 0;
        DO(MPI_Grequest_start(query_nothing, free_nothing, cancel_nothing, NULL, &request));
        const MPI_Request handle = request;
        @test@
        DO(MPI_Barrier(comm));
        DO(MPI_Grequest_complete(handle));
        DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
        say("generalised request: %d early", early);
        fold((uint64_t)early + (uint64_t)flag);
        """, test="for (int i = 0; i < 3; ++i) {\n  DO(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));\n"
                  "  early += flag;\n}" if program.maybe("test", 0.7) else ""), "A generalised request."


def nobody(program, comm):
    """Sends to nobody and receives from nobody."""
    return block("""
        int value = 7, count, flag = 0;
        MPI_Status status;
        MPI_Request request;
        DO(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm));
        DO(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, &request));
        DO(MPI_Wait(&request, &status));
        MPI_Get_count(&status, MPI_INT, &count);
        @more@
        say("nobody: %s, %d words, value %d", status.MPI_SOURCE == MPI_PROC_NULL ? "right" : "wrong", count, value);
        fold((uint64_t)flag);
        """, more="DO(MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, comm, &flag, &status));"
                 if program.maybe("iprobe", 0.5) else ""), "Nobody's messages."


def clock(program, comm):
    """Readings of the clock become part of the digest, and decide how long to look."""
    return block("""
        double first, now;
        uint64_t bits;
        int reads = 0, rank;
        DO(first = MPI_Wtime());
        DO(MPI_Comm_rank(comm, &rank));
        do {
          DO(now = MPI_Wtime());
          ++reads;
        } while (now - first < @seconds@ && reads < 200);
        memcpy(&bits, &now, sizeof bits);
        fold(bits);
        say("rank %d read the clock %d times: %.9f", rank, reads, now);
        """, seconds=program.random.choice(["1e-6", "10e-6", "30e-6"])), "Readings of the clock."
