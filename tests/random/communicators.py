"""The communicators of a program: made at its begin, freed in random order at its end."""

from program import Comm, block


def duplicate(program, name):
    how = program.random.choice([
        "DO(MPI_Comm_dup(MPI_COMM_WORLD, &@name@));",
        "DO(MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &@name@));",
        "MPI_Request @name@_made;\nDO(MPI_Comm_idup(MPI_COMM_WORLD, &@name@, &@name@_made));\n"
        "DO(MPI_Wait(&@name@_made, MPI_STATUS_IGNORE));",
    ])
    return block(how, name=name), Comm(name, [list(range(program.ranks))])


def split(program, name):
    colours = [program.random.randrange(2) for _ in range(program.ranks)]
    keys = [program.random.randrange(3) for _ in range(program.ranks)]
    if program.random.random() < 0.3:
        colours[program.random.randrange(program.ranks)] = "MPI_UNDEFINED"
    groups = [sorted((rank for rank in range(program.ranks) if colours[rank] == colour), key=lambda r: (keys[r], r))
              for colour in (0, 1)]
    text = block("""
        static const int @name@_colour[] = {@colours@}, @name@_key[] = {@keys@};
        DO(MPI_Comm_split(MPI_COMM_WORLD, @name@_colour[world_rank], @name@_key[world_rank], &@name@));
        """, name=name, colours=", ".join(map(str, colours)), keys=", ".join(map(str, keys)))
    return text, Comm(name, [group for group in groups if group])


def create(program, name):
    members = program.random.sample(range(program.ranks), program.random.randint(2, program.ranks))
    listed = ", ".join(map(str, members))
    how = "DO(MPI_Comm_create(MPI_COMM_WORLD, @name@_group, &@name@));"
    if program.random.random() < 0.5:
        condition = " || ".join(f"world_rank == {rank}" for rank in members)
        how = f"if ({condition})\n" \
              f"  DO(MPI_Comm_create_group(MPI_COMM_WORLD, @name@_group, {program.tags(1)}, &@name@));"
    return block("""
        static const int @name@_members[] = {@listed@};
        MPI_Group @name@_world, @name@_group;
        DO(MPI_Comm_group(MPI_COMM_WORLD, &@name@_world));
        DO(MPI_Group_incl(@name@_world, @count@, @name@_members, &@name@_group));
        @how@
        DO(MPI_Group_free(&@name@_group));
        DO(MPI_Group_free(&@name@_world));
        """, how=block(how, name=name), name=name, listed=listed, count=len(members)), Comm(name, [members])


def cartesian(program, name):
    dims = program.random.choice([d for d in ([program.ranks], [2, program.ranks // 2]) if min(d) > 0])
    periods = [program.random.randrange(2) for _ in dims]
    size = dims[0] * (dims[1] if len(dims) > 1 else 1)
    return block("""
        static const int @name@_dims[] = {@dims@}, @name@_periods[] = {@periods@};
        DO(MPI_Cart_create(MPI_COMM_WORLD, @n@, @name@_dims, @name@_periods, 0, &@name@));
        """, name=name, dims=", ".join(map(str, dims)), periods=", ".join(map(str, periods)), n=len(dims)), \
        Comm(name, [list(range(size))], degree=2 * len(dims))


def graph(program, name):
    """Every rank sends to the next few and receives from the last few."""
    degree = program.random.randint(1, program.ranks - 1)
    return block("""
        int @name@_in[@degree@], @name@_out[@degree@];
        for (int i = 0; i < @degree@; ++i) {
          @name@_in[i] = (world_rank + world_size - 1 - i) % world_size;
          @name@_out[i] = (world_rank + 1 + i) % world_size;
        }
        DO(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, @degree@, @name@_in, MPI_UNWEIGHTED, @degree@, @name@_out,
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &@name@));
        """, name=name, degree=degree), Comm(name, [list(range(program.ranks))], degree=degree)


def between(program, name):
    """An intercommunicator between the first ranks and the others."""
    cut = program.random.randint(1, program.ranks - 1)
    return block("""
        MPI_Comm @name@_side;
        DO(MPI_Comm_split(MPI_COMM_WORLD, world_rank < @cut@, 0, &@name@_side));
        DO(MPI_Intercomm_create(@name@_side, 0, MPI_COMM_WORLD, world_rank < @cut@ ? @cut@ : 0, @tag@, &@name@));
        DO(MPI_Comm_free(&@name@_side));
        """, name=name, cut=cut, tag=program.tags(1)), \
        Comm(name, [list(range(cut)), list(range(cut, program.ranks))], inter=True)


KINDS = [
    (3, (), ("copy", duplicate)),
    (3, (), ("part", split)),
    (2, (), ("some", create)),
    (2, ("neighbours",), ("grid", cartesian)),
    (2, ("neighbours",), ("graph", graph)),
    (2, ("intercomm",), ("between", between)),
]


def make_all(program):
    program.comms.append(Comm("world", [list(range(program.ranks))], free=False))
    program.statements.append("UNUSED MPI_Comm world = MPI_COMM_WORLD;")
    for number in range(program.random.randint(2, 4)):
        program.fork("communicator", number)
        stem, make = program.choose(KINDS)
        name = program.name(stem)
        text, comm = make(program, name)
        program.comms.append(comm)
        program.statements += [f"MPI_Comm {name} = MPI_COMM_NULL;", text]


def free_all(program):
    program.fork("freeing")
    comms = [comm for comm in program.comms if comm.free]
    program.random.shuffle(comms)
    for comm in comms:
        program.statements.append(f"if ({comm.name} != MPI_COMM_NULL) DO(MPI_Comm_free(&{comm.name}));")
