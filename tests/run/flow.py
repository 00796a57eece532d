"""`reprise check`: a deliberately faulty MPI below the checker (tests/flow) breaks one real call among thousands, which must be found
and named; correct programs of other suites, and random ones, must raise nothing. What is left of a run that broke off is checked.
"""

import functools
import json
import random
import subprocess
from pathlib import Path
from threading import Lock

import families
import languages
import no_alarms
import random_programs
import threads
from harness import Case, Skip, available

FLOW = Path(__file__).resolve().parent.parent / "flow"
RANKS = 4
CALLS = 600
SEEDS, MORE_SEEDS = 8, 60  # of the traffic, for all faults; with --repeat 50 or more
PER_REPEAT = 20  # random programs per MPI and unit of --repeat
MOST = 1000
GROUPS = 5
KNOWN = {("mpich", "isendrecv_any"): {"wrong source", "wrong tag", "wrong count"}}  # docs/library-bugs.md

KNOWN_CALLS = {"mpich": {"MPI_Isendrecv", "MPI_Isendrecv_replace"}}  # the same

# What the real libraries get wrong in random programs (docs/library-bugs.md, both_periodic_neighbours).
LISTED = {"mpich": {f"MPI_{i}eighbor_alltoall{kind}{init}" for i in ("N", "In") for kind in ("v", "w") for init in ("", "_init")},
          "openmpi": {"MPI_Ineighbor_alltoall", "MPI_Ineighbor_alltoallv", "MPI_Ineighbor_alltoallw"}}

# What the checker says about each fault.
FAULTS = {
    "contiguous": {"other bytes"},
    "unpack-order": {"other bytes"},
    "displacement": {"other bytes"},
    "direction": {"other bytes"},
    "send-size": {"other bytes"},
    "lost-block": {"other bytes"},
    "swapped-neighbours": {"other bytes"},
    "in-place": {"other bytes", "wrong reduction"},
    "stale-start": {"other bytes", "wrong reduction"},
    "early": {"other bytes"},
    "behind": {"written behind the buffer", "written between the elements", "other bytes"},
    "root": {"other bytes"},
    "status-source": {"wrong source"},
    "status-count": {"wrong count"},
    "skipped-rank": {"wrong reduction"},
    "accumulate-twice": {"wrong reduction"},
    "put-shifted": {"other bytes"},
    "get-stale": {"other bytes"},
}


def check(scene, words, command=(), env=None, cwd=None):
    trace = ["-o", scene.dir / f"trace-{scene.count}"] if command else []
    return scene.run([scene.settings.reprise, "check", "--json", *words, *trace, *(["--", *command] if command else [])], 200, env=env,
                     cwd=cwd or scene.dir)


def verdict(result):
    """A launcher may have written to stdout, too, before it."""
    lines = result.out.splitlines()
    return json.loads("\n".join(lines[len(lines) - 1 - lines[::-1].index("{"):]))


def kinds(found):
    return {violation["kind"] for violation in found["violations"]}


# -- correct programs --------------------------------------------------------------------------------------------------

def clean(name):
    def test(scene):
        command, status = families.command_of(scene, name)
        result = check(scene, [], command)
        found = verdict(result)
        known = KNOWN.get((scene.case.mpi, name), set())
        scene.check(kinds(found) <= known, f"nothing expected: {found['violations'][:3]}", result)
        scene.check(found["troubles"] == [] and found["intentions"] > 0, "not everything was looked at", result)
        if status is not None:
            scene.check(found["exit status"] == status, f"the program's own exit status is {found['exit status']}, not {status}", result)
        scene.remark = f"{found['intentions']} intentions" + (", and the library's own mistake" if kinds(found) else "")
    return test


def all_clean(scene, commands, env=None):
    """Nothing is found in these, whatever they do."""
    intentions = 0
    for name, command in commands:
        result = check(scene, [], command, env=env)
        found = verdict(result)
        scene.check(found["exit status"] == 0 and found["violations"] == [], f"{name}: nothing expected: {found['violations'][:3]}", result)
        scene.check(found["troubles"] == [], f"{name}: not everything was looked at", result)
        intentions += found["intentions"]
    scene.remark = f"{len(commands)} programs, {intentions} intentions"


def threads_clean(scene):
    """What belongs to what is not known of all calls there; but nothing is invented."""
    all_clean(scene, [(name, scene.launch(ranks, scene.program(source), *words)) for name, (source, ranks, words) in threads.PROGRAMS.items()]
              + [("openmp", scene.launch(2, scene.program("openmp")))])


def late_clean(scene):
    """Threads, and calls that come back when the library has given their request to others long ago."""
    library = scene.dir / "late.so"
    done = subprocess.run([f"mpicc.{scene.case.mpi}", "-O1", "-shared", "-fPIC", FLOW / "late_return.c", "-o", library], capture_output=True, text=True)
    scene.check(done.returncode == 0, done.stderr)
    source, ranks, words = threads.PROGRAMS["mpi-multiple"]
    all_clean(scene, [("late", scene.launch(ranks, scene.program(source), *words))], env={"LD_PRELOAD": str(library)})


def fortran_clean(scene):
    languages.need(f"mpifort.{scene.case.mpi}")
    all_clean(scene, [(name, scene.launch(languages.FORTRAN_RANKS, scene.program(name))) for name in languages.FORTRAN])


def python_clean(scene):
    all_clean(scene, [(name, languages.python_command(scene, name, 3)) for name in ("python_objects", "python_buffers")])


def solo_clean(scene):
    """Collectives of all kinds, on communicators of all kinds."""
    all_clean(scene, [(name, scene.launch(ranks, scene.program(name)))
                      for name, ranks in (("solo_collectives", 4), ("solo_sends", 2), ("solo_world", 4))])


def examples_clean(scene):
    all_clean(scene, [(source, no_alarms.launch_example(scene, ranks, no_alarms.built_example(scene, source), words))
                      for source, ranks, words in no_alarms.CORRECT + no_alarms.LINTED[1:]])


def hpcc_clean(scene):
    languages.need("hpcc")
    (scene.dir / "hpccinf.txt").write_text(languages.HPCC_INPUT)
    launcher, flag, number, *_ = scene.launch(4, "")
    all_clean(scene, [("hpcc", [launcher, flag, number, "hpcc"])])
    scene.check("Success=1" in (scene.dir / "hpccoutf.txt").read_text(), "hpcc did not succeed")


CLEAN = {"threads": threads_clean, "late": late_clean, "fortran": fortran_clean, "solo": solo_clean, "examples": examples_clean}
CLEAN_WITH_OPENMPI = {"python": python_clean, "hpcc": hpcc_clean}  # which they are linked with


def is_shown(scene, found):
    """Only what is known of the library itself, and stand-alone programs show it."""
    calls = {call["call"] for violation in found["violations"] for call in violation["calls"]}
    made = [violation["reproducer"]["shows it"] for violation in found["violations"] if "reproducer" in violation]
    return calls <= LISTED[scene.case.mpi] and made and all(made)


def random_clean(seeds):
    def test(scene):
        intentions, mistakes = 0, 0
        for seed in seeds:
            ranks, program = random_programs.build(scene, seed)
            result = check(scene, [], scene.launch(ranks, program))
            found = verdict(result)
            mistaken = bool(found["violations"]) and is_shown(scene, found)
            scene.check_status(result, 1 if mistaken else 0, f"seed {seed}")
            scene.check(mistaken or found["violations"] == [], f"seed {seed}: nothing expected: {found['violations'][:3]}", result)
            scene.check(found["troubles"] == [], f"seed {seed}: not everything was looked at", result)
            intentions += found["intentions"]
            mistakes += mistaken
        scene.remark = f"{len(seeds)} programs, {intentions} intentions" + (f", {mistakes} with the library's own mistake" if mistakes else "")
    return test


# -- faults ------------------------------------------------------------------------------------------------------------

@functools.cache
def lock_of(mpi):
    return Lock()


def built(scene):
    """(the program, the faulty library), compiled once per MPI."""
    mpicc = f"mpicc.{scene.case.mpi}"
    directory = scene.settings.scratch / f"flow-{scene.case.mpi}"
    program, library = directory / "traffic", directory / "faulty.so"
    with lock_of(scene.case.mpi):
        if not library.exists():
            compile_both(scene, mpicc, directory, program, library)
    return program, library


def compile_both(scene, mpicc, directory, program, library):
    directory.mkdir(exist_ok=True)
    for words in ([mpicc, "-O1", "-g", *sorted(FLOW.glob("traffic*.c")), "-o", program, "-lm"],
                  [mpicc, "-O1", "-g", "-shared", "-fPIC", *sorted(FLOW.glob("faulty*.c")), "-o", library, "-ldl"]):
        done = subprocess.run(words, capture_output=True, text=True)
        scene.check(done.returncode == 0, done.stderr)


def traffic(scene, program, seed, **settings):
    """`settings`: of the faulty library. Reprise does not pass on variables of such names, so they are set in front of the program."""
    return [f"mpirun.{scene.case.mpi}", "-n", RANKS, "env", *(f"REPRISE_FAULT{name}={value}" for name, value in settings.items()), program, seed,
            CALLS]


@functools.cache
def counted(mpi, seed):
    """Filled by whoever comes first."""
    return {"lock": Lock()}


def eligible(scene, program, library, seed):
    """How many calls of each rank each fault could break, {fault: {rank: calls}}; none if the library does not survive that seed."""
    known = counted(scene.case.mpi, seed)
    with known["lock"]:
        if "counts" not in known:
            file = scene.dir / f"counts-{scene.count}"
            result = scene.run(traffic(scene, program, seed, _COUNT=file), 200, env={"LD_PRELOAD": str(library)})
            known["counts"] = None
            if result.status == 0:
                known["counts"] = {}
                for name, rank, count in map(str.split, file.read_text().splitlines()):
                    known["counts"].setdefault(name, {})[int(rank)] = int(count)
    return known["counts"]


def break_one(scene, name, program, library, words=("--no-reproducers",)):
    """One call is broken, wherever chance wants it. (what is said, the verdict, where, the call)"""
    seeds = random.Random(f"{scene.settings.seed}/traffic").sample(range(1, 10**6), SEEDS if scene.settings.repeat < 50 else MORE_SEEDS)
    scene.random.shuffle(seeds)
    runs, ranks = False, []
    for seed in seeds:  # some are too much for the library itself (docs/library-bugs.md)
        counts = eligible(scene, program, library, seed)
        runs = runs or counts is not None
        ranks = [rank for rank, count in (counts or {}).get(name, {}).items() if count > 0]
        if ranks:
            break
    scene.check(runs, "the program fails without any fault")
    if not ranks:
        raise Skip(f"no call of {scene.case.mpi} can be broken this way")
    counts = counts[name]
    rank = scene.random.choice(ranks)
    at = scene.random.randrange(counts[rank])
    log = scene.dir / f"fault-{scene.count}"
    result = check(scene, words, traffic(scene, program, seed, **{"": name}, _RANK=rank, _AT=at, _LOG=log),
                   {"LD_PRELOAD": str(library)})
    where = f"{name}, seed {seed}, rank {rank}, call {at}"
    scene.check(log.exists(), f"{where}: the fault was not applied", result)
    return result, verdict(result), where, log.read_text().split()[2]


def blamed(scene, found):
    """What the library is blamed for, but for what the real one is known to do wrong."""
    known = KNOWN_CALLS.get(scene.case.mpi, set())
    return [violation for violation in found["violations"] if not violation["by program"]
            and not {call["call"] for call in violation.get("calls", [])} & known]


def fault(name, times):
    def test(scene):
        program, library = built(scene)
        told = []
        while len(told) < times:
            result, found, where, broken = break_one(scene, name, program, library)
            if broken in KNOWN_CALLS.get(scene.case.mpi, set()):
                continue  # its status is wrong anyway, and so nobody can say how much should have come
            all_blamed = blamed(scene, found)
            scene.check_status(result, 1, where)
            shown = {violation["kind"] for violation in all_blamed}
            scene.check(shown & FAULTS[name], f"{where}: found {shown}", result)
            calls = {call["call"] for violation in all_blamed for call in violation["calls"]}
            scene.check(any(same_call(broken, call) for call in calls), f"{where}: {broken} is broken, {calls} blamed", result)
            told.append(broken)
        scene.remark = ", ".join(told)
    return test


def same_call(broken, blamed):
    """The call that was broken may have been the completion of the one that is blamed."""
    completions = ("MPI_Wait", "MPI_Test", "MPI_Start")
    return broken == blamed or broken.startswith(completions) or broken.replace("Recv", "Send") == blamed.replace("Recv", "Send")


# -- runs that broke off ---------------------------------------------------------------------------------------------

def missing(scene):
    command, _ = families.command_of(scene, "waitall_any")
    result = check(scene, [], command)
    trace = verdict(result)["trace"]
    (scene.dir / trace / "rank-1.messages").unlink()
    result = check(scene, [trace])
    found = verdict(result)
    scene.check_status(result, 2, "a file is missing")
    scene.check(any("rank-1.messages" in trouble for trouble in found["troubles"]), "the file is not named", result)
    scene.check(found["violations"] == [] and found["intentions"] > 0 and found["unchecked"], "the rest was to be checked", result)


def truncated(scene):
    command, _ = families.command_of(scene, "many_sites")
    result = check(scene, [], command)
    trace = verdict(result)["trace"]
    file = scene.dir / trace / "rank-0.messages"
    whole = file.read_bytes()
    for size in (len(whole) // 2, 100, 10, 0):
        file.write_bytes(whole[:size])
        result = check(scene, [trace])
        found = verdict(result)
        scene.check_status(result, 2, f"cut off at {size}")
        scene.check(any("rank-0.messages" in trouble for trouble in found["troubles"]), "the file is not named", result)
        scene.check(found["violations"] == [], "a file that is cut off is nobody's fault", result)


def killed(scene):
    result = check(scene, [], scene.launch(RANKS, scene.program("long_running"), "--messages", 20000, "--fault", "segv", "--rank", 2,
                                           "--at", 3000))
    found = verdict(result)
    scene.check(found["violations"] == [], f"nothing expected: {found['violations'][:3]}", result)
    scene.check(found["intentions"] > 1000, "what was done before was to be checked", result)
    scene.check(found["exit status"] != 0, "the program's end is not told", result)


def cases(mpi, repeat):
    if not available(mpi):
        return []
    seeds = range(1, 1 + (PER_REPEAT * repeat if repeat < 50 else MOST))
    size = max(1, len(seeds) // (GROUPS if repeat < 50 else 8 * GROUPS))
    return ([Case("flow", mpi, f"fault-{name}", fault(name, 1 if repeat < 50 else 20)) for name in FAULTS]
            + [Case("flow", mpi, f"clean-{name.replace(' ', '-')}", clean(name)) for name in families.PROGRAMS
               if name.split()[0] not in families.MPI_4_ONLY or mpi == "mpich"]
            + [Case("flow", mpi, f"clean-{name}", test) for name, test in (CLEAN | (CLEAN_WITH_OPENMPI if mpi == "openmpi" else {})).items()]
            + [Case("flow", mpi, f"seeds-{seeds[at]}-{seeds[min(at + size, len(seeds)) - 1]}", random_clean(seeds[at:at + size]))
               for at in range(0, len(seeds), size)]
            + [Case("flow", mpi, "missing-file", missing), Case("flow", mpi, "truncated-file", truncated),
               Case("flow", mpi, "killed-rank", killed, faults=True)])
