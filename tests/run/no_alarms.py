"""Random programs (tests/random) are correct, whatever they do: neither `reprise lint` nor the first orders of `reprise explore`
may find anything. Requests that are freed while they are active are meant that way. The same holds for the examples, as long as
they are not told to have a mistake.
"""

import json
import subprocess
from pathlib import Path

import lint
import random_programs
from harness import Case

NOT_EXPLORED = ["partitioned", "wtime"]  # the second because pauses of chance, which nobody sees, are seen in the time
INTENDED = "request misuse"
PER_REPEAT = 1  # seeds per MPI and unit of --repeat
MOST = 200
GROUPS = 5  # cases per MPI
SEEN = {"seed-111": [111]}  # there was an alarm once: a persistent send's handle was that of a persistent collective later


def finds_nothing(scene, seed):
    ranks, program = random_programs.build(scene, seed, NOT_EXPLORED)
    result = lint.lint(scene, ["--json", "--ignore", INTENDED], scene.launch(ranks, program))
    scene.check_status(result, 0, f"lint, seed {seed}")
    scene.check(lint.findings(result) == [], f"lint, seed {seed}: nothing expected", result)
    result = scene.run([scene.settings.reprise, "explore", "-n", ranks, "-j", "1", "--max-orders", "3", "--buffering", "infinite",
                        "--ignore", INTENDED, "--json", "--no-save", "--", program, scene.out], 300)
    scene.check(result.status in (0, 3), f"explore, seed {seed}: ends with {result.status}", result)
    scene.check(json.loads(result.out)["errors"] == [], f"explore, seed {seed}: nothing expected", result)


EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
# Which, for how many ranks, and with which arguments. The mandelbrot's mistake is seen in few orders, and only by itself: lint
# sees one run, whose messages are all as they should be.
CORRECT = [("verify/pi.c", 4, ["4"]), ("verify/matrix.c", 4, ["3"]), ("verify/diffusion2d.c", 3, ["2"]), ("verify/blast.c", 3, ["2"])]
LINTED = [("mandelbrot.c", 4, []), ("model_checker.cpp", 3, ["--depth", "6"])]


def built_example(scene, source):
    compiler = {".c": "mpicc", ".cpp": "mpicxx"}[Path(source).suffix]
    binary = scene.dir / Path(source).stem
    more = ["-std=c++20"] if compiler == "mpicxx" else []
    done = subprocess.run([f"{compiler}.{scene.case.mpi}", "-O1", "-g", *more, EXAMPLES / source, "-o", binary, "-pthread"],
                          capture_output=True, text=True)
    scene.check(done.returncode == 0, f"{source} does not compile: {done.stderr}")
    return binary


def launch_example(scene, ranks, program, words):
    """With its own words only, not where output goes: some of them do something wrong if there is one more."""
    return [*scene.launch(ranks, program)[:-1], *words]


def examples(scene):
    for source, ranks, words in CORRECT + LINTED:
        program = built_example(scene, source)
        result = lint.lint(scene, ["--json"], launch_example(scene, ranks, program, words))
        scene.check(lint.findings(result) == [], f"lint, {source}: nothing expected", result)
        if (source, ranks, words) in LINTED:
            continue
        result = scene.run([scene.settings.reprise, "explore", "-n", ranks, "--json", "--no-save", "--max-orders", "2000", "--", program, *words],
                           300)
        scene.check(result.status in (0, 3), f"explore, {source}: ends with {result.status}", result)
        scene.check(json.loads(result.out)["errors"] == [], f"explore, {source}: nothing expected", result)


def group(seeds):
    def test(scene):
        for seed in seeds:
            finds_nothing(scene, seed)
    return test


def cases(mpi, repeat):
    seeds = range(1, 1 + (PER_REPEAT * repeat if repeat < 50 else MOST))
    size = max(1, len(seeds) // (GROUPS if repeat < 50 else 8 * GROUPS))
    return [Case("no_alarms", mpi, f"seeds-{seeds[at]}-{seeds[min(at + size, len(seeds)) - 1]}", group(seeds[at:at + size]))
            for at in range(0, len(seeds), size)] + [Case("no_alarms", mpi, name, group(seeds)) for name, seeds in SEEN.items()] + [
            Case("no_alarms", mpi, "examples", examples)]
