"""Clocks, random sources and process numbers that the program reads: plain runs differ, a replay repeats them."""

from harness import Case, Failure

TRIES = 20

# name: ranks, arguments
PROGRAMS = {
    "clocks": (2, []),
}


def plain_runs_differ(scene, command, ranks):
    """Otherwise an identical replay would prove nothing."""
    seen = None
    for _ in range(TRIES):
        result, outputs = scene.plain(command)
        scene.check_status(result, 0, "plain run")
        scene.check(len(outputs) == ranks, "plain run: output files are missing", result)
        if seen is not None and outputs != seen:
            return
        seen = outputs
    raise Failure(f"not nondeterministic here: {TRIES} plain runs were alike")


def replays(scene, command, ranks, **options):
    result, recorded = scene.record(command, **options)
    scene.check_status(result, 0, "record")
    scene.check(len(recorded) == ranks, "record: output files are missing", result)
    for number in range(1, scene.settings.repeat + 1):
        replay, outputs = scene.replay()
        what = f"replay {number} of {scene.settings.repeat}"
        scene.check_status(replay, 0, what)
        scene.check_same(recorded, outputs, what, replay)
    return result


def program(name):
    def function(scene):
        ranks, args = PROGRAMS[name]
        command = scene.launch(ranks, scene.program(name.split()[0]), *args)
        plain_runs_differ(scene, command, ranks)
        replays(scene, command, ranks)
    return function


def cases(mpi):
    return [Case("system", mpi, name.replace(" ", "-"), program(name)) for name in PROGRAMS]
