"""How several messages of a stream are taken: void take_N(const Stream* s, int n)."""

from completions import completion
from program import block
from singles import single

POST = """
    unsigned char* buffer = (unsigned char*)zeroed(s->bytes);
    DO(MPI_Irecv(buffer, s->count, s->type, MPI_ANY_SOURCE, s->tag, s->comm, add(&b, buffer, buffer)));
    """


def one_by_one(program, to_itself=True):
    first, second = single(program, to_itself), single(program, to_itself)
    if first == second:
        call = f"{first}(s, &status, buffer);"
    else:
        condition = program.random.choice(["digest % 2", "digest % 3 == 0", "i % 2"])
        call = block(f"""
            if ({condition})
              {first}(s, &status, buffer);
            else
              {second}(s, &status, buffer);
            """)
    return block("""
        for (int i = 0; i < n; ++i) {
          MPI_Status status;
          unsigned char* buffer = (unsigned char*)zeroed(s->bytes);
          @call@
          took_message("took", s, &status, buffer);
          free(buffer);
          @jitter@
        }
        """, call=call, jitter=program.jitter(0.2, 100))


def batches(program):
    most = program.random.choice(["2", "3", "8", "1 + (int)(digest % 4)"])
    return block("""
        while (n > 0) {
          Batch b = {.stream = s};
          for (const int most = @most@; n > 0 && b.n < most; --n) {
            @post@
          }
          @jitter@
          @complete@(&b);
          release(&b);
        }
        """, most=most, post=block(POST), jitter=program.jitter(0.4), complete=completion(program))


def persistent_batches(program):
    """Requests that are started again and again; in the last round some of them stay inactive."""
    start = program.random.choice(["DO(MPI_Startall(b.pending, b.request));",
                                   "for (int i = 0; i < b.pending; ++i) DO(MPI_Start(&b.request[i]));"])
    init = "DO(MPI_Recv_init(buffer, s->count, s->type, MPI_ANY_SOURCE, s->tag, s->comm, add(&b, buffer, buffer)));"
    if program.maybe("large_count", 0.2):
        init = "#if MPI_VERSION >= 4\n" + init.replace("Recv_init", "Recv_init_c") + "\n#else\n" + init + "\n#endif"
    return block("""
        Batch b = {.stream = s};
        while (b.n < @most@ && b.n < n) {
          unsigned char* buffer = (unsigned char*)zeroed(s->bytes);
          @init@
        }
        while (n > 0) {
          b.pending = n < b.n ? n : b.n;
          for (int i = 0; i < b.pending; ++i) {
            b.active[i] = 1;
            memset(b.buffer[i], 0, s->bytes);
          }
          n -= b.pending;
          @start@
          @jitter@
          @complete@(&b);
        }
        release(&b);
        """, most=program.random.choice([1, 2, 3]), start=start, init=init, jitter=program.jitter(0.3),
                 complete=completion(program))


def unobserved(program):
    """The first receives are posted, take their messages, and are looked at only after the others."""
    return block("""
        Batch b = {.stream = s};
        for (int hidden = @share@; hidden > 0; --hidden, --n) {
          @post@
        }
        @others@
        @complete@(&b);
        release(&b);
        """, share=program.random.choice(["n / 2", "n > 1", "n"]), post=block(POST), complete=completion(program),
                 others=one_by_one(program, to_itself=False))


def freed(program):
    """A receive that nobody can see complete takes a message all the same."""
    return block("""
        if (n > 1 && s->alone) {
          static unsigned char* last = NULL;
          MPI_Request request;
          last = (unsigned char*)zeroed(s->bytes + sizeof last);
          DO(MPI_Irecv(last, s->count, s->type, MPI_ANY_SOURCE, s->tag, s->comm, &request));
          DO(MPI_Request_free(&request));
          --n;
        }
        @others@
        """, others=one_by_one(program, to_itself=False))


GREQUEST = """
    // Nothing to say about it but that it is there.
    static int query_nothing(void* extra, MPI_Status* status) {
      (void)extra;
      status->MPI_SOURCE = MPI_UNDEFINED;
      status->MPI_TAG = MPI_UNDEFINED;
      MPI_Status_set_cancelled(status, 0);
      return MPI_Status_set_elements(status, MPI_INT, 0);
    }
    static int free_nothing(void* extra) {
      (void)extra;
      return MPI_SUCCESS;
    }
    static int cancel_nothing(void* extra, int complete) {
      (void)extra;
      (void)complete;
      return MPI_SUCCESS;
    }
    """


def need_grequest(program):
    if "grequest" not in program.pools:
        program.pools["grequest"] = True
        program.functions.append(block(GREQUEST) + "\n")


def with_grequest(program):
    """A generalised request among the receives, completed by the program after the first message."""
    need_grequest(program)
    test = program.maybe("test", 0.5)
    wait = program.random.choice(["any", "some"])
    if wait == "some":
        loop = "int count = 0, at[kMost];\n"
        loop += ("while (count == 0) DO(MPI_Testsome(b.n, b.request, &count, at, statuses));" if test else
                 "DO(MPI_Waitsome(b.n, b.request, &count, at, statuses));")
        loop += '\nfor (int k = 0; k < count; ++k) completed(&b, "some", at[k], &statuses[k]);'
    else:
        loop = "int i, flag = 0;\n" if test else "int i;\n"
        loop += ("while (!flag) DO(MPI_Testany(b.n, b.request, &i, &flag, &statuses[0]));" if test else
                 "DO(MPI_Waitany(b.n, b.request, &i, &statuses[0]));")
        loop += '\ncompleted(&b, "any", i, &statuses[0]);'
    return block("""
        while (n > 0) {
          Batch b = {.stream = s};
          MPI_Status statuses[kMost];
          int open = 1;
          MPI_Request* const own = add(&b, NULL, NULL);
          DO(MPI_Grequest_start(query_nothing, free_nothing, cancel_nothing, NULL, own));
          const MPI_Request handle = *own;
          for (; n > 0 && b.n < @most@; --n) {
            @post@
          }
          while (b.pending > 0) {
            @loop@
            if (open) DO(MPI_Grequest_complete(handle));
            open = 0;
          }
          release(&b);
        }
        """, most=program.random.choice([2, 4]), post=block(POST), loop=loop)


TAKERS = [
    (5, (), one_by_one),
    (5, (), batches),
    (2, ("persistent",), persistent_batches),
    (2, ("unobserved",), unobserved),
    (1, ("free_receive",), freed),
    (1, ("grequest",), with_grequest),
]


def taker(program, observed=False):
    """The name of a function that takes n messages. observed: only such that may run while others are pending."""
    def make():
        options = [(5, (), lambda p: one_by_one(p, to_itself=False)), (5, (), batches)] if observed else TAKERS
        body = program.choose(options)(program)
        name = program.name("take")
        program.function(f"static void {name}(const Stream* s, int n)", body)
        return name
    return program.from_pool(f"takers {observed}", make, 4)
