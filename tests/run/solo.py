"""One rank alone, from the values that reached it: its output is what it was, with no peers, launcher or network."""

import re
import shutil
import socket
import time
from pathlib import Path

import families
import languages
from families import differs
from harness import Case

# Programs of their own, beside all those of the families: name: program, ranks, arguments
PROGRAMS = {
    "collectives": ("solo_collectives", 4, []),
    "world": ("solo_world", 4, []),
    "files": ("solo_files", 3, []),
    "fortran-mpifh": ("fortran_mpifh", 3, []),
    "fortran-usempi": ("fortran_usempi", 3, []),
    "fortran-f08": ("fortran_f08", 3, []),
    "fortran-types": ("fortran_types", 3, []),
    "threads-multiple": ("thread_mpi", 3, []),
    "threads-serialized": ("thread_mpi", 3, ["serialized"]),
    "threads-locks": ("thread_locks", 2, []),
    "openmp": ("openmp", 2, []),
}
ALL = ("--data", "all")


def record_all(scene, command, ranks, status=0):
    result, recorded = scene.record(command, words=ALL)
    if status is not None:
        scene.check_status(result, status, "record")
    scene.check(len(recorded) == ranks, "record: output files are missing", result)
    return result, recorded


def program(name):
    source, ranks, arguments = PROGRAMS[name]

    def function(scene):
        command = scene.launch(ranks, scene.program(source), *arguments)
        differs(scene, command, ranks)
        for _ in range(max(1, scene.settings.repeat // 5)):
            shutil.rmtree(scene.dir / "trace", ignore_errors=True)
            _, recorded = record_all(scene, command, ranks)
            scene.check_solo(recorded, ranks)
            # The order of messages is in the same trace.
            replay, outputs = scene.replay()
            scene.check_status(replay, 0, "all ranks")
            scene.check_same(recorded, outputs, "all ranks", replay)
    return function


def family(name):
    ranks, _, status = families.PROGRAMS[name]

    def function(scene):
        command, _ = families.command_of(scene, name)
        result, recorded = record_all(scene, command, ranks, status)
        scene.check_solo(recorded, ranks, result.status)
    return function


def leaves_nothing_behind(scene):
    """No launcher, no daemon, no socket but the replay command's own; nothing is left when it is killed."""
    command = scene.launch(3, scene.program("long_running"), "--messages", 20000)
    record_all(scene, command, 3)
    scene.clear()
    child = scene.start([scene.settings.reprise, "replay", "--yes", "--rank", 0, scene.dir / "trace"])
    child.kill()
    scene.finish(child, 60)
    scene.settle()


def only_some_ranks(scene):
    command = scene.launch(4, scene.program("recv_any"))
    result, recorded = scene.record(command, words=("--data", "0,2-"))
    scene.check_status(result, 0, "record")
    for rank in (0, 2, 3):
        replay, outputs = scene.solo(rank)
        scene.check_status(replay, 0, f"rank {rank} alone")
        scene.check_same({f"out-{rank}.txt": recorded[f"out-{rank}.txt"]}, outputs, f"rank {rank} alone", replay)
    replay, outputs = scene.replay()
    scene.check_same(recorded, outputs, "all ranks", replay)
    refused(scene, 1, "the values that reached rank 1 were not recorded")
    refused(scene, 9, "there is no rank 9")


def refused(scene, rank, text, status=125):
    replay, outputs = scene.solo(rank)
    scene.check_status(replay, status, f"rank {rank}")
    scene.check(text in replay.err and len(replay.err.strip().splitlines()) == 1, f"does not say {text!r} alone", replay)
    scene.check(not outputs, "the program was run", replay)


def bad_input(scene):
    command = scene.launch(2, scene.program("recv_any"))
    record_all(scene, command, 2)
    data = scene.dir / "trace" / "rank-0.data"
    whole = data.read_bytes()
    # Every byte of a sealed file is covered by a checksum.
    for size in sorted(scene.random.sample(range(len(whole)), 4 * scene.settings.repeat)):
        data.write_bytes(whole[:size])
        refused_or_ended(scene, "rank-0.data", f"cut to {size} bytes")
    for at in sorted(scene.random.sample(range(len(whole)), 6 * scene.settings.repeat)):
        data.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1:])
        refused_or_ended(scene, "rank-0.data", f"byte {at} changed")
    data.unlink()
    refused(scene, 0, "the values that reached rank 0 were not recorded")


def refused_or_ended(scene, name, what):
    replay, _ = scene.solo(0)
    scene.check(replay.status == 125 and name in replay.err, f"{name} {what}: that is not said", replay)


def other_binary(scene):
    program = scene.dir / "program"
    shutil.copy(scene.program("recv_any"), program)
    record_all(scene, scene.launch(2, program), 2)
    shutil.copy(scene.program("waitany"), program)
    refused(scene, 0, "the program is not the recorded one")


def shared_window(scene):
    """What cannot be replayed alone yet is said when it is recorded, and again when it is asked for."""
    result, _ = scene.record(scene.launch(2, scene.program("solo_refused")), words=ALL)
    scene.check_status(result, 0, "record")
    scene.check("MPI_Win_allocate_shared" in result.err, "record does not say it", result)
    refused(scene, 0, "cannot be replayed alone: MPI_Win_allocate_shared")


def max_size(scene):
    """The values end early, with a mark; the order of messages does not."""
    command = scene.launch(3, scene.program("large"))
    result, recorded = scene.record(command, words=(*ALL, "--max-size", "20kB"))
    scene.check_status(result, 0, "record")
    replay, outputs = scene.replay()
    scene.check_status(replay, 0, "all ranks")
    scene.check_same(recorded, outputs, "all ranks", replay)
    replay, outputs = scene.solo(0)
    scene.check(replay.status == 125 and "--max-size" in replay.err, "the mark was not noticed", replay)


def crash(scene):
    """The rank that crashed crashes again, at the same call, and its output is the same to the last byte."""
    command = scene.launch(4, scene.program("long_running"), "--messages", 5000, "--fault", "segv", "--rank", 2, "--at",
                           700)
    result, recorded = scene.record(command, words=ALL)
    replay, outputs = scene.solo(2)
    scene.check_status(replay, result.status, "rank 2 alone")
    scene.check("rank 2: the recorded run ended here (SIGSEGV)" in replay.err, "the end is not named", replay)
    scene.check_same({"out-2.txt": recorded["out-2.txt"]}, outputs, "rank 2 alone", replay)
    for rank in (0, 1, 3):  # these were ended because of it, perhaps before they had begun
        if not (scene.dir / "trace" / f"rank-{rank}.data").exists():
            continue
        replay, outputs = scene.solo(rank)
        scene.check_status(replay, result.status, f"rank {rank} alone")
        name = f"out-{rank}.txt"  # unless it had not come so far
        scene.check(outputs.get(name, b"").startswith(recorded.get(name, b"")), f"rank {rank} alone: output is missing",
                    replay)


def python(name):
    def function(scene):
        _, recorded = record_all(scene, languages.python_command(scene, name, 3), 3)
        scene.check_solo(recorded, 3)
    return function


def hpcc(scene):
    """A program that nobody here wrote; rank 0 writes the report."""
    languages.need("hpcc")
    directory = scene.dir / "hpcc"
    directory.mkdir()
    (directory / "hpccinf.txt").write_text(languages.HPCC_INPUT)
    launcher, flag, number, *_ = scene.launch(4, "")
    result, _ = scene.record([launcher, flag, number, "hpcc"], words=ALL, cwd=directory)
    scene.check_status(result, 0, "record")
    report = directory / "hpccoutf.txt"
    recorded = report.read_bytes()
    scene.check(b"Success=1" in recorded, "hpcc did not succeed", result)
    report.unlink()
    replay, _ = scene.solo(1)
    scene.check_status(replay, 0, "rank 1 alone")
    scene.check(not report.exists(), "rank 1 alone wrote the report", replay)
    replay, _ = scene.solo(0)
    scene.check_status(replay, 0, "rank 0 alone")
    scene.check_same({report.name: recorded}, {report.name: report.read_bytes()}, "rank 0 alone", replay)


# -- in gdb ----------------------------------------------------------------------------------------------------------

def in_gdb(scene, rank, *commands):
    words = ["--gdb", "-batch"]
    for command in commands:
        words += ["-ex", command]
    scene.clear()
    result = scene.run([scene.settings.reprise, "replay", "--yes", "--rank", rank, scene.dir / "trace", *words])
    return result, scene.outputs()


def backtrace(scene):
    """The failure comes again in gdb, in the same frame, after the same call."""
    languages.need("gdb")
    result, recorded = scene.record(scene.launch(3, scene.program("solo_fails")), words=ALL)
    scene.check(recorded["out-0.txt"].endswith(b"source 2 tag 0 value 2003\n"), "it did not fail", result)
    calls = 3 + len(recorded["out-0.txt"].splitlines())  # MPI_Init, rank, size, and a receive for each line
    for _ in range(scene.settings.repeat):
        gdb, outputs = in_gdb(scene, 0, "run", "bt", "print heard", "reprise where")
        scene.check_same({"out-0.txt": recorded["out-0.txt"]}, outputs, "in gdb", gdb)
        frames = re.findall(r"^#\d+ +(?:0x\w+ in )?(\w+) \((.*)\)", gdb.out, re.MULTILINE)
        scene.check([name for name, _ in frames][-2:] == ["check", "main"], "another backtrace", gdb)
        scene.check("source=2" in frames[-2][1] and "value=2003" in frames[-2][1], "other arguments", gdb)
        scene.check(f"$1 = {calls - 3}\n" in gdb.out, "another number of messages", gdb)
        where = f"rank 0: after call {calls - 1}: MPI_Recv, peer ANY, tag 0, bytes 4, heard rank 2"
        scene.check(where in gdb.out and "solo_fails.c:" in gdb.out, f"does not say {where!r}", gdb)


def until(scene):
    """gdb stops at the call with the number that was asked for."""
    languages.need("gdb")
    result, _ = scene.record(scene.launch(3, scene.program("solo_fails")), words=ALL)
    gdb, _ = in_gdb(scene, 0, "reprise until 5", "reprise where", "info locals", "reprise until 3", "kill")
    scene.check("rank 0: in call 5: MPI_Recv" in gdb.out, "did not stop at call 5", gdb)
    scene.check("i = 2\n" in gdb.out, "the program's own frame was not shown", gdb)
    scene.check("call 3 has been made already" in gdb.err + gdb.out, "went backwards", gdb)
    gdb, _ = in_gdb(scene, 0, "reprise message 3", "reprise where", "reprise message", "reprise where",
                    "reprise message 999", "kill")
    places = re.findall(r"rank 0: in call (\d+): MPI_Recv", gdb.out)
    # It fails after four messages at the earliest.
    scene.check(places == ["5", "6"], f"messages 3 and 4 are calls {places}", gdb)
    scene.check("no such message" in gdb.err + gdb.out, "there is a message 999", gdb)
    del result


def server(scene):
    """An IDE's gdb connects to the rank, and finds the failure."""
    languages.need("gdb")
    languages.need("gdbserver")
    _, recorded = scene.record(scene.launch(3, scene.program("solo_fails")), words=ALL)
    scene.clear()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    served = scene.start([scene.settings.reprise, "replay", "--yes", "--rank", 0, "--gdb-server", port,
                          scene.dir / "trace"])
    err = Path(f"{served.stem}.err")
    for _ in range(600):
        if "Listening on port" in err.read_text() or served.poll() is not None:
            break
        time.sleep(0.1)
    gdb = scene.run(["gdb", "-q", "-batch", "-nx", "-ex", f"target remote localhost:{port}", "-ex", "break main", "-ex",
                     "continue", "-ex", "continue", "-ex", "bt", "-ex", "kill", scene.program("solo_fails")])
    result = scene.finish(served)
    scene.check("Breakpoint 1, main" in gdb.out, "did not stop in main", gdb)
    scene.check("SIGABRT" in gdb.out and re.search(r" in check \(.*value=2003", gdb.out), "not the same failure", gdb)
    scene.check_same({"out-0.txt": recorded["out-0.txt"]}, scene.outputs(), "in gdbserver", result)


def reverse(scene):
    """Where rr works, it records the rank, and goes backwards in it; elsewhere that is said in one sentence."""
    _, recorded = record_all(scene, scene.launch(2, scene.program("recv_any")), 2)
    rr = shutil.which("rr")
    home = {"_RR_TRACE_DIR": str(scene.dir / "rr")}
    works = rr and scene.run([rr, "record", "-o", scene.dir / "tried", "/bin/true"]).status == 0
    replay, outputs = scene.solo(0, words=("--rr",), env=home)
    if works:
        scene.check_status(replay, 0, "--rr")
        scene.check_same({"out-0.txt": recorded["out-0.txt"]}, outputs, "--rr", replay)
        back = scene.run([rr, "replay", "--", "-batch", "-ex", "break MPI_Finalize", "-ex", "continue", "-ex",
                          "reverse-finish"], env=home)
        scene.check("MPI_Finalize" in back.out, "rr replay does not come to MPI_Finalize", back)
    else:
        scene.check_status(replay, 125 if rr else 127, "--rr")
        scene.check("rr does not work on this machine" in replay.err or "rr is not installed" in replay.err,
                    "it is not said", replay)
    both = scene.run([scene.settings.reprise, "replay", "--yes", "--rr", scene.dir / "trace"])
    scene.check_status(both, 125, "--rr without --rank")


def gdb_without_rank(scene):
    scene.record(scene.launch(2, scene.program("recv_any")), words=ALL)
    result = scene.run([scene.settings.reprise, "replay", "--yes", scene.dir / "trace", "--gdb"])
    scene.check(result.status == 125 and "--rank" in result.err, "not refused", result)


# -- several ranks ---------------------------------------------------------------------------------------------------

def order(scene):
    """(kind, from, to, number) -> its line in the file that all ranks write to."""
    lines = (scene.out / "order.log").read_text().splitlines()
    places = {}
    for place, line in enumerate(lines):
        kind, *numbers = line.split()
        places.setdefault((kind, *map(int, numbers)), place)
    return places


def too_early(places):
    """What was received before it was sent, or ended before it was begun by those who were needed."""
    found = []
    for (kind, one, other, number), place in places.items():
        if kind == "receive":
            needed = [("send", one, other, number)]
        elif kind == "broadcast-ended":
            needed = [("broadcast", one, one, number)]
        elif kind == "leave":
            needed = [("enter", rank, other, number) for rank in range(other)]
        else:
            continue
        found += [f"{kind} {one} {other} {number}" for key in needed if key in places and places[key] > place]
    return found


def causal_order(scene):
    ranks = 4
    _, recorded = record_all(scene, scene.launch(ranks, scene.program("solo_together")), ranks)
    scene.check(not too_early(order(scene)), "the recorded run itself is in no order")
    for chosen in ("all", "0,2-3"):
        replay, outputs = scene.side_by_side(chosen)
        scene.check_status(replay, 0, f"ranks {chosen}")
        early = too_early(order(scene))
        scene.check(not early, f"ranks {chosen}: {len(early)} too early: {early[:5]}", replay)
        expected = {name: text for name, text in recorded.items() if chosen == "all" or name != "out-1.txt"}
        scene.check_same(expected, outputs, f"ranks {chosen}", replay)
    # Without an order between them, they do come too early: otherwise this test shows nothing.
    scene.clear()
    for process in [scene.start([scene.settings.reprise, "replay", "--yes", "--rank", rank, scene.dir / "trace"])
                    for rank in range(ranks)]:
        process.wait(120)
    scene.check(too_early(order(scene)), "ranks that know nothing of each other are in order, too")


def sent_is_compared(scene):
    program = scene.program("solo_sends")
    scene.clear()
    (scene.out / "number").write_text("1")
    trace = scene.dir / "trace"
    result = scene.run([scene.settings.reprise, "record", "-o", trace, *ALL, "--", *scene.launch(2, program)])
    scene.check_status(result, 0, "record")
    for number, words, status in (("1", (), 0), ("2", (), 75), ("2", ("--ignore-sent",), 0)):
        scene.clear()
        (scene.out / "number").write_text(number)
        result = scene.run([scene.settings.reprise, "replay", "--yes", "--rank", 0, *words, trace])
        what = f"with {number} in the file {' '.join(words)}"
        scene.check_status(result, status, what)
        if status == 75:
            scene.check("sends other bytes" in result.err, f"{what}: does not say so", result)
            # The first message has the number behind its end; the second, by MPI_Start, sends it.
            scene.check("MPI_Start" in result.err and "solo_sends.c:" in result.err, f"{what}: not where", result)


def bad_sets(scene):
    _, recorded = scene.record(scene.launch(3, scene.program("recv_any")), words=("--data", "0-1"))
    trace = scene.dir / "trace"
    for words, text in ((("--ranks", "0-7"), "there is no rank 7"), (("--ranks", "0,2"), "rank 2 were not recorded"),
                        (("--ranks", "0-1", "--gdb"), "one process"), (("--ranks", "x"), "--ranks"),
                        (("--ranks", "0-1", "--rank", "1"), "either --rank or --ranks")):
        result = scene.run([scene.settings.reprise, "replay", "--yes", trace, *words])
        scene.check_status(result, 125, " ".join(words))
        scene.check(text in result.err, f"{' '.join(words)}: does not say {text!r}", result)


# -- for a colleague -------------------------------------------------------------------------------------------------

def bundle(scene):
    """One file is enough for whoever has the program, also if that is elsewhere."""
    ranks, trace = 3, scene.dir / "trace"
    program = scene.program("recv_any")
    _, recorded = record_all(scene, scene.launch(ranks, program), ranks)
    file, reprise = scene.dir / "rank1.reprise", scene.settings.reprise
    result = scene.run([reprise, "extract", "--rank", 1, trace])
    scene.check_status(result, 0, "extract")
    scene.check(file.exists(), "there is no rank1.reprise", result)
    again = scene.run([reprise, "extract", "--rank", 1, trace])
    scene.check_status(again, 125, "extract to a file that exists")
    whole = sum(path.stat().st_size for path in trace.glob("rank-1.*"))
    scene.check(whole < file.stat().st_size < whole + 16384, f"it has {file.stat().st_size} bytes, the rank {whole}")
    trace.rename(scene.dir / "away")
    moved = scene.dir / "moved"
    shutil.copy2(program, moved)
    for words in ((), ("--", moved), ("--", moved, scene.out)):
        scene.clear()
        before = set((scene.dir / "tmp").iterdir())
        replay = scene.run([reprise, "replay", "--yes", "--rank", 1, file, *words])
        what = f"from the bundle {' '.join(map(str, words))}"
        scene.check_status(replay, 0, what)
        scene.check_same({"out-1.txt": recorded["out-1.txt"]}, scene.outputs(), what, replay)
        scene.check(set((scene.dir / "tmp").iterdir()) == before, f"{what}: something was left behind", replay)
    shown = scene.run([reprise, "show", "--rank", 1, file])
    scene.check_status(shown, 0, "show of a bundle")
    scene.check("MPI_" in shown.out, "show of a bundle shows no calls", shown)
    for words, text in ((("--rank", 0, file), "not recorded"), (("--rank", 1, file, "--", scene.program("wtime")), "not the recorded one"),
                        (("--rank", 1, file, "--", "./nowhere"), "cannot find"), ((file,), "1 of 3")):
        result = scene.run([reprise, "replay", "--yes", *words])
        scene.check_status(result, (125, 127), f"replay {words}")
        scene.check(text in result.err, f"replay {words}: does not say {text!r}", result)


def bad_bundle(scene):
    """Cut anywhere, or with any byte changed, it is refused with one sentence, or replays as if nothing had happened."""
    _, recorded = record_all(scene, scene.launch(2, scene.program("recv_any")), 2)
    file, reprise, bad = scene.dir / "good.reprise", scene.settings.reprise, scene.dir / "bad.reprise"
    scene.check_status(scene.run([reprise, "extract", "--ranks", "all", "-o", file, scene.dir / "trace"]), 0, "extract")
    good = file.read_bytes()
    variants = [(f"cut at {at}", good[:at]) for at in sorted(scene.random.sample(range(len(good)), 20))]
    for at in sorted(scene.random.sample(range(len(good)), 20)) + [3, 20, 40]:
        variants.append((f"byte {at} changed", good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1:]))
    line_end = good.index(b"\n", good.index(b"\n") + 1)
    for name in (b"../outside", b"rank-1/../../x", b"/etc/passwd", b"core"):
        variants.append((f"with {name.decode()}", b"reprise bundle 1\n" + name + good[good.index(b" ", 20):line_end] +
                         good[line_end:]))
    variants.append(("with a size beyond all", b"reprise bundle 1\nmanifest.json 99999999999999999999 00\n"))
    variants.append(("twice the same", b"reprise bundle 1\n" + b"exits 0 2d06800538d394c2\n" * 2 + b"end\n"))
    before = {path for path in scene.dir.rglob("*")}
    for what, content in variants:
        bad.write_bytes(content)
        result = scene.run([reprise, "replay", "--yes", "--rank", 0, bad])
        scene.check_status(result, 125, what)
        scene.check(len([line for line in result.err.splitlines() if line.startswith("reprise: ")]) == 1 and
                    "bad.reprise" in result.err, f"{what}: not one sentence about the file", result)
    bad.unlink()
    left = {path for path in scene.dir.rglob("*") if not path.name.startswith("run-")} - before
    scene.check(not left, f"left behind: {sorted(map(str, left))}")


def cases(mpi):
    listed = {name: program(name) for name in PROGRAMS}
    listed |= {f"family-{name.replace(' ', '-')}": family(name) for name in families.PROGRAMS
               if mpi == "mpich" or name not in families.MPI_4_ONLY}
    listed |= {"leaves-nothing-behind": leaves_nothing_behind, "only-some-ranks": only_some_ranks,
               "bad-input": bad_input, "other-binary": other_binary, "shared-window": shared_window, "max-size": max_size,
               "crash": crash, "gdb-backtrace": backtrace, "causal-order": causal_order, "sent-is-compared": sent_is_compared, "bad-sets": bad_sets, "bundle": bundle, "rr": reverse, "gdb-server": server, "bad-bundle": bad_bundle, "gdb-until": until, "gdb-without-rank": gdb_without_rank}
    if mpi == "openmpi":  # what Debian builds mpi4py and hpcc with
        listed |= {"python-buffers": python("python_buffers"), "python-objects": python("python_objects"), "hpcc": hpcc}
    return [Case("solo", mpi, name, function) for name, function in listed.items()]
