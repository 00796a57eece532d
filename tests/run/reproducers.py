"""The stand-alone programs of `reprise check`: each must compile without a warning, say "ok" with a healthy library, and "WRONG" with
the faulty one (tests/flow) below it that made the checker write it.
"""

import itertools

import families
import flow
from harness import Case, Skip, available

IN_SHORT = ("lost-block", "stale-start", "status-source", "skipped-rank", "get-stale")
REFUSED = ("an accumulate of a type that consists of several", "the operation is the program's own")  # docs/check.md
TIMES = 8  # per fault, with --repeat 50 or more
LIMIT = 60  # seconds for one program
MOST_PLACES = 40  # of one rank, where a fault is tried


def compiled(scene, source):
    program = scene.dir / f"{source.parent.name}-{source.stem}"
    result = scene.run([f"mpicc.{scene.case.mpi}", "-std=c99", "-pedantic", "-O1", "-Wall", "-Wextra", source, "-o", program], LIMIT)
    scene.check(result.status == 0 and not result.err.strip(), f"{source.name} does not compile", result)
    return program


def ranks_of(source):
    """As its first lines say: "mpirun -n 4 ./reproducer-1"."""
    return int(source.read_text().split("mpirun -n ")[1].split()[0])


def run(scene, program, ranks, library=None, **settings):
    env = {f"REPRISE_FAULT{name}": str(value) for name, value in (settings | {"_HEAP": 1}).items()}
    if library:
        env["LD_PRELOAD"] = str(library)
    return scene.run([f"mpirun.{scene.case.mpi}", "-n", ranks, program], LIMIT, env=env)


def says_ok(scene, program, ranks, where):
    result = run(scene, program, ranks)
    scene.check(result.status == 0 and "ok" in result.out.splitlines() and "WRONG" not in result.out,
                f"{where}: with a healthy library it does not say ok", result)


def shows(scene, program, ranks, library, fault):
    """Breaks one call after the other; what it said about the first that it sees."""
    counts = scene.dir / f"counts-{scene.count}"
    run(scene, program, ranks, library, _COUNT=counts)
    if not counts.exists():
        return None
    eligible = {int(rank): int(count) for name, rank, count in map(str.split, counts.read_text().splitlines()) if name == fault}
    for at, rank in itertools.product(range(MOST_PLACES), eligible):
        if at >= eligible[rank]:
            continue
        result = run(scene, program, ranks, library, **{"": fault}, _RANK=rank, _AT=at)
        told = [line for line in result.out.splitlines() if line.startswith("WRONG")]
        if told:
            scene.check(result.status != 0, f"{fault}: it says WRONG, and ends with status 0", result)
            return told[0]
    return None


def reproduced(scene, name, program, library):
    """One call of the program is broken: what was made of it. (file or None, why there is none or whether it shows the fault)"""
    result, found, where, broken = flow.break_one(scene, name, program, library, words=[])
    made = []
    for violation in flow.blamed(scene, found):
        reproducer = violation.get("reproducer")
        if not reproducer:
            continue  # one of the same sort has one
        if not any(flow.same_call(broken, call["call"]) for call in violation.get("calls", [])):
            continue  # under a lock the checker reads back what was put: that was broken, not the program's call
        if not reproducer["file"]:
            made.append((None, reproducer["what"]))
            continue
        source = scene.dir / reproducer["file"]
        ranks = ranks_of(source)
        standalone = compiled(scene, source)
        says_ok(scene, standalone, ranks, f"{where}, {broken}, {source}")
        made.append((source, shows(scene, standalone, ranks, library, name)))
    return made, where, broken, result


def fault(name, times):
    def test(scene):
        program, library = flow.built(scene)
        remarks = []
        while len(remarks) < times:
            made, where, broken, result = reproduced(scene, name, program, library)
            if not made or all(source is None and any(why in told for why in REFUSED) for source, told in made):
                continue  # that call is not checked, or has no program: another place
            scene.check(any(source and told for source, told in made), f"{where}, {broken}: no program shows it: {made}", result)
            remarks.append(broken)
        scene.remark = ", ".join(remarks)
    return test


def isendrecv(scene):
    """What MPICH 4.0 really does wrong (docs/library-bugs.md), without anything below it."""
    command, _ = families.command_of(scene, "isendrecv_any")
    result = flow.check(scene, [], command)
    made = [violation["reproducer"] for violation in flow.verdict(result)["violations"] if "reproducer" in violation]
    if not made:
        raise Skip("this MPICH does it right")
    for reproducer in made:
        scene.check(reproducer["shows it"], f"{reproducer['file']}: {reproducer['what']}", result)
    scene.remark = f"{len(made)} programs"


def cases(mpi, repeat):
    if not available(mpi):
        return []
    whole = repeat >= 50
    real = [Case("reproducers", mpi, "isendrecv", isendrecv)] if mpi == "mpich" else []
    return real + [Case("reproducers", mpi, f"fault-{name}", fault(name, TIMES if whole else 1)) for name in flow.FAULTS
            if whole or name in IN_SHORT]
