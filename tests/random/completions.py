"""How a batch of requests is completed: void complete_N(Batch* b)."""

from program import block

LOOPS = {
    "waitall": ((), """
        DO(MPI_Waitall(b->n, b->request, @statuses@));
        for (int i = 0; i < b->n; ++i) completed(b, "waitall", i, @status_i@);
        """),
    "wait": ((), """
        for (int k = 0; k < b->n; ++k) {
          const int i = @order@;
          if (!b->active[i]) continue;
          DO(MPI_Wait(&b->request[i], @status@));
          completed(b, "wait", i, @seen@);
        }
        """),
    "waitany": ((), """
        while (b->pending > 0) {
          int i;
          DO(MPI_Waitany(b->n, b->request, &i, @status@));
          completed(b, "waitany", i, @seen@);
          @jitter@
        }
        """),
    "waitsome": ((), """
        while (b->pending > 0) {
          int n, at[kMost];
          @jitter@
          DO(MPI_Waitsome(b->n, b->request, &n, at, @statuses@));
          for (int k = 0; k < n; ++k) completed(b, "waitsome", at[k], @status_k@);
        }
        """),
    "test": (("test",), """
        int polls = 0;
        while (b->pending > 0)
          for (int i = 0; i < b->n; ++i) {
            int flag = 0;
            if (!b->active[i]) continue;
            DO(MPI_Test(&b->request[i], &flag, @status@));
            if (flag)
              completed(b, "test", i, @seen@);
            else
              failed(&polls);
          }
        polled("test", polls);
        """),
    "testall": (("test",), """
        int flag = 0, polls = 0;
        while (!flag@limit@) {
          DO(MPI_Testall(b->n, b->request, &flag, @statuses@));
          if (!flag) failed(&polls);
        }
        polled("testall", polls);
        if (!flag) DO(MPI_Waitall(b->n, b->request, @statuses@));
        for (int i = 0; i < b->n; ++i) completed(b, "testall", i, @status_i@);
        """),
    "testany": (("test",), """
        while (b->pending > 0) {
          int i, flag = 0, polls = 0;
          while (!flag@limit@) {
            DO(MPI_Testany(b->n, b->request, &i, &flag, @status@));
            if (!flag) failed(&polls);
          }
          polled("testany", polls);
          if (!flag) DO(MPI_Waitany(b->n, b->request, &i, @status@));
          completed(b, "testany", i, @seen@);
        }
        """),
    "testsome": (("test",), """
        while (b->pending > 0) {
          int n = 0, polls = 0, at[kMost];
          while (n == 0) {
            DO(MPI_Testsome(b->n, b->request, &n, at, @statuses@));
            if (n == 0) failed(&polls);
          }
          polled("testsome", polls);
          for (int k = 0; k < n; ++k) completed(b, "testsome", at[k], @status_k@);
        }
        """),
    "get_status": (("get_status",), """
        for (int i = 0; i < b->n; ++i) {
          int flag = 0, polls = 0;
          if (!b->active[i]) continue;
          while (!flag@limit@) {
            DO(MPI_Request_get_status(b->request[i], &flag, @status@));
            if (!flag) failed(&polls);
          }
          polled("get_status", polls);
          DO(MPI_Wait(&b->request[i], @status@));
          completed(b, "wait", i, @seen@);
        }
        """),
    "test then wait": (("test",), """
        for (int i = 0; i < b->n; ++i) {
          int flag = 0;
          if (!b->active[i]) continue;
          for (int polls = (int)(digest % @few@); !flag && polls >= 0; --polls)
            DO(MPI_Test(&b->request[i], &flag, @status@));
          say("request %d %s", i, flag ? "in time" : "late");
          if (!flag) DO(MPI_Wait(&b->request[i], @status@));
          fold((uint64_t)flag);
          completed(b, "test or wait", i, @seen@);
        }
        """),
}


def completion(program, kinds=tuple(LOOPS)):
    """The name of a function that completes every active request of a batch, in one of these ways."""
    def make():
        rng = program.random
        kind = program.choose([(1, families, kind) for kind, (families, _) in LOOPS.items() if kind in kinds])
        ignored = rng.random() < 0.3
        body = LOOPS[kind][1]
        values = {
            "order": rng.choice(["k", "b->n - 1 - k"]),
            "jitter": program.jitter(0.4),
            "limit": rng.choice(["", "", f" && polls < {rng.choice([3, 50, 1000])}"]),
            "few": rng.choice([2, 5, 40]),
            "statuses": "MPI_STATUSES_IGNORE" if ignored else "statuses",
            "status": "MPI_STATUS_IGNORE" if ignored else "&status",
            "status_i": "NULL" if ignored else "&statuses[i]",
            "status_k": "NULL" if ignored else "&statuses[k]",
            "seen": "NULL" if ignored else "&status",
        }
        text = block(body, **values)
        if "&status" in text and "statuses" not in text:
            text = "MPI_Status status;\n" + text
        if "statuses" in text:
            text = "MPI_Status statuses[kMost];\n" + text
        name = program.name("complete")
        comment = f"By {kind}" + (", without statuses." if ignored else ".")
        program.function(f"static void {name}(Batch* b)", text, comment)
        return name
    return program.from_pool(("completions", kinds), make, 5)
