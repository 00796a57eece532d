"""Smaller search spaces, and explanations, on random programs (tests/model). A reduction leaves a part of the full search,
never anything else; with the focus on everything it leaves all of it. An explanation is checked against the list of all
orders: every order in which it holds fails, and without any one of its decisions that is not so."""

import collections
import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

from harness import Case, Failure, available

MODEL = Path(__file__).resolve().parent.parent / "model"
sys.path.insert(0, str(MODEL))

from language import Barrier, If, Recv, Send  # noqa: E402
from to_c import c_program  # noqa: E402


def model_generator():
    """There are two modules of this name."""
    spec = importlib.util.spec_from_file_location("model_generate", MODEL / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate


generate = model_generator()

MOST_ORDERS = 400     # larger programs are left out
PROGRAMS = 5          # per test
EXPLAINED, MORE_EXPLAINED = 4, 12  # per MPI: failing programs that are explained; with --repeat 50 or more

# All orders again: the focus is on everything, or no bound is reached.
EVERYTHING = (["--focus", "rank=0-63"], ["--loop-bound", "1000"], ["--mix", "1000"])
# Some of them.
SOME = (["--focus", "rank=1"], ["--loop-bound", "1"], ["--mix", "0"], ["--mix", "1"], ["--symmetric", "auto"],
        ["--random", "12"], ["--focus", "rank=0", "--loop-bound", "1"])


def coincidence(seed):
    """Waits for ever if several receives, chosen by chance, each take a sender chosen by chance; a round of receives follows the
    other behind a barrier, so that these are choices of their own."""
    chance = random.Random(seed)
    senders = chance.choice([2, 3])
    rounds = 2 if senders == 3 else chance.choice([2, 3])
    needed = [(number, chance.randrange(senders), 1 + chance.randrange(senders)) for number in range(rounds)]
    failing = (Recv(1, tag=9),)
    for number, place, sender in reversed(needed):
        failing = (If(f"v{number}_{place}", sender, failing),)
    first = []
    for number in range(rounds):
        first += [*[Recv(into=f"v{number}_{place}") for place in range(senders)], Barrier()]
    others = [[statement for _ in range(rounds) for statement in (Send(0), Barrier())] for _ in range(senders)]
    return [first + list(failing), *others]


def build(scene, seed, generate=generate):
    program = generate(seed)
    source = scene.dir / f"program-{seed}.c"
    source.write_text(c_program(program))
    binary = scene.dir / f"program-{seed}"
    done = subprocess.run([f"mpicc.{scene.case.mpi}", "-w", "-O0", "-g", source, "-o", binary], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(done.stderr)
    return binary, len(program)


def orders_of(scene, binary, ranks, words, *more):
    """The result, and what was taken in each order (with who was left waiting)."""
    listing = scene.dir / "orders.list"
    listing.unlink(missing_ok=True)
    result = scene.run([scene.settings.reprise, "explore", "-n", ranks, "--buffering", "infinite", "--poll-bound", "1000", "-j", "1",
                        "--list", listing, "--json", *words, *(more or ["--no-save"]), "--", binary, "-"], 300)
    scene.check_status(result, {0, 1, 3}, f"explore {' '.join(map(str, words))}")
    found = json.loads(result.out)
    lines = [json.loads(line) for line in listing.read_text().splitlines()]
    return found, lines, result


def key(line):
    return json.dumps([line["taken"], line["blocked"]])


def subset(first_seed):
    def test(scene):
        tried, seed = 0, first_seed
        while tried < PROGRAMS:
            binary, ranks = build(scene, seed)
            found, lines, _ = orders_of(scene, binary, ranks, ["--max-orders", str(MOST_ORDERS)])
            seed += 1
            if not found["complete"] or len(lines) < 2:
                continue
            tried += 1
            full = collections.Counter(map(key, lines))
            categories = {error["category"] for error in found["errors"]}
            for words in EVERYTHING:
                again, lines, result = orders_of(scene, binary, ranks, words)
                scene.check(collections.Counter(map(key, lines)) == full,
                            f"seed {seed - 1}: {' '.join(words)} is not all: {len(lines)} orders of {sum(full.values())}", result)
                scene.check(again["complete"], f"seed {seed - 1}: {' '.join(words)}: not called complete", result)
            for words in SOME:
                some, lines, result = orders_of(scene, binary, ranks, [*words, "--seed", str(seed)])
                keys = list(map(key, lines))
                scene.check(set(keys) <= set(full), f"seed {seed - 1}: {' '.join(words)} has orders of its own", result)
                scene.check("--random" in words or collections.Counter(keys) <= full,
                            f"seed {seed - 1}: {' '.join(words)}: an order twice", result)
                scene.check(keys, f"seed {seed - 1}: {' '.join(words)}: no order at all", result)
                scene.check({error["category"] for error in some["errors"]} <= categories,
                            f"seed {seed - 1}: {' '.join(words)} invents errors", result)
                scene.check(set(keys) == set(full) or not some["complete"],
                            f"seed {seed - 1}: {' '.join(words)}: called complete with {len(keys)} of {len(full)}", result)
                _, lines, result = orders_of(scene, binary, ranks, [*words, "--seed", str(seed)])
                scene.check(list(map(key, lines)) == keys, f"seed {seed - 1}: {' '.join(words)} is not reproducible", result)
            binary.unlink()
    return test


def holds(line, constraint):
    taken = line["taken"][constraint["rank"]]
    if constraint["kind"] != "take":
        return None
    return constraint["ordinal"] < len(taken) and taken[constraint["ordinal"]] == constraint["message"]


def explain(first_seed, generate=generate, least=1):
    """Programs that deadlock in some orders and not in others; `least`: so many decisions are needed."""
    def test(scene):
        tried, seed, largest = 0, first_seed, 0
        while tried < (EXPLAINED if scene.settings.repeat < 50 else MORE_EXPLAINED):
            binary, ranks = build(scene, seed, generate)
            saved = scene.dir / f"saved-{seed}"
            found, lines, result = orders_of(scene, binary, ranks, ["--max-orders", str(MOST_ORDERS), "-o", saved], "--ignore",
                                             "request leak,communicator leak,unmatched send,unmatched receive")
            seed += 1
            failing = [line for line in lines if line["blocked"]]
            deadlocks = [error for error in found["errors"] if error["category"] == "deadlock" and error.get("saved")]
            if not found["complete"] or not deadlocks or len(failing) == len(lines):
                continue
            done = scene.run([scene.settings.reprise, "explain", "--json", deadlocks[0]["saved"]], 300)
            scene.check_status(done, 0, f"explain, seed {seed - 1}")
            told = json.loads(done.out)
            constraints = told["constraints"]
            if any(constraint["kind"] != "take" for constraint in constraints):
                continue  # polls and completions are not in the list of orders
            tried += 1
            largest = max(largest, len(constraints))

            def fails(rest):
                chosen = [line for line in lines if all(holds(line, one) for one in rest)]
                return chosen and all(line["blocked"] for line in chosen)

            scene.check(told["proved"], f"seed {seed - 1}: not proved", done)
            scene.check(constraints and fails(constraints), f"seed {seed - 1}: an order passes in spite of it", done)
            scene.check(len(constraints) >= least, f"seed {seed - 1}: {len(constraints)} decisions are too few", done)
            for one in constraints:
                scene.check(not fails([other for other in constraints if other is not one]),
                            f"seed {seed - 1}: not needed: {one['words']}", done)
            binary.unlink()
        scene.remark = f"{tried} explained, at most {largest} decisions"
    return test


def cases(mpi, repeat):
    if mpi not in [name for name in ("openmpi", "mpich") if available(name)]:
        return []
    base = 1 if mpi == "openmpi" else 5001
    groups = 1 if repeat < 50 else 10
    return ([Case("reductions", mpi, f"subsets-{base + 300 * group}", subset(base + 300 * group)) for group in range(groups)]
            + [Case("reductions", mpi, "explain", explain(base + 10000)),
               Case("reductions", mpi, "explain-several", explain(base, coincidence, 2))])
