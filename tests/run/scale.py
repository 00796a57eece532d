"""Many more ranks than cores."""

from harness import Case

RANKS = 64
REPLAYS = 2
# MPICH waits busily: a ring of 64 ranks on two cores takes seconds when nothing else runs.
LIMIT = 420


def oversubscribed(scene):
    command = scene.launch(RANKS, scene.program("scale"))
    result, recorded = scene.record(command, limit=LIMIT)
    scene.check_status(result, 0, "record")
    scene.check(len(recorded) == RANKS, "output files are missing", result)
    for number in range(min(REPLAYS, scene.settings.repeat)):
        replay, outputs = scene.replay(limit=LIMIT)
        scene.check_status(replay, 0, f"replay {number + 1}")
        scene.check_same(recorded, outputs, f"replay {number + 1}", replay)


def bigger_run_same_trace_rate(scene):
    """Bytes per message must not grow with the length of the run."""
    program, sizes = scene.program("long_running"), []
    for number, messages in enumerate((50000, 200000)):
        trace = scene.dir / f"trace-{number}"
        result, _ = scene.record(scene.launch(4, program, "--messages", messages), trace)
        scene.check_status(result, 0, "record")
        sizes.append(sum(path.stat().st_size for path in trace.glob("rank-*")) / messages)
    scene.check(sizes[1] < sizes[0] * 1.25, f"bytes per message grew from {sizes[0]:.3f} to {sizes[1]:.3f}")


def cases(mpi):
    return [Case("scale", mpi, "64-ranks", oversubscribed, alone=True),
            Case("scale", mpi, "rate", bigger_run_same_trace_rate)]
