"""Programs that see what others write by loading it, compiled with `reprise cc`: each rank alone gives what it gave then."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import onesided
import shmem as symmetric
from families import TRIES, differs
from harness import SOURCES, Case, Failure, Skip, mpi_environment

RANKS = 3
# What a program does, by its arguments: the paper's Listing 1 and racy programs of each kind, in every language; then what only some have.
EVERYWHERE = ["spin", "steal", "race", "atomics", "copies", "vectors"]
C_KINDS = EVERYWHERE + ["shared", "create", "mixed"]  # tests/programs/access_kinds.h
DETERMINISTIC = "together"  # of OpenSHMEM: collectives
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
COMPILERS = ["gcc", "clang"]
# The end of a source's name: the word of `reprise`, the wrapper, and what tells that wrapper its compiler.
WRAPPERS = {".c": ("cc", "mpicc", "CC"), ".cpp": ("c++", "mpicxx", "CXX"), ".f90": ("fc", "mpifort", "FC")}
C = {"gcc": "gcc", "clang": "clang"}
CXX = {"gcc": "g++", "clang": "clang++"}
BEHIND = {"mpicc": C, "oshcc": C, "mpicxx": CXX, "oshc++": CXX, "mpifort": {"gcc": "gfortran"}}


def wrapped(scene, source, compiler, wrapper=None):
    """(the words of `reprise cc`, the environment that chooses the compiler behind the MPI's own wrapper)"""
    command, usual, variable = WRAPPERS[".cpp" if wrapper == "oshc++" else Path(source).suffix]
    name = wrapper or f"{usual}.{scene.case.mpi}"
    wrapper = wrapper or usual
    behind = BEHIND[wrapper][compiler]
    if not shutil.which(behind):
        raise Skip(f"{behind} is not installed")
    prefix = "OSHMEM" if wrapper.startswith("osh") else "OMPI" if scene.case.mpi == "openmpi" else "MPICH"
    return [scene.settings.reprise, command, "--wrap", name], {f"{prefix}_{variable}": behind}


def compiled(scene, source, compiler, level, name=None, more=(), wrapper=None):
    words, env = wrapped(scene, source, compiler, wrapper)
    target = scene.dir / (name or f"{Path(source).stem}{level}-{compiler}")
    with_support = [SOURCES / "fortran_support.f90", "-J", scene.dir] if source.endswith(".f90") else []
    language = ["-std=c++20"] if source.endswith(".cpp") else ["-x", "c++"] if wrapper == "oshc++" else []
    command = [*words, level, "-g", *language, "-o", target, *with_support, SOURCES / source, *more]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ | env, cwd=scene.dir)
    if done.returncode != 0 or done.stderr.strip():
        raise Failure(f"$ {shlex.join(map(str, command))}\n{done.stderr}")
    return target


def launch(scene, program, *words, ranks=RANKS):
    launcher, *rest = scene.launch(ranks, program, *words)
    return [launcher, *(["--mca", "osc", "^rdma"] if scene.case.mpi == "openmpi" else []), *rest]


def by_kind(outputs):
    """{kind: what the ranks gave for it}"""
    kinds = {}
    for name, text in sorted(outputs.items()):
        for part in text.split(b"-- ")[1:]:
            kinds.setdefault(part.split(b"\n", 1)[0].decode(), []).append((name, part))
    return kinds


def each_alone(scene, command, kinds):
    """
    All ranks side by side and one of them alone, two recordings per unit of --repeat. The recordings of each kind are
    not all alike, or the replays would prove nothing.
    """
    first, same = None, set(kinds)
    for turn in range(2 * scene.settings.repeat):
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, recorded = scene.record(command, words=("--data", "all", "--fidelity", "access"))
        scene.check_status(result, 0, "record")
        scene.check(len(recorded) == RANKS, "record: output files are missing", result)
        replay, outputs = scene.side_by_side("all")
        scene.check_status(replay, 0, "all ranks side by side")
        scene.check_same(recorded, outputs, "all ranks side by side", replay)
        if turn % RANKS == 0:
            rank = turn // RANKS % RANKS
            replay, outputs = scene.solo(rank)
            scene.check_status(replay, 0, f"rank {rank} alone")
            scene.check_same({f"out-{rank}.txt": recorded[f"out-{rank}.txt"]}, outputs, f"rank {rank} alone", replay)
        now = by_kind(recorded)
        first = first or now
        same -= {kind for kind in kinds if now[kind] != first[kind]}
    tries = 0
    while same and (tries := tries + 1) <= TRIES:
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, recorded = scene.record(command, words=("--data", "all", "--fidelity", "access"))
        scene.check_status(result, 0, "record")
        same -= {kind for kind in same if by_kind(recorded)[kind] != first[kind]}
    scene.check(not same, f"not nondeterministic here: {', '.join(sorted(same))}")


def at_level(source, compiler, level, kinds, more=(), wrapper=None, start=None):
    def function(scene):
        program = compiled(scene, source, compiler, level, more=more, wrapper=wrapper)
        each_alone(scene, (start or launch)(scene, program, *kinds), [kind for kind in kinds if kind != DETERMINISTIC])
    return function


def threads(scene):
    for level in LEVELS:
        command = launch(scene, compiled(scene, "access_threads.c", "gcc", level, more=("-pthread",)))
        differs(scene, command, RANKS)
        each_alone(scene, command, ())


def some(scene):
    """The values of some ranks only; the others have no copy of their windows."""
    program = compiled(scene, "access.c", "gcc", "-O2")
    for ranks in ("1", "0,2"):
        for name in C_KINDS:
            shutil.rmtree(scene.dir / "trace", ignore_errors=True)
            result, recorded = scene.record(launch(scene, program, name), words=("--data", ranks, "--fidelity", "access"))
            scene.check_status(result, 0, f"{name}, record")
            replay, outputs = scene.side_by_side(ranks)
            scene.check_status(replay, 0, f"{name}, ranks {ranks}")
            wanted = {f"out-{rank}.txt": recorded[f"out-{rank}.txt"] for rank in ranks.split(",")}
            scene.check_same(wanted, outputs, f"{name}, ranks {ranks}", replay)


def writers(scene):
    """Each value in the token and in the slots tells who put it, and each shared cell that is not zero who stored it."""
    program = compiled(scene, "access.c", "gcc", "-O2")
    said = right = changed = 0
    for name in ("spin", "race", "owned") * 3:
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, _ = scene.record(launch(scene, program, name), words=("--data", "0,1", "--fidelity", "access"))
        scene.check_status(result, 0, "record")
        shown = scene.run([scene.settings.reprise, "show", "--writers", "--json", "--limit", "0", scene.dir / "trace"])
        scene.check_status(shown, 0, "show --writers")
        for piece in json.loads(shown.out)["seen"]:
            if piece["bytes"] != 8 or "hex" not in piece:
                continue
            value = int.from_bytes(bytes.fromhex(piece["hex"]), "little", signed=True)
            if value <= 0:  # told of, but not there yet; or the rank's own
                continue
            wanted = {"spin": (piece["rank"] - 1) % RANKS, "race": value % 10, "owned": value % 10}[name]
            if name == "owned" and wanted == 2 and piece["writer"] is None:
                continue  # stored by a rank that is not recorded: nobody tells
            changed += 1
            said += piece["writer"] is not None
            right += piece["writer"] == wanted
    scene.check(changed > 20, f"only {changed} values")
    scene.check(right >= 0.95 * changed and right >= 0.95 * said, f"of {changed} values {said} have a writer, {right} the right one")
    scene.remark = f"{changed} values, precision {right / said:.3f}, recall {right / changed:.3f}"


def launch_shmem(scene, program, *words, ranks=RANKS):
    return ["oshrun", "--oversubscribe", *launch(scene, program, *words, ranks=ranks)[1:]]


def once_each(scene, commands):
    """(what, command): recorded once, replayed side by side."""
    for what, command in commands:
        shutil.rmtree(scene.dir / "trace", ignore_errors=True)
        result, recorded = scene.record(command, words=("--data", "all", "--fidelity", "access"))
        scene.check_status(result, 0, f"{what}, record")
        replay, outputs = scene.side_by_side("all")
        scene.check_status(replay, 0, what)
        scene.check_same(recorded, outputs, what, replay)


def valid(scene):
    """Programs that synchronise as they should, and need none of this."""
    program = compiled(scene, "onesided.c", "gcc", "-O2", more=("-Wno-stringop-overflow", "-Wno-stringop-overread"))  # as in harness.py
    start = lambda part: [str(program) if word == scene.program("onesided") else word for word in onesided.launch(scene, part)]
    once_each(scene, [(part, start(part)) for part in onesided.PARTS])


def valid_shmem(scene):
    program = compiled(scene, "symmetric.c", "gcc", "-O2", wrapper="oshcc")
    once_each(scene, [(part, launch_shmem(scene, program, part, ranks=4)) for part in symmetric.PARTS])


# -- what goes wrong ---------------------------------------------------------------------------------------------------

def one_sentence(scene, result, words, status=125):
    lines = [line for line in result.err.splitlines() if line]
    scene.check(result.status == status and len(lines) == 1 and words in lines[0], f"not one sentence with {words!r}", result)


def refused(scene):
    program = compiled(scene, "access.c", "gcc", "-O1")
    plain = scene.program("spin")
    harmless = scene.program("recv_any")
    access = ("--fidelity", "access")
    record = lambda program, *words: scene.run([scene.settings.reprise, "record", *words, "-o", scene.dir / "none", "--", *launch(scene, program)])
    one_sentence(scene, record(plain, "--data", "all", *access), "was not compiled with hooks")
    one_sentence(scene, record(program, *access), "--data")
    with_tsan = scene.dir / "with_tsan"
    subprocess.run([f"mpicc.{scene.case.mpi}", "-fsanitize=thread", SOURCES / "spin.c", "-o", with_tsan], check=True, capture_output=True)
    one_sentence(scene, record(with_tsan, "--data", "all", *access), "thread sanitizer")
    scene.check(not (scene.dir / "none").exists(), "a trace was left")
    cc, _ = wrapped(scene, "access.c", "gcc")
    one_sentence(scene, scene.run([*cc, "-flto", "-c", SOURCES / "access.c"]), "link-time optimisation removes the hooks")
    one_sentence(scene, scene.run([*cc, "-fsanitize=thread", "-c", SOURCES / "access.c"]), "thread sanitizer")
    for compiler in COMPILERS:
        if not shutil.which(compiler):
            continue
        subprocess.run([compiler, "-flto", "-x", "c", "-c", "-", "-o", scene.dir / "lto.o"], input=b"int none;", check=True)
        one_sentence(scene, scene.run([*cc, SOURCES / "access.c", scene.dir / "lto.o", "-o", scene.dir / "x"]), "was compiled with -flto")
    one_sentence(scene, scene.run([scene.settings.reprise, "cc", "--wrap", "no-such-compiler", "-c", "x.c"]), "there is no no-such-compiler", 127)
    broken = scene.run([*cc, "-c", "-x", "c", "/dev/null", "-o", "/dev/null/x"])
    scene.check(broken.status not in (0, 125), "a failing compiler does not fail", broken)
    # A script hides the program: the ranks say it, and nothing else is lost.
    script = scene.dir / "script"
    script.write_text(f'#!/bin/sh\nexec {harmless} "$@"\n')
    script.chmod(0o755)
    result = scene.run([scene.settings.reprise, "record", "--data", "all", *access, "-o", scene.dir / "trace", "--", *launch(scene, script)])
    scene.check(result.status == 0 and "was not compiled with `reprise cc`" in result.err, "not said", result)


def built(scene):
    """As make and CMake use it: objects and a shared library first, then the program; without Reprise it gives what it always gives."""
    cc, env = wrapped(scene, "x.c", "gcc")
    (scene.dir / "library.c").write_text("#include <string.h>\nlong sum(volatile long* from, int n) { long s = 0; for (int i = 0; i < n; ++i) s += from[i]; return s; }\n"
                                         "void copy(void* to, const void* from, int n) { memcpy(to, from, n); }\n")
    (scene.dir / "main.c").write_text(
        '#include <mpi.h>\n#include <stdio.h>\nlong sum(volatile long*, int);\nvoid copy(void*, const void*, int);\nint main(int argc, char** argv) {\n'
        "  int me; long* all; MPI_Win win; char name[4096];\n  MPI_Init(&argc, &argv);\n  MPI_Comm_rank(MPI_COMM_WORLD, &me);\n"
        "  MPI_Win_allocate(80, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &all, &win);\n  const long ten[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, me};\n"
        "  MPI_Win_fence(0, win);\n  copy(all, ten, 80);\n  MPI_Win_fence(0, win);\n  long got;\n  MPI_Get(&got, 1, MPI_LONG, 1 - me, 9, 1, MPI_LONG, win);\n"
        "  MPI_Win_fence(0, win);\n"
        '  snprintf(name, sizeof name, "%s/out-%d.txt", argv[1], me);\n  FILE* out = fopen(name, "w");\n  fprintf(out, "%ld %ld\\n", sum(all, 10), got);\n'
        "  fclose(out);\n  MPI_Win_free(&win);\n  MPI_Finalize();\n}\n")
    steps = [["-fPIC", "-O2", "-c", "library.c", "-o", "library.o"], ["-shared", "library.o", "-o", "libown.so"],
             ["-O2", "-c", "main.c", "-MD", "-MF", "main.d"], ["main.o", "-L.", "-lown", f"-Wl,-rpath,{scene.dir}", "-o", "main"]]
    for step in steps:
        done = scene.run([*cc, *step], env=env)
        scene.check(done.status == 0 and not done.err, "not built", done)
    scene.check((scene.dir / "main.d").exists(), "no dependencies")
    command = launch(scene, scene.dir / "main", ranks=2)
    wanted = {"out-0.txt": b"45 1\n", "out-1.txt": b"46 0\n"}
    result, outputs = scene.plain(command)
    scene.check_same(wanted, outputs, "plain", result)
    result, outputs = scene.record(command, words=("--data", "all", "--fidelity", "access"))
    scene.check_same(wanted, outputs, "record", result)
    replay, outputs = scene.side_by_side("all")
    scene.check_same(wanted, outputs, "replay", replay)
    for question in ("--version", "-dumpversion"):
        asked = scene.run([*cc, question], env=env)
        scene.check(asked.status == 0 and asked.out, "a question to the compiler is not answered", asked)


def programs(mpi, repeat):
    """
    Each language with each of its compilers at each level: name, source, compiler, level, kinds, and the rest. What both MPIs
    have is tried with two of the levels each; with --repeat 50 or more, with all.
    """
    few = LEVELS[mpi == "mpich"::2]
    for level in LEVELS:
        for name, words in at_one_level(mpi, level):
            if repeat >= 50 or level in few or name.startswith("shmem"):
                yield name, words


def at_one_level(mpi, level):
    for compiler in COMPILERS:
        yield f"c-{compiler}{level}", ("access.c", compiler, level, C_KINDS)
        yield f"c++-{compiler}{level}", ("access_cxx.cpp", compiler, level, C_KINDS + ["locks", "particles"])
        if mpi == "openmpi":  # MPICH has no OpenSHMEM
            for language, wrapper in (("c", "oshcc"), ("c++", "oshc++")):
                yield (f"shmem-{language}-{compiler}{level}",
                       ("access_shmem.c", compiler, level, EVERYWHERE + ["together"], (), wrapper, launch_shmem))
    progress = ("-cpp", *(["-DMPICH"] if mpi == "mpich" else []))
    yield f"fortran-gcc{level}", ("access_fortran.f90", "gcc", level, EVERYWHERE + ["shared"], ("-fopenmp", *progress))
    yield f"coarrays-gcc{level}", ("access_coarrays.f90", "gcc", level, EVERYWHERE, ("-fcoarray=lib", f"-lcaf_{mpi}", *progress))


def cases(mpi, repeat):
    listed = {name: at_level(*words) for name, words in programs(mpi, repeat)}
    listed |= {"some-ranks": some, "threads": threads, "writers": writers, "refused": refused, "built": built, "valid": valid}
    if mpi == "openmpi":
        listed |= {"valid-shmem": valid_shmem}
    return [Case("access", mpi, name, function) for name, function in listed.items()]
