"""The command line: options, exit statuses, where traces go, refusals, the installed tree."""

import json
import os
import shutil
import subprocess

from harness import TROUBLE, Case, Skip

COMMANDS = ["record", "replay", "show", "doctor"]


def reprise(scene, *args, **options):
    return scene.run([scene.settings.reprise, *args], **options)


def help_everywhere(scene):
    for words in ([], *([command] for command in COMMANDS)):
        for option in ("-h", "--help"):
            result = reprise(scene, *words, option)
            scene.check_status(result, 0, f"{words} {option}")
            scene.check("reprise" in result.out, "no help on stdout", result)
    result = reprise(scene, "--version")
    scene.check_status(result, 0, "--version")


def mistakes(scene):
    for args, suggestion in ((["replay", "--yess"], "--yes"), (["recrod"], "record"), (["shwo"], "show")):
        result = reprise(scene, *args)
        scene.check_status(result, {2, TROUBLE}, f"reprise {' '.join(args)}")
        scene.check(suggestion in result.err, f"does not suggest {suggestion}", result)
    result = reprise(scene, "record", "--")
    scene.check_status(result, {2, TROUBLE}, "record without a command")


def statuses(scene):
    program = scene.program("exit_status")
    for number in (0, 3):
        result, outputs = scene.record(scene.launch(2, program, number), scene.dir / f"exit-{number}")
        scene.check_status(result, number, f"record of exit status {number}")
        replay, again = scene.replay(scene.dir / f"exit-{number}")
        scene.check_status(replay, number, f"replay of exit status {number}")
        scene.check_same(outputs, again, "replay", replay)
    for number in (11, 6):
        plain, _ = scene.plain(scene.launch(2, program, -number))
        result, outputs = scene.record(scene.launch(2, program, -number), scene.dir / f"signal-{number}")
        scene.check_status(result, plain.status, f"record of signal {number}")
        replay, again = scene.replay(scene.dir / f"signal-{number}")
        scene.check_status(replay, plain.status, f"replay of signal {number}")


def without_launcher(scene):
    """A program that is started by itself is a world of one rank."""
    program = scene.program("exit_status")
    for argument, status in (("3", 3), ("-11", 139)):
        trace = scene.dir / f"alone{argument}"
        result, outputs = scene.record([program, str(scene.out), argument], trace)
        scene.check_status(result, status, f"record of {argument}")
        replay, again = scene.replay(trace)
        scene.check_status(replay, status, f"replay of {argument}")
        scene.check_same(outputs, again, "replay", replay)


def not_started(scene):
    result, _ = scene.record([str(scene.dir / "no-such-command")])
    scene.check_status(result, 127, "a command that does not exist")
    script = scene.dir / "not-executable"
    script.write_text("#!/bin/sh\n")
    result, _ = scene.record([str(script)], scene.dir / "trace-2")
    scene.check_status(result, 126, "a command that is not executable")


def existing_directory(scene):
    command = scene.launch(2, scene.program("exit_status"), 0)
    result, _ = scene.record(command)
    scene.check_status(result, 0, "record")
    before = {path.name: path.read_bytes() for path in (scene.dir / "trace").iterdir() if path.is_file()}
    result, outputs = scene.record(command)
    scene.check_status(result, TROUBLE, "record over an existing trace")
    scene.check(not outputs, "the program was run all the same", result)
    after = {path.name: path.read_bytes() for path in (scene.dir / "trace").iterdir() if path.is_file()}
    scene.check(before == after, "the existing trace was changed", result)


def latest(scene):
    command = scene.launch(2, scene.program("exit_status"), 0)
    home = scene.dir / "work"
    home.mkdir()
    targets = []
    for _ in range(2):
        result = reprise(scene, "record", "--", *command, cwd=home)
        scene.check_status(result, 0, "record")
        scene.check(os.path.islink(home / "reprise.d" / "latest"), "no link latest", result)
        targets.append(os.path.realpath(home / "reprise.d" / "latest"))
    scene.check(targets[0] != targets[1], f"both traces are {targets[0]}")
    scene.check(all(os.path.isdir(target) and "exit_status" in os.path.basename(target) for target in targets),
                f"traces are named {targets}")
    for words in (["replay", "--yes"], ["show"]):
        scene.clear()
        result = reprise(scene, *words, cwd=home)
        scene.check_status(result, 0, " ".join(words))
    scene.check(scene.outputs() == {} or len(scene.outputs()) == 2, "replay of the latest trace left no output")


def not_mpi(scene):
    for index, program in enumerate((["/bin/true"], [static_program(scene)])):
        trace = scene.dir / f"trace-{index}"
        result = reprise(scene, "record", "-o", trace, "--", f"mpirun.{scene.case.mpi}", "-n", "2", *program)
        scene.check_status(result, TROUBLE, f"record of {program[0]}")
        scene.check("MPI" in result.err or "static" in result.err, "gives no reason", result)
        scene.check(not trace.exists() or not list(trace.glob("rank-*")), "left an empty trace", result)


def static_program(scene):
    source, target = scene.dir / "static.c", scene.dir / "static"
    source.write_text("int main(void) { return 0; }\n")
    done = subprocess.run(["cc", "-static", source, "-o", target], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip(f"no static programs can be built here: {done.stderr.strip()}")
    return str(target)


def doctor(scene):
    result = reprise(scene, "doctor")
    scene.check_status(result, 0, "doctor")
    scene.check("Open MPI" in result.out + result.err or "MPICH" in result.out + result.err, "names no MPI", result)
    result = reprise(scene, "doctor", "--", *scene.launch(2, scene.program("exit_status"), 0))
    scene.check_status(result, 0, "doctor of a program")
    scene.check("2" in result.out + result.err, "does not say how many ranks it saw", result)
    result = reprise(scene, "doctor", "--", f"mpirun.{scene.case.mpi}", "-n", "2", "/bin/true")
    scene.check(0 < result.status < 128, "doctor is content with a program without MPI", result)


def show(scene):
    result, _ = scene.record(scene.launch(3, scene.program("recv_any")))
    scene.check_status(result, 0, "record")
    shown = reprise(scene, "show", scene.dir / "trace")
    scene.check_status(shown, 0, "show")
    for text in ("MPI_Recv", "recv_any.c:"):
        scene.check(text in shown.out, f"show does not print {text!r}", shown)
    facts = reprise(scene, "show", "--json", scene.dir / "trace")
    scene.check_status(facts, 0, "show --json")
    lines = [line for line in facts.out.splitlines() if line.strip()]
    try:
        json.loads(facts.out)
    except ValueError:
        for line in lines:  # one object per line is fine too
            json.loads(line)


def stranger(scene):
    """A trace that this user did not record here is replayed only after a yes; the command is shown first."""
    result, recorded = scene.record(scene.launch(2, scene.program("exit_status"), 0))
    scene.check_status(result, 0, "record")
    trace = scene.dir / "trace"
    own = reprise(scene, "replay", trace)
    scene.check_status(own, 0, "replay of one's own trace without --yes")
    elsewhere = {"HOME": str(scene.dir), "XDG_STATE_HOME": str(scene.dir / "state")}  # knows nothing of the recording
    for answer, status in (("no\n", TROUBLE), ("", TROUBLE), (None, TROUBLE), ("yes\n", 0)):
        scene.clear()
        result = reprise(scene, "replay", trace, answer=answer, env=elsewhere)
        scene.check_status(result, status, f"answer {answer!r}")
        scene.check("exit_status" in result.err, "does not show the command", result)
        scene.check(bool(scene.outputs()) == (status == 0), f"answer {answer!r}: ran or did not run", result)
    replay, outputs = scene.replay(trace, env=elsewhere)
    scene.check_status(replay, 0, "replay --yes")
    scene.check_same(recorded, outputs, "replay --yes", replay)


def stdout_is_the_programs(scene):
    """Reprise speaks on stderr."""
    command = [f"mpirun.{scene.case.mpi}", "-n", "2", scene.program("exit_status"), str(scene.out), "0"]
    plain, _ = scene.plain(command)
    result, _ = scene.record(command)
    scene.check(result.out == plain.out, "record prints on stdout", result)
    replay, _ = scene.replay()
    scene.check(replay.out == plain.out, "replay prints on stdout", replay)
    scene.check("reprise" in result.err.strip().splitlines()[-1], "the last line names no next command", result)


def installed(scene):
    """The installed tree finds its libraries relative to itself, wherever it is."""
    if not shutil.which("cmake"):
        raise Skip("cmake is not installed")
    prefix = scene.dir / "first"
    result = scene.run(["cmake", "--install", scene.settings.build, "--prefix", prefix])
    scene.check_status(result, 0, "cmake --install")
    moved = scene.dir / "elsewhere"
    prefix.rename(moved)
    command = str(moved / "bin" / "reprise")
    scene.check((moved / "include" / "reprise" / "reprise.h").is_file(), "the header for programs is not installed")
    launch = scene.launch(3, scene.program("recv_any"))
    scene.clear()
    result = scene.run([command, "record", "-o", scene.dir / "trace", "--", *launch])
    scene.check_status(result, 0, "record from the installed tree")
    recorded = scene.outputs()
    scene.clear()
    replay = scene.run([command, "replay", "--yes", scene.dir / "trace"])
    scene.check_status(replay, 0, "replay from the installed tree")
    scene.check_same(recorded, scene.outputs(), "replay from the installed tree", replay)


def users_own_x_option(scene):
    """Open MPI aborts when our variables and the user's -x come by different ways."""
    launch = scene.launch(3, scene.program("recv_any"))
    option = ["-x", "FAVOURITE=colour"] if scene.case.mpi == "openmpi" else ["-genv", "FAVOURITE", "colour"]
    result, recorded = scene.record([launch[0], *option, *launch[1:]])
    scene.check_status(result, 0, "record")
    replay, outputs = scene.replay()
    scene.check_status(replay, 0, "replay")
    scene.check_same(recorded, outputs, "replay", replay)


def through_a_shell(scene):
    """The launcher may be started by a script."""
    script = scene.dir / "go.sh"
    script.write_text('#!/bin/sh\n"$@"\n')
    script.chmod(0o755)
    result, recorded = scene.record([str(script), *scene.launch(3, scene.program("recv_any"))])
    scene.check_status(result, 0, "record")
    replay, outputs = scene.replay()
    scene.check_status(replay, 0, "replay")
    scene.check_same(recorded, outputs, "replay", replay)


def cases(mpi):
    tests = [help_everywhere, mistakes, statuses, without_launcher, not_started, existing_directory, latest, not_mpi,
             doctor, show, stranger, stdout_is_the_programs, installed, users_own_x_option, through_a_shell]
    return [Case("cli", mpi, test.__name__.replace("_", "-"), test, faults=test is statuses) for test in tests]
