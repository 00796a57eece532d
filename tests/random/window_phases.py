"""Phases with a window: see window_runtime.h for what may meet what."""

from program import block

KINDS = [("kCreated", "created"), ("kAllocated", "allocated"), ("kDynamic", "dynamic_windows")]
STYLES = ["kFence", "kEpochs", "kExclusive", "kShared", "kAlways"]


def writing(program):
    rng = program.random
    distance = rng.randint(0, program.ranks - 1)
    return rng.choice([f"put_to(&s, {distance}, {rng.randrange(2)});", f"add_to(&s, {distance}, {rng.randrange(program.ranks)});",
                       *[f"count_at(&s, {distance});"] * 3, f"swap_at(&s, {distance});", f"exchange_at(&s, {distance});"])


def phase(program, comm):
    """Statements of main for one phase with a window."""
    program.fork("windows", len(program.functions))
    rng = program.random
    kinds = [kind for kind, family in KINDS if family != "dynamic_windows" or program.allowed([family])]
    kind, style = rng.choice(kinds), rng.choice(STYLES)
    if kind == "kDynamic":
        program.use("dynamic_windows")
    writes, has_put = [], False
    for _ in range(rng.randint(2, 6)):
        one = writing(program)
        if one.startswith("put_to") and has_put:  # one in an epoch: two could go to the same place
            continue
        has_put |= one.startswith("put_to")
        writes.append(one + program.jitter(0.3, 100))
    gets = [f"get_from(&s, {rng.randint(0, program.ranks - 1)}, {rng.randrange(20)}, {rng.randrange(2)});" for _ in range(rng.randint(1, 3))]
    name = program.name("with_window")
    program.function(f"static void {name}(MPI_Comm comm)", block("""
        Shared s;
        share(&s, comm, @kind@, @style@);
        for (int round = 0; round < @rounds@; ++round) {
          @jitter@
          @store@
          begin_epoch(&s);
          @writes@
          end_epoch(&s, @polls@);
          look(&s);
          begin_epoch(&s);
          @gets@
          end_epoch(&s, 0);
        }
        unshare(&s);
        """, kind=kind, style=style, rounds=rng.choice([1, 2, 4]), jitter=program.jitter(0.7), store="store(&s);" if rng.random() < 0.5 else "",
        writes="\n".join(writes), gets="\n".join(gets), polls=rng.randrange(2)), "Windows: who comes first is seen in what atomic operations return.")
    return f"if ({comm.name} != MPI_COMM_NULL) {name}({comm.name});"
