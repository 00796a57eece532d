"""Random programs (tests/random) are correct, whatever they do: neither `reprise lint` nor the first orders of `reprise explore`
may find anything. Requests that are freed while they are active are meant that way.
"""

import json

import lint
import random_programs
from harness import Case

NOT_EXPLORED = ["partitioned", "wtime"]  # the second because pauses of chance, which nobody sees, are seen in the time
INTENDED = "request misuse"
PER_REPEAT = 1  # seeds per MPI and unit of --repeat
MOST = 200
GROUPS = 5  # cases per MPI


def finds_nothing(scene, seed):
    ranks, program = random_programs.build(scene, seed, NOT_EXPLORED)
    result = lint.lint(scene, ["--json", "--ignore", INTENDED], scene.launch(ranks, program))
    scene.check_status(result, 0, f"lint, seed {seed}")
    scene.check(lint.findings(result) == [], f"lint, seed {seed}: nothing expected", result)
    result = scene.run([scene.settings.reprise, "explore", "-n", ranks, "-j", "1", "--max-orders", "3", "--buffering", "infinite",
                        "--ignore", INTENDED, "--json", "--no-save", "--", program, scene.out], 300)
    scene.check(result.status in (0, 3), f"explore, seed {seed}: ends with {result.status}", result)
    scene.check(json.loads(result.out)["errors"] == [], f"explore, seed {seed}: nothing expected", result)


def group(seeds):
    def test(scene):
        for seed in seeds:
            finds_nothing(scene, seed)
    return test


def cases(mpi, repeat):
    seeds = range(1, 1 + (PER_REPEAT * repeat if repeat < 50 else MOST))
    size = max(1, len(seeds) // (GROUPS if repeat < 50 else 8 * GROUPS))
    return [Case("no_alarms", mpi, f"seeds-{seeds[at]}-{seeds[min(at + size, len(seeds)) - 1]}", group(seeds[at:at + size]))
            for at in range(0, len(seeds), size)]
