"""Phases of collective operations: blocking, nonblocking and persistent, on any kind of communicator."""

from completions import completion
from phases import plan, sending, stream, table
from program import block
from takers import taker

W = "MPI_UINT64_T"
ADD = f"{W}, MPI_SUM"

# name: arguments. w is the Work; @in@ may be MPI_IN_PLACE where the third entry says so: "all" ranks or the "root".
OPERATIONS = {
    "Barrier": ("comm", None),
    "Bcast": (f"w->out, 5, {W}, @root@, comm", None),
    "Reduce": (f"@in@, w->out, 4, {ADD}, @root@, comm", "root"),
    "Allreduce": (f"@in@, w->out, 4, {W}, MPI_BXOR, comm", "all"),
    "Gather": (f"@in@, 2, {W}, w->out, 2, {W}, @root@, comm", "root"),
    "Gatherv": (f"@in@, w->counts[w->me], {W}, w->out, w->counts, w->displs, {W}, @root@, comm", "root"),
    "Scatter": (f"w->in, 2, {W}, @out@, 2, {W}, @root@, comm", "root"),
    "Scatterv": (f"w->in, w->counts, w->displs, {W}, @out@, w->counts[w->me], {W}, @root@, comm", "root"),
    "Allgather": (f"@in@, 2, {W}, w->out, 2, {W}, comm", "all"),
    "Allgatherv": (f"@in@, w->counts[w->me], {W}, w->out, w->counts, w->displs, {W}, comm", "all"),
    "Alltoall": (f"@in@, 2, {W}, w->out, 2, {W}, comm", "all"),
    "Alltoallv": (f"@in@, w->pairs, w->displs, {W}, w->out, w->pairs, w->displs, {W}, comm", "all"),
    "Alltoallw": ("@in@, w->pairs, w->offsets, w->types, w->out, w->pairs, w->offsets, w->types, comm", "all"),
    "Scan": (f"@in@, w->out, 3, {ADD}, comm", "all"),
    "Exscan": (f"@in@, w->out, 3, {ADD}, comm", "all"),
    "Reduce_scatter": (f"@in@, w->out, w->counts, {ADD}, comm", "all"),
    "Reduce_scatter_block": (f"@in@, w->out, 2, {ADD}, comm", "all"),
}
NOT_BETWEEN_GROUPS = {"Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block"}
# MPICH 4.0.2 uses freed memory when these are started a second time: wrong results, or an invalid communicator.
NOT_STARTED_AGAIN = {"Gather", "Scatter", "Allgather"}
NEIGHBOURS = {
    "Neighbor_allgather": f"w->in, 2, {W}, w->out, 2, {W}, comm",
    "Neighbor_allgatherv": f"w->in, 2, {W}, w->out, w->counts, w->displs, {W}, comm",
    "Neighbor_alltoall": f"w->in, 2, {W}, w->out, 2, {W}, comm",
    "Neighbor_alltoallv": f"w->in, w->counts, w->displs, {W}, w->out, w->counts, w->displs, {W}, comm",
    "Neighbor_alltoallw": "w->in, w->counts, w->places, w->types, w->out, w->counts, w->places, w->types, comm",
}


def operation(program, comm, without=frozenset()):
    """(name, arguments, statement that prepares the Work `w`) of a random operation that fits the communicator."""
    rng = program.random
    root = rng.randrange(comm.smallest)
    if comm.degree and program.maybe("neighbours", 0.6):
        name = rng.choice(sorted(NEIGHBOURS))
        return name, NEIGHBOURS[name], "w = new_work(comm, degree, 1);"
    prepare = "w = new_work(comm, -1, 0);"
    names = [name for name in OPERATIONS if name not in without and not (comm.inter and name in NOT_BETWEEN_GROUPS)]
    name = rng.choice(names)
    arguments, in_place = OPERATIONS[name]
    where = str(root)
    if comm.inter:
        where = f"(in_first ? (w->me == {root} ? MPI_ROOT : MPI_PROC_NULL) : {root})"
    source, target = "w->in", "w->out"
    if in_place and not comm.inter and rng.random() < 0.35:
        here = "MPI_IN_PLACE" if in_place == "all" else f"w->me == {root} ? MPI_IN_PLACE : "
        if in_place == "all":
            source = here
        else:
            source, target = here + "w->in", here + "w->out"
        prepare += "\nmemcpy(w->out, w->in, sizeof w->out);"
    elif name == "Bcast":
        prepare += "\nmemcpy(w->out, w->in, sizeof w->out);"
    return name, block(arguments, **{"in": source, "out": target, "root": where}), prepare


def call(name, form, arguments):
    if form == "blocking":
        return f"DO(MPI_{name}({arguments}));"
    if form == "nonblocking":
        return f"DO(MPI_I{name[0].lower() + name[1:]}({arguments}, request));"
    return f"DO(MPI_{name}_init({arguments}, MPI_INFO_NULL, request));"


def side(comm):
    """Rooted operations between groups need to know in which one this rank is."""
    return table("first", [int(rank in comm.groups[0]) for rank in range(sum(map(len, comm.groups)))]) + \
        "\nconst int in_first = first[world_rank];\n(void)in_first;" if comm.inter else ""


def degree(comm):
    return f"enum {{ degree = {comm.degree} }};" if comm.degree else ""


def blocking(program, comm):
    program.use("collectives")
    parts = []
    for _ in range(program.random.randint(1, 4)):
        name, arguments, prepare = operation(program, comm)
        parts.append(block("""
            @prepare@
            @call@
            learnt("@name@", w);
            free(w);
            """, prepare=prepare, call=call(name, "blocking", arguments), name=name))
    return block("""
        Work* w;
        @side@
        @degree@
        for (int i = 0; i < @times@; ++i) {
          @jitter@
          @parts@
        }
        """, parts="\n".join(parts), side=side(comm), degree=degree(comm), times=program.random.randint(1, 2),
                 jitter=program.jitter(0.5)), "Collectives."


def nonblocking(program, comm):
    """Collectives in flight while messages from many are taken, completed together with receives."""
    receivers, sends, takes = plan(program, comm, 2)
    together = program.random.random() < 0.5
    parts, results = [], []
    for number in range(program.random.randint(1, 3)):
        name, arguments, prepare = operation(program, comm)
        parts.append(block("""
            @prepare@
            request = add(&b, NULL, NULL);
            @call@
            work[@number@] = w;
            """, prepare=prepare, call=call(name, "nonblocking", arguments), number=number))
        results.append(f'learnt("{name}", work[{number}]);\nfree(work[{number}]);')
    if together:
        take = block("""
            for (int i = 0; i < takes[world_rank]; ++i) {
              unsigned char* buffer = (unsigned char*)zeroed(s.bytes);
              DO(MPI_Irecv(buffer, s.count, s.type, MPI_ANY_SOURCE, s.tag, s.comm, add(&b, buffer, buffer)));
            }
            """)
    else:
        take = f"{taker(program)}(&s, takes[world_rank]);"
    return block("""
        @receivers@
        @sends@
        @takes@
        enum { peers = @peers@ };
        @side@
        @degree@
        const Stream s = @stream@;
        Batch out = {.stream = &s}, b = {.stream = &s};
        MPI_Request* request;
        Work *w, *work[@count@];
        @parts@
        @sending@
        @take@
        @jitter@
        @complete@(&b);
        release(&b);
        @complete2@(&out);
        release(&out);
        @results@
        """, receivers=table("to", receivers), sends=table("sends", sends), takes=table("takes", takes),
                 peers=len(receivers), side=side(comm), degree=degree(comm), stream=stream(program), count=len(parts),
                 parts="\n".join(parts), sending=sending(program, sends, takes), take=take,
                 jitter=program.jitter(0.4), complete=completion(program), complete2=completion(program),
                 results="\n".join(results)), "Nonblocking collectives and messages at the same time."


def persistent(program, comm):
    """MPICH 4.0.2 errs, hangs, or reports what is not done, unless these are completed by Wait, Waitall or Test."""
    parts, results, again = [], [], []
    for number in range(program.random.randint(1, 3)):
        name, arguments, prepare = operation(program, comm, NOT_STARTED_AGAIN)
        parts.append(block("""
            @prepare@
            request = add(&b, NULL, NULL);
            @call@
            work[@number@] = w;
            """, prepare=prepare, call=call(name, "persistent", arguments), number=number))
        results.append(f'learnt("{name}", work[{number}]);')
        again.append(f"free(work[{number}]);")
    return block("""
        #if MPI_VERSION >= 4
          @side@
          @degree@
          Batch b = {0};
          MPI_Request* request;
          Work *w, *work[@count@];
          @parts@
          for (int i = 0; i < @times@; ++i) {
            for (int k = 0; k < b.n; ++k) b.active[k] = 1;
            b.pending = b.n;
            @jitter@
            DO(MPI_Startall(b.n, b.request));
            @complete@(&b);
            @results@
            for (int k = 0; k < b.n; ++k) fill(work[k]->in, sizeof work[k]->in);
          }
          release(&b);
          @again@
        #else
          (void)comm;
        #endif
        """, side=side(comm), degree=degree(comm), count=len(parts), parts="\n".join(parts),
                 times=program.random.randint(1, 3), jitter=program.jitter(0.5),
                 complete=completion(program, ("wait", "waitall", "test", "get_status")),
                 results="\n".join(results), again="\n".join(again)), "Persistent collectives."


OWN_OPERATION = """
    // Neither commutative nor silent: it reads MPI's clock.
    static void mix_words(void* in, void* inout, int* n, MPI_Datatype* type) {
      double now;
      (void)type;
      now = MPI_Wtime();  // not counted: a call that was cut off may come further in a replay
      for (int i = 0; i < *n; ++i)
        ((uint64_t*)inout)[i] = ((uint64_t*)in)[i] * 31u + ((uint64_t*)inout)[i] + (uint64_t)(now < 0);
    }
    """
OWN_ATTRIBUTE = """
    // Called when a communicator is duplicated and freed; both look for a message that nobody sends.
    static int look_around(MPI_Comm comm) {
      int flag = 0, rank;
      CALL(MPI_Comm_rank(comm, &rank));
      @iprobe@
      fold((uint64_t)(flag + rank));
      return flag;
    }
    static int copy_value(MPI_Comm comm, int key, void* extra, void* in, void* out, int* copied) {
      double now;
      (void)key, (void)extra;
      CALL(now = MPI_Wtime());
      say("attribute copied at %.9f, flag %d", now, look_around(comm));
      memcpy(out, &in, sizeof in);
      *copied = 1;
      return MPI_SUCCESS;
    }
    static int drop_value(MPI_Comm comm, int key, void* value, void* extra) {
      (void)key, (void)value, (void)extra;
      say("attribute dropped, flag %d", look_around(comm));
      return MPI_SUCCESS;
    }
    """


def callbacks(program, comm):
    """The program's own operation and attribute functions, which call MPI.

    The operation is used in blocking collectives only: in which of several tests a nonblocking one calls it is the
    library's own affair.
    """
    if "callbacks" not in program.pools:
        program.pools["callbacks"] = program.tags(1)
        probe = f"CALL(MPI_Iprobe(MPI_ANY_SOURCE, {program.pools['callbacks']}, comm, &flag, MPI_STATUS_IGNORE));"
        program.functions.append(block(OWN_OPERATION) + "\n")
        program.functions.append(block(OWN_ATTRIBUTE, iprobe=probe if program.maybe("iprobe", 1) else "") + "\n")
    return block("""
        MPI_Op mix;
        MPI_Comm copy;
        int key;
        Work* w = new_work(comm, -1, 0);
        DO(MPI_Op_create(mix_words, 0, &mix));
        DO(@call@);
        learnt("own operation", w);
        free(w);
        DO(MPI_Op_free(&mix));
        DO(MPI_Comm_create_keyval(copy_value, drop_value, &key, NULL));
        DO(MPI_Comm_set_attr(comm, key, NULL));
        DO(MPI_Comm_dup(comm, &copy));
        DO(MPI_Comm_free(&copy));
        DO(MPI_Comm_delete_attr(comm, key));
        DO(MPI_Comm_free_keyval(&key));
        """, call=program.random.choice([f"MPI_Allreduce(w->in, w->out, 3, {W}, mix, comm)",
                                         f"MPI_Reduce(w->in, w->out, 3, {W}, mix, 0, comm)",
                                         f"MPI_Scan(w->in, w->out, 3, {W}, mix, comm)"])), \
        "Functions of the program that MPI calls, and that call MPI."
