"""`reprise show`: filters, summary, JSON and named events against what the program is known to have done, and --blocked
on programs that really hang or were killed.
"""

import json
import os
import re
import shutil
import subprocess
import time

from harness import DIVERGED, SOURCES, TROUBLE, Case, Failure, Skip

RANKS = 4
INCLUDE = f"-I{SOURCES.parent.parent / 'include'}"


def reprise(scene, *words, **options):
    return scene.run([scene.settings.reprise, *map(str, words)], **options)


def facts(scene, trace, *words, status=0):
    result = reprise(scene, "show", trace, "--json", *words)
    scene.check_status(result, status, f"show --json {' '.join(map(str, words))}")
    try:
        return json.loads(result.out)
    except ValueError as error:
        raise Failure(f"not JSON: {error}\n{result.describe()}")


def line_of(program, mark):
    """The line of tests/programs/PROGRAM.c that carries the comment LINE MARK."""
    for number, text in enumerate((SOURCES / f"{program}.c").read_text().splitlines(), 1):
        if re.search(rf"// LINE {mark}\b", text):
            return number
    raise Failure(f"no line {mark} in {program}.c")


def recorded(scene, *args, **options):
    program = scene.program("show_facts", [INCLUDE, "-pthread"])
    result, outputs = scene.record(scene.launch(RANKS, program, *args), **options)
    scene.check_status(result, 0, "record")
    return scene.dir / "trace", outputs


def calls_of(shown):
    """Of the main threads."""
    return {log["rank"]: log["calls"] for log in shown["logs"] if "thread" not in log}


def all_calls_of(shown):
    return [call for log in shown["logs"] for call in log["calls"]]


# -- filters ---------------------------------------------------------------------------------------------------------

def filters(scene):
    trace, _ = recorded(scene)
    everything = calls_of(facts(scene, trace, "--calls"))
    scene.check(sorted(everything) == list(range(RANKS)), f"ranks {sorted(everything)}")
    total = len(all_calls_of(facts(scene, trace, "--calls")))
    scene.check(total == facts(scene, trace)["summary"]["calls"], "the summary counts other calls than --calls lists")

    def check(words, expected, what):
        got = {rank: [call["number"] for call in calls] for rank, calls in calls_of(facts(scene, trace, *words)).items()}
        wanted = {rank: [call["number"] for call in calls if expected(rank, call)] for rank, calls in everything.items()}
        scene.check({k: v for k, v in got.items() if v} == {k: v for k, v in wanted.items() if v},
                    f"{what}: {got} in place of {wanted}")
        scene.check(any(wanted.values()), f"{what}: tests nothing")

    sources = lambda call: [one.get("source_world") for one in call.get("wildcards", [])]
    tags = lambda call: [one.get("tag") for one in call.get("wildcards", [])]
    check(["--rank", "0,2-3"], lambda rank, call: rank in (0, 2, 3), "--rank")
    check(["--call", "MPI_*recv"], lambda rank, call: call["function"] in ("MPI_Recv", "MPI_Irecv"), "--call")
    check(["--call", "barrier,bcast"], lambda rank, call: call["function"] == "MPI_Bcast", "--call without MPI_")
    check(["--events", "3-5"], lambda rank, call: 3 <= call["number"] <= 5, "--events")
    check(["--tag", "7"], lambda rank, call: call.get("tag") == 7 or 7 in tags(call), "--tag")
    check(["--tag", "any"], lambda rank, call: call.get("tag") == -1, "--tag any")
    check(["--peer", "2"], lambda rank, call: call.get("peer_world") == 2 or 2 in sources(call), "--peer")
    check(["--peer", "any"], lambda rank, call: call.get("peer") == -1, "--peer any")
    check(["--comm", "world"], lambda rank, call: call.get("communicator") == 0, "--comm world")
    check(["--comm", "2"], lambda rank, call: call.get("communicator") == 2, "--comm 2")
    any_line = line_of("show_facts", "any")
    check(["--at", f"show_facts.c:{any_line}"], lambda rank, call: call["at"].get("line") == any_line, "--at FILE:LINE")
    check(["--at", "show_facts.c"], lambda rank, call: call["at"].get("file", "").endswith("/show_facts.c"), "--at FILE")
    check(["--at", f"show_facts.c:{any_line}", "--peer", "3", "--tag", "7", "--rank", "0"],
          lambda rank, call: call["at"].get("line") == any_line and 3 in sources(call), "combined")

    # The same communicator has one uid in all its members, and other members another one.
    logs = [log for log in facts(scene, trace, "--calls")["logs"] if "thread" not in log]
    uids = [log["communicators"][2]["uid"] for log in logs]
    scene.check(uids[0] == uids[2] != uids[1] == uids[3], f"uids of the halves: {uids}")
    check(["--comm", "@" + uids[1][:8]], lambda rank, call: rank % 2 == 1 and call.get("communicator") == 2, "--comm @")
    between = {log["communicators"][3]["uid"] for log in logs}
    scene.check(len(between) == 1, f"uids of the intercommunicator: {between}")

    shown = reprise(scene, "show", trace, "--peer", "2", "--rank", "1")
    scene.check_status(shown, 0, "show --peer")
    scene.check("1=w2" in shown.out, "the world rank of a peer is not shown", shown)
    shown = reprise(scene, "show", trace, "--call", "MPI_Nothing")
    scene.check_status(shown, 0, "nothing matches")
    scene.check(f"0 of {total} calls match" in shown.err and "rank 0 " not in shown.out, "nothing matches", shown)
    limited = reprise(scene, "show", trace, "--call", "recv", "--limit", "2", "--rank", "0")
    scene.check("4 more calls" in limited.out, "--limit does not say how many are left out", limited)


def mistakes(scene):
    trace, _ = recorded(scene)
    for words in (["--rank", "7"], ["--rank", "x"], ["--rank", "0-9"], ["--rank", "9-"], ["--rank", "3-1"],
                  ["--events", "a-b"], ["--tag", "-"], ["--peer", "one"], ["--comm", "@"], ["--comm", "wrld"],
                  ["--at", ":3"], ["--at", "a.c:x"], ["--limit", "many"], ["--summary", "--calls"],
                  ["--blocked", "--summary"], ["--blocked", "--tag", "1"]):
        result = reprise(scene, "show", trace, *words)
        scene.check_status(result, TROUBLE, f"show {words}")
        scene.check(not result.out and result.err.count("\n") == 1, f"show {words}: not one sentence", result)


# -- summary ---------------------------------------------------------------------------------------------------------

def summary(scene):
    trace, outputs = recorded(scene)
    shown = facts(scene, trace)
    found = shown["summary"]
    # r messages of 4 bytes from each rank r; 100 bytes in each half; 1000 bytes between them; 4 bytes for the poll.
    expected = {(1, 0): (1, 4), (2, 0): (2, 8), (3, 0): (3, 12), (0, 2): (1, 100), (1, 3): (1, 100), (1, 2): (1, 1000),
                (0, 1): (1, 4)}
    pairs = {(pair["from"], pair["to"]): (pair["messages"], pair["bytes"]) for pair in found["matrix"]["pairs"]}
    scene.check(pairs == expected and found["matrix"]["complete"], f"matrix {pairs}")
    scene.check(found["messages"] == 10 and found["bytes"] == 1228, f"{found['messages']} messages, {found['bytes']} B")
    scene.check(found["messages_to_unknown"] == 0, "unknown receivers")
    ranks = {one["rank"]: one for one in found["ranks"]}
    scene.check(ranks[0]["received_messages"] == 6 and ranks[3]["sent_bytes"] == 12, f"ranks {ranks}")
    scene.check(all(one["ended"] == "finalized" and one["exit_status"] == 0 for one in ranks.values()), f"ends {ranks}")
    functions = {one["function"]: one for one in found["functions"]}
    scene.check(functions["MPI_Send"]["calls"] == 9 and functions["MPI_Finalize"]["ranks"] == RANKS, f"{functions}")
    heard = [line.split()[2] for line in outputs["out-0.txt"].decode().splitlines() if line.startswith("any source")]
    race = [one for one in found["racing"] if one["at"].get("line") == line_of("show_facts", "any")]
    scene.check(len(race) == 1 and race[0]["receives"] == len(heard) == 6 and race[0]["senders"] == len(set(heard)) == 3
                and race[0]["varied"], f"racing {found['racing']}")
    scene.check(any(one["function"] == "MPI_Test" for one in found["racing"]), f"racing {found['racing']}")
    scene.check(shown["exit_status"] == 0 and shown["complete"] and not shown["running"], "how it ended")
    text = reprise(scene, "show", trace)
    scene.check_status(text, 0, "show")
    for words in ("10 sent point to point", "6 receives from 3 senders", "finalized", "from \\ to"):
        scene.check(words in text.out, f"the summary does not say {words!r}", text)
    scene.check(len(text.out.splitlines()) < 60, "the summary is longer than a screenful", text)
    some = facts(scene, trace, "--summary", "--rank", "3", "--call", "send")["summary"]
    scene.check(some["calls"] == 3 and some["messages"] == 3, f"a filtered summary: {some['calls']} calls")


# -- named events ----------------------------------------------------------------------------------------------------

def events(scene):
    trace, _ = recorded(scene)
    logs = calls_of(facts(scene, trace, "--call", "reprise_event"))
    for rank, calls in logs.items():
        names = [call["name"] for call in calls]
        scene.check(names == ["begin"] + ["again"] * rank + ["done"], f"rank {rank} has {names}")
        scene.check(calls[0]["at"]["line"] == line_of("show_facts", "begin"), f"begin at {calls[0]['at']}")
        scene.check(calls[-1]["at"]["line"] == line_of("show_facts", "last"), f"done at {calls[-1]['at']}")
    found = {one["name"]: one["count"] for one in facts(scene, trace)["summary"]["events"]}
    scene.check(found == {"begin": RANKS, "again": 6, "done": RANKS, "in another thread": RANKS},
                f"summary of events: {found}")
    shown = reprise(scene, "show", trace, "--rank", "1", "--calls")
    order = [shown.out.find(text) for text in ('"begin"', '"again"', "MPI_Comm_split", '"done"', "MPI_Finalize")]
    scene.check(-1 not in order and order == sorted(order), "events are not in their places among the calls", shown)
    for _ in range(scene.settings.repeat):
        replay, _ = scene.replay(trace)
        scene.check_status(replay, 0, "replay")


def event_divergence(scene):
    """An event under another name, which nothing but a file decides."""
    name = scene.dir / "name"
    name.write_text("as recorded")
    trace, _ = recorded(scene, env={"EVENT_FILE": str(name)})
    replay, _ = scene.replay(trace, env={"EVENT_FILE": str(name)})
    scene.check_status(replay, 0, "replay with the same name")
    name.write_text("another one")
    replay, _ = scene.replay(trace, env={"EVENT_FILE": str(name)})
    scene.check_status(replay, DIVERGED, "replay with another name")
    for text in ('reprise_event("as recorded")', 'reprise_event("another one")',
                 f"show_facts.c:{line_of('show_facts', 'last')}"):
        scene.check(text in replay.err, f"does not say {text}", replay)


def without_reprise(scene):
    """The header needs no library and does nothing without Reprise: C, C++, with and without PIE, static."""
    source = scene.dir / "alone.c"
    source.write_text("#define REPRISE_FORTRAN\n#include <reprise/reprise.h>\n"
                      'int main(void) { reprise_event("x"); reprise_event_f("y"); return 0; }\n')
    compilers = [name for name in ("gcc", "clang", "g++", "clang++") if shutil.which(name)]
    for compiler in compilers:
        for flags in (["-O0"], ["-O2", "-no-pie", "-fno-pie"], ["-O2", "-fPIE", "-pie"], ["-static"]):
            words = [compiler, *(["-x", "c++"] if "++" in compiler else ["-std=c99", "-pedantic"]), "-Wall", "-Wextra",
                     "-Werror", INCLUDE, *flags, str(source), "-o", str(scene.dir / "alone")]
            built = subprocess.run(words, capture_output=True, text=True)
            scene.check(built.returncode == 0, f"{' '.join(words)}\n{built.stderr}")
            result = scene.run([scene.dir / "alone"])
            scene.check_status(result, 0, f"{compiler} {flags}")
    plain, _ = scene.plain(scene.launch(RANKS, scene.program("show_facts", [INCLUDE, "-pthread"])))
    scene.check_status(plain, 0, "without Reprise")


def fortran(scene):
    """Events from Fortran, with the line of the call."""
    compiler = shutil.which(f"mpif90.{scene.case.mpi}")
    if not compiler:
        raise Skip(f"mpif90.{scene.case.mpi} is not installed")
    stub = scene.dir / "stub.c"
    stub.write_text("#define REPRISE_FORTRAN\n#include <reprise/reprise.h>\n")
    source = scene.dir / "event.f90"
    source.write_text("""program event
  use, intrinsic :: iso_c_binding, only: c_char, c_null_char
  use mpi
  implicit none
  interface
    subroutine reprise_event(name) bind(C, name="reprise_event_f")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
  end interface
  integer :: ierr
  call MPI_Init(ierr)
  call reprise_event("from Fortran" // c_null_char)
  call MPI_Finalize(ierr)
end program
""")
    for words in ([f"mpicc.{scene.case.mpi}", "-c", INCLUDE, str(stub), "-o", str(scene.dir / "stub.o")],
                  [compiler, "-g", str(source), str(scene.dir / "stub.o"), "-o", str(scene.dir / "event")]):
        built = subprocess.run(words, capture_output=True, text=True)
        scene.check(built.returncode == 0, f"{' '.join(words)}\n{built.stderr}")
    result, _ = scene.record([f"mpirun.{scene.case.mpi}", "-n", "2", str(scene.dir / "event")])
    scene.check_status(result, 0, "record")
    for calls in calls_of(facts(scene, scene.dir / "trace", "--call", "reprise_event")).values():
        scene.check([call["name"] for call in calls] == ["from Fortran"], f"events {calls}")
        scene.check(calls[0]["at"].get("line") == 13, f"at {calls[0]['at']}")
    replay, _ = scene.replay()
    scene.check_status(replay, 0, "replay")


# -- blocked ---------------------------------------------------------------------------------------------------------

def groups_of(shown):
    """(place, function) -> ranks"""
    found = {}
    for group in shown["blocked"]["groups"]:
        call = group["ranks"][0].get("call", {})
        found[group["place"], call.get("function")] = [one["rank"] for one in group["ranks"]]
    return found


def hanging(scene, how, home):
    """Records a program that hangs, and waits until show sees every rank hang."""
    child = scene.start([scene.settings.reprise, "record", "--", *scene.launch(RANKS, scene.program("hang"), how)],
                        cwd=home)
    end = time.monotonic() + 60
    while len([text for text in scene.outputs().values() if b"hanging" in text]) < RANKS:
        if child.poll() is not None or time.monotonic() > end:
            raise Failure("the program did not get going\n" + scene.result(child).describe())
        time.sleep(0.05)
    while True:  # saying so and doing it are two things
        shown = live(scene, home, "--json")
        if len(groups_of(shown)) <= 2 and not any(one["moved"] for group in shown["blocked"]["groups"]
                                                 for one in group["ranks"]):
            return child, shown
        if time.monotonic() > end:
            raise Failure(f"show --blocked does not see it hang: {groups_of(shown)}")


def live(scene, home, *words):
    """show --blocked of the latest trace, while the processes of this case run on."""
    done = subprocess.run([scene.settings.reprise, "show", "--blocked", *words], capture_output=True, text=True, cwd=home,
                          env=scene.environment(), timeout=60)
    scene.check(done.returncode == 0, f"show --blocked: {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout) if "--json" in words else done.stdout


def blocked_live(how, check):
    def function(scene):
        home = scene.dir / "work"
        home.mkdir()
        child, shown = hanging(scene, how, home)
        scene.check(shown["running"] and shown["ended"] == "still running", "does not know that it runs")
        check(scene, shown, live(scene, home))
        summary = subprocess.run([scene.settings.reprise, "show"], capture_output=True, text=True, cwd=home,
                                 env=scene.environment(), timeout=60)
        scene.check(summary.returncode == 0 and "still running" in summary.stdout and "--blocked" in summary.stderr,
                    f"show of a running program:\n{summary.stdout}{summary.stderr}")
        # The trace was only looked at: it is completed and read as ever.
        scene.look()
        child.terminate()
        scene.finish(child)
        after = facts(scene, home / "reprise.d" / "latest", "--blocked")
        scene.check(not after["running"] and after["complete"], "the trace was not completed")
        scene.check(groups_of(after) == groups_of(shown), f"{groups_of(after)} after the end, {groups_of(shown)} before")
    return function


def check_computing(scene, shown, text):
    found = groups_of(shown)
    scene.check(found == {("computing", "MPI_Allreduce"): [2], ("in-call", "MPI_Barrier"): [0, 1, 3]}, f"{found}")
    odd, rest = shown["blocked"]["groups"]
    scene.check(odd["ranks"][0]["rank"] == 2 and rest["missing"] == [2], "the odd one out does not come first")
    scene.check(rest["ranks"][0]["call"]["at"]["line"] == line_of("hang", "barrier"), f"{rest['ranks'][0]}")
    scene.check(text.find("rank 2") < text.find("ranks 0, 1, 3") and "waiting for 2" in text, text)


def check_circle(scene, shown, text):
    scene.check(groups_of(shown) == {("in-call", "MPI_Recv"): [0, 1, 2, 3]}, f"{groups_of(shown)}")
    waits = {one["rank"]: one["waits_for"] for one in shown["blocked"]["groups"][0]["ranks"]}
    scene.check(waits == {0: 1, 1: 2, 2: 3, 3: 0} and shown["blocked"]["circles"] == [[0, 1, 2, 3]], f"{waits}")
    scene.check("0 -> 1 -> 2 -> 3 -> 0" in text and f"hang.c:{line_of('hang', 'recv')}" in text, text)


def check_request(scene, shown, text):
    found = groups_of(shown)
    scene.check(found == {("in-call", "MPI_Wait"): [0], ("in-call", "MPI_Barrier"): [1, 2, 3]}, f"{found}")
    posted = shown["blocked"]["groups"][0]["ranks"][0]["posted"]
    scene.check(posted["function"] == "MPI_Irecv" and posted["peer"] == 1 and
                posted["at"]["line"] == line_of("hang", "irecv"), f"{posted}")
    scene.check("posted last: MPI_Irecv" in text, text)


def check_polling(scene, shown, text):
    found = groups_of(shown)
    scene.check(found == {("polling", "MPI_Test"): [0], ("in-call", "MPI_Barrier"): [1, 2, 3]}, f"{found}")
    scene.check("failed test" in text, text)


def blocked_killed(scene):
    """Everybody, the record command too, is killed: the trace is as it was left."""
    home = scene.dir / "work"
    home.mkdir()
    child, shown = hanging(scene, "computing", home)
    scene.end_processes()
    child.wait()
    after = facts(scene, home / "reprise.d" / "latest", "--blocked")
    scene.check(not after["running"] and not after["complete"], f"running {after['running']}")
    scene.check(groups_of(after) == groups_of(shown), f"{groups_of(after)} after the end, {groups_of(shown)} before")


def nothing_recorded(scene):
    """`latest` points at the run in progress, and at the one before if that leaves no trace."""
    home = scene.dir / "work"
    home.mkdir()
    command = scene.launch(2, scene.program("exit_status"), 0)
    scene.check_status(reprise(scene, "record", "--", *command, cwd=home), 0, "record")
    before = os.readlink(home / "reprise.d" / "latest")
    result = reprise(scene, "record", "--", f"mpirun.{scene.case.mpi}", "-n", "2", "/bin/true", cwd=home)
    scene.check_status(result, TROUBLE, "record of a program without MPI")
    scene.check(os.readlink(home / "reprise.d" / "latest") == before, "latest points elsewhere", result)


def cases(mpi):
    tests = [filters, mistakes, summary, events, event_divergence, without_reprise, fortran, nothing_recorded]
    found = [Case("show", mpi, test.__name__.replace("_", "-"), test, faults=test is event_divergence) for test in tests]
    checks = {"computing": check_computing, "circle": check_circle, "request": check_request, "polling": check_polling}
    found += [Case("show", mpi, f"blocked-{how}", blocked_live(how, check), faults=True) for how, check in checks.items()]
    return [*found, Case("show", mpi, "blocked-killed", blocked_killed, faults=True)]
