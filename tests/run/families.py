"""One small program per call family: plain runs differ, one recording replays with identical output every time."""

from harness import Case, Failure

# name: ranks, arguments, exit status per MPI where it is not 0
PROGRAMS = {
    "recv_any": (3, [], 0),
    "irecv_any_wait": (3, [], 0),
    "waitall_any": (3, [], 0),
    "waitany": (3, [], 0),
    "waitsome": (3, [], 0),
    "test_poll": (3, [], 0),
    "testall": (3, [], 0),
    "testany": (3, [], 0),
    "testsome": (3, [], 0),
    "test_round_robin": (3, [], 0),
    "request_free_active": (3, [], 0),
    "unobserved_receive": (3, [], 0),
    "unobserved_receive abort": (3, ["abort"], None),
    "unobserved_receive exit": (3, ["exit"], None),
    "wtime": (3, [], 0),
    "communicators": (4, [], 0),
    "derived_types": (3, [], 0),
    "errors": (3, [], 0),
    "errors_throw": (3, [], 0),
    "statuses_ignore": (3, [], 0),
    "persistent_sends": (3, [], 0),
    "edge_cases": (3, [], 0),
    "large": (3, [], 0),
    "many_sites": (3, [], 0),
    "long_running": (4, [], 0),
    "input_dependent": (3, [], 0),
    "sendrecv_any": (3, [], 0),
    "persistent_any": (3, [], 0),
    "probes": (3, [], 0),
    "get_status": (3, [], 0),
    "cancel": (3, [], 0),
    "nonblocking_collectives": (3, [], 0),
    "intercommunicators": (4, [], 0),
    "callbacks": (3, [], 0),
    "isendrecv_any": (3, [], 0),
    "mpi4_families": (3, [], 0),
}
MPI_4_ONLY = {"isendrecv_any", "mpi4_families"}  # Open MPI 4.1 implements MPI 3.1
TRIES = 20


def command_of(scene, name):
    ranks, args, status = PROGRAMS[name]
    return scene.launch(ranks, scene.program(name.split()[0]), *args), status


def differs(scene, command, ranks, status=0):
    """Otherwise an identical replay would prove nothing."""
    seen = None
    for _ in range(TRIES):
        result, outputs = scene.plain(command)
        if status is not None:
            scene.check_status(result, status, "plain run")
        scene.check(len(outputs) == ranks, "plain run: output files are missing", result)
        if seen is not None and outputs != seen:
            return
        seen = outputs
    raise Failure(f"not nondeterministic here: {TRIES} plain runs of {command} were alike")


def replays_alike(scene, command, ranks, status=0):
    """Records, and replays as often as asked; the result of the recording."""
    result, recorded = scene.record(command)
    if status is not None:
        scene.check_status(result, status, "record")
    scene.check(len(recorded) == ranks, "record: output files are missing", result)
    for number in range(1, scene.settings.repeat + 1):
        replay, outputs = scene.replay()
        what = f"replay {number} of {scene.settings.repeat}"
        scene.check_status(replay, result.status, what)
        scene.check_same(recorded, outputs, what, replay)
    return result


def plain_runs_differ(scene, name):
    command, status = command_of(scene, name)
    differs(scene, command, PROGRAMS[name][0], status)


def replays(scene, name):
    command, status = command_of(scene, name)
    replays_alike(scene, command, PROGRAMS[name][0], status)


def family(name):
    def function(scene):
        plain_runs_differ(scene, name)
        replays(scene, name)
    return function


def cases(mpi):
    return [Case("families", mpi, name.replace(" ", "-"), family(name), faults=PROGRAMS[name][2] is None)
            for name in programs_of(mpi)]


def programs_of(mpi):
    return [name for name in PROGRAMS if mpi != "openmpi" or name not in MPI_4_ONLY]


def plain_cases(mpi):
    """The programs alone, without Reprise: used to check the programs themselves."""
    def function(name):
        return lambda scene: plain_runs_differ(scene, name)
    return [Case("programs", mpi, name.replace(" ", "-"), function(name), faults=PROGRAMS[name][2] is None)
            for name in programs_of(mpi)]
