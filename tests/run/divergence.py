"""A program that does something else in replay is found out at the first call that differs, promptly.

Refused before the start (another program, other arguments): exit status 125. Found in the run: 75, with the rank and
the source lines of the recorded and the actual call.
"""

import re

from harness import DIVERGED, TROUBLE, Case

LIMIT = 15  # seconds for the whole replay, launcher included
RANKS = 3

# word: (ranks of which one must be named, how many source lines the message must name)
WORDS = {
    "call": ({0}, 2),
    "more": ({0}, 2),
    "tag": ({1}, 1),
    "size": ({1}, 1),
    "peer": ({1, 2}, 1),
    "fewer": ({1}, 2),
    "early": ({1}, 2),
    "exit": ({1}, 1),
    "colour": ({0, 1, 2}, 0),
}


def recorded(scene, program=None):
    """Records through a script that takes the number of ranks and the arguments from files, as scripts do."""
    for name, text in (("word.txt", "normal"), ("ranks.txt", str(RANKS)), ("more.txt", "")):
        (scene.dir / name).write_text(text + "\n")
    script = scene.dir / "go.sh"
    command = scene.launch("$(cat ranks.txt)", program or scene.program("input_dependent"), scene.dir / "word.txt")
    script.write_text("#!/bin/sh\ncd \"$(dirname \"$0\")\"\nexec " + " ".join(command) + " $(cat more.txt)\n")
    script.chmod(0o755)
    result, outputs = scene.record([str(script)], words=["--mpi", scene.case.mpi])
    scene.check_status(result, 0, "record")
    return scene.dir / "word.txt", outputs


def other_input(name):
    ranks, lines = WORDS[name]

    def function(scene):
        word, outputs = recorded(scene)
        for _ in range(max(1, scene.settings.repeat // 3)):
            word.write_text(name + "\n")
            replay, _ = scene.replay(limit=60)
            scene.check_status(replay, DIVERGED, f"replay with input {name!r}")
            scene.check(replay.seconds < LIMIT, f"took {replay.seconds:.1f} s", replay)
            first = re.search(r"\brank (\d+)", replay.err)
            scene.check(first and int(first[1]) in ranks, f"does not name a rank of {ranks}", replay)
            named = set(re.findall(r"input_dependent\.c:(\d+)", replay.err))
            scene.check(len(named) >= lines, f"names {len(named)} source lines, not {lines}", replay)
        word.write_text("normal\n")
        replay, again = scene.replay()
        scene.check_status(replay, 0, "replay with the old input again")
        scene.check_same(outputs, again, "replay with the old input again", replay)
    return function


def refused(scene, what, *mentions):
    replay, outputs = scene.replay(limit=60)
    scene.check_status(replay, {DIVERGED, TROUBLE}, what)
    scene.check(replay.seconds < LIMIT, f"{what}: took {replay.seconds:.1f} s", replay)
    scene.check(any(re.search(word, replay.err, re.I) for word in mentions), f"{what}: does not say so", replay)


def other_binary(scene):
    program = str(scene.dir / "program")
    scene.program("input_dependent", output=program)
    recorded(scene, program)
    scene.program("input_dependent", flags=["-DVARIANT=2"], output=program)
    refused(scene, "another build of the program", "build", "changed", "differ")


def other_arguments(scene):
    recorded(scene)
    (scene.dir / "more.txt").write_text("--more\n")
    refused(scene, "another argument", "argument", "command")


def other_rank_count(count):
    def function(scene):
        recorded(scene)
        (scene.dir / "ranks.txt").write_text(f"{count}\n")
        refused(scene, f"{count} ranks in place of {RANKS}", "rank", "process")
    return function


def missing_log(scene):
    recorded(scene)
    (scene.dir / "trace" / "rank-1.log").unlink()
    refused(scene, "a rank's log is missing", r"rank-1\.log", "2 of 3 logs")


def cases(mpi):
    tests = [(f"input-{name}", other_input(name)) for name in WORDS]
    tests += [("other-binary", other_binary), ("other-arguments", other_arguments),
              ("fewer-ranks", other_rank_count(2)), ("more-ranks", other_rank_count(4)), ("missing-log", missing_log)]
    return [Case("divergence", mpi, name, function, faults=True) for name, function in tests]
