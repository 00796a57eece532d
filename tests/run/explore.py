"""Every relevant message order: known counts, mistakes that only some orders show, and orders that are kept and replayed,
without a launcher and on the real MPI."""

import json
import re
import signal
import sys
import time
from pathlib import Path

import gallery
import languages
from harness import SOURCES, Case

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "model"))

from language import If, Barrier, Recv, Send, Wait, Waitany  # noqa: E402
from to_c import c_program  # noqa: E402

# Of the families: programs that run with a few ranks, and what an order of theirs shows is the same on a real MPI.
# name: ranks
FAMILIES = {
    "solo_collectives": 4, "solo_world": 4, "communicators": 4, "intercommunicators": 4, "derived_types": 3, "probes": 3,
    "cancel": 3, "persistent_any": 3, "persistent_sends": 3, "waitany": 3, "testsome": 3, "sendrecv_any": 3,
    "nonblocking_collectives": 3, "callbacks": 3, "errors": 3, "statuses_ignore": 3, "request_free_active": 3,
    "get_status": 3, "clocks": 3, "fortran_mpifh": 3, "fortran_usempi": 3, "fortran_f08": 3, "fortran_types": 3,
}
# What the real MPI cannot repeat: times and polls of a world whose clock is another.
ONLY_VIRTUAL = {"clocks"}
DETERMINISTIC = {"clocks"}  # apart from time
# They free active receives on purpose, or leave communicators behind.
IGNORED = {"persistent_any": "request misuse", "request_free_active": "request misuse", "callbacks": "communicator leak"}
# MPICH calls the error handler of MPI_COMM_WORLD where Open MPI, and the virtual world, call that of the communicator.
ONLY_VIRTUAL_IN = {"mpich": {"errors"}}


def explore(scene, words, command, limit=300, **options):
    result = scene.run([scene.settings.reprise, "explore", *words, "--", *command], limit, **options)
    return result


def explored(scene, words, command, status=(0, 1), **options):
    """The result as JSON."""
    result = explore(scene, [*words, "--json"], command, **options)
    scene.check_status(result, set(status), "explore")
    return result, json.loads(result.out)


# --- known counts -----------------------------------------------------------------------------------------------------


def racing(senders, last=()):
    return [(*(Recv() for _ in range(senders)), *last)] + [(Send(0), *last) for _ in range(senders)]


# name: program, {buffering: (orders, of them deadlocks)}
COUNTS = {
    "racing-2": (racing(2), {"infinite": (2, 0), "none": (2, 0), "mixed": (2, 0)}),
    "racing-3": (racing(3), {"infinite": (6, 0), "none": (6, 0), "mixed": (6, 0)}),
    "racing-4": (racing(4), {"infinite": (24, 0), "none": (24, 0)}),
    "figure-1.1": (racing(3, (Barrier(),)), {"infinite": (6, 0), "none": (6, 0)}),
    "two-receivers": ([(Recv(), Recv()), (Recv(), Recv()), (Send(0), Send(1)), (Send(0), Send(1))],
                      {"infinite": (4, 0), "none": (4, 0)}),
    "wildcard-before-barrier": ([(Recv(), Barrier(), Recv()), (Send(0), Barrier()), (Barrier(), Send(0))],
                                {"infinite": (1, 0), "none": (1, 0)}),
    "wildcard-after-barrier": ([(Barrier(), Recv(), Recv()), (Send(0), Barrier()), (Barrier(), Send(0))],
                               {"infinite": (2, 0), "none": (1, 1)}),
    "specific-behind-wildcard": ([(Recv(request="a"), Recv(1, request="b"), Wait("a"), Wait("b")), (Send(0), Send(0)),
                                  (Send(0),)], {"infinite": (2, 0)}),
    "released-by-a-wildcard": ([(Recv(), Recv()), (Send(0), Send(2)), (Recv(), Send(0))], {"infinite": (2, 0)}),
    "completion-released-by-a-wildcard": ([(Recv(1, request="a"), Recv(2, request="b"), Waitany(("a", "b"), "first")),
                                           (Send(0), Send(2)), (Recv(), Send(0)), ()], {"infinite": (2, 0)}),
    "released-by-a-later-receive": ([(Recv(tag=1, request="a"), Recv(tag=0), Send(2, tag=9), Wait("a")), (Send(0, tag=1),),
                                     (Send(0, tag=0), Recv(0, tag=9), Send(0, tag=1))], {"infinite": (2, 0), "none": (2, 2)}),
    "cross-coupled": ([(Recv(), Send(1), Recv()), (Recv(), Send(0), Recv()), (Send(0), Send(1)), (Send(0), Send(1))],
                      {"infinite": (32, 0)}),
    "only-mixed-fails": ([(Send(1, tag=1), Send(2, tag=2), Recv(1, tag=9), Send(2, tag=5)),
                          (Recv(tag=1, into="x"),
                           If("x", 2, (Send(2, tag=7), Recv(0, tag=1), Send(0, tag=9)),
                              (Recv(2, tag=1), Send(0, tag=9), Send(2, tag=7)))),
                          (Recv(0, tag=2), Send(1, tag=1), Recv(0, tag=5), Recv(1, tag=7))],
                         {"infinite": (None, 0), "none": (None, 0), "mixed": (None, 1)}),
}


def count(name):
    program, expected = COUNTS[name]

    def function(scene):
        source = scene.dir / "program.c"
        source.write_text(c_program(program))
        binary = scene.dir / "program"
        done = scene.run([f"mpicc.{scene.case.mpi}", "-w", source, "-o", binary])
        scene.check_status(done, 0, "mpicc")
        for buffering, (orders, deadlocks) in expected.items():
            result, found = explored(scene, ["-n", len(program), "--buffering", buffering, "--no-save"], [binary, "-"])
            scene.check(found["complete"], f"{buffering}: not complete", result)
            if orders is not None:
                scene.check(found["orders"] == orders, f"{buffering}: {found['orders']} orders, not {orders}", result)
            number = sum(error["count"] for error in found["errors"] if error["category"] == "deadlock")
            scene.check((number > 0) == (deadlocks > 0) and (orders is None or number == deadlocks),
                        f"{buffering}: {number} deadlocks, not {deadlocks}", result)
    return function


# --- mistakes ---------------------------------------------------------------------------------------------------------

# argument of explore_errors: category, a word of the line's comment, exit status of a replay, in which order
MISTAKES = {
    "deadlock": ("deadlock", "// deadlock", 1),
    "livelock": ("livelock", "// livelock", 1),
    "assertion": ("assertion failure", None, 134),
    "crash": ("crash", None, 139),
    "exit": ("non-zero exit", None, 3),
    "abort": ("abort", "// abort", 5),
    "truncates": ("truncation", "// truncates", 1),
    "lost-send": ("unmatched send", "// lost send", 0),
    "lost-receive": ("unmatched receive", "// lost receive", 0),
    "other-collective": ("collective mismatch", "// other collective", 1),
    "other-root": ("collective mismatch", "// other root", 1),
    "other-operation": ("collective mismatch", "// other operation", 1),
}


def line_with(words, source="explore_errors.c"):
    for number, line in enumerate((SOURCES / source).read_text().splitlines(), 1):
        if words in line:
            return number
    raise AssertionError(words)


def mistake(name):
    category, words, status = MISTAKES[name]

    def function(scene):
        program = scene.program("explore_errors")
        # What nothing matched was not waited for either.
        ignored = ["--ignore", "request leak"] if name.startswith("lost-") else []
        result, found = explored(scene, ["-n", "3", "--buffering", "infinite", "-o", scene.dir / "orders", *ignored],
                                 [program, name], (1,))
        scene.check(found["orders"] == 2, f"{found['orders']} orders, not 2", result)
        errors = [error for error in found["errors"] if error["category"] == category]
        scene.check(len(errors) == len(found["errors"]) == 1 and errors[0]["count"] == 1,
                    f"not one {category} in one order", result)
        calls = [call for call in errors[0]["calls"] if call["rank"] == 0]
        scene.check(calls, "rank 0 is not named", result)
        if words:
            place = f"explore_errors.c:{line_with(words)}"
            scene.check(calls[0]["at"].startswith(place + " "), f"{calls[0]['at']}, not {place}", result)
        # The order is kept, and fails again, each time in the same way.
        for _ in range(2):
            replay = scene.run([scene.settings.reprise, "replay", "--yes", errors[0]["saved"]])
            scene.check_status(replay, status, "replay")
            scene.check("rank 0: first 2" in replay.out, "another order was replayed", replay)
            if category in ("deadlock", "livelock"):
                scene.check(f"the recorded run ended here ({category})" in replay.err, "it is not said how it ended", replay)
        said = explore(scene, ["-n", "3", "--buffering", "infinite", "--no-save"], [program, name])
        scene.check_status(said, 1, "explore, in words")
        scene.check(category.upper() in said.out or category == "assertion failure", "the report does not name it", said)
    return function


def unsafe(scene):
    program = scene.program("explore_errors")
    result, found = explored(scene, ["-n", "2", "--no-save"], [program, "head-to-head"], (1,))
    scene.check([error["category"] for error in found["errors"]] == ["deadlock"], "not one deadlock", result)
    scene.check(found["errors"][0]["unsafe"] and found["errors"][0]["buffering"] == "none", "it is not called unsafe", result)
    result, found = explored(scene, ["-n", "2", "--no-save", "--buffering", "infinite"], [program, "head-to-head"], (0,))
    scene.check(found["complete"] and not found["errors"], "buffered sends do not deadlock", result)
    said = explore(scene, ["-n", "2", "--no-save"], [program, "head-to-head"])
    scene.check("unsafe: deadlocks when sends are not buffered" in said.out, "the report does not say so", said)
    # What deadlocks anyway is not called unsafe.
    result, found = explored(scene, ["-n", "3", "--no-save"], [program, "deadlock"], (1,))
    scene.check(not any(error["unsafe"] for error in found["errors"]), "a deadlock is called unsafe", result)


def private_files(scene):
    (scene.dir / "given.txt").write_text("given\n")
    result, found = explored(scene, ["-n", "3", "--buffering", "infinite", "--private-files", "-o", scene.dir / "orders"],
                             [scene.program("explore_errors"), "writes"], (1,), cwd=scene.dir)
    scene.check([error["category"] for error in found["errors"]] == ["non-zero exit"], "not one order that fails", result)
    scene.check(not (scene.dir / "heard.txt").exists(), "an order has written into the working directory", result)
    written = {path.name: path.read_text() for path in (scene.dir / "orders").glob("order-*/files/*")}
    scene.check(written == {"heard.txt": "2\n"}, f"kept is {written}", result)
    result, found = explored(scene, ["-n", "3", "--buffering", "infinite", "--no-save"], [scene.program("explore_errors"), "writes"],
                             (1,), cwd=scene.dir)
    # The first order is played more than once (cli/early_reads.hpp).
    scene.check(set((scene.dir / "heard.txt").read_text().split()) == {"1", "2"}, "not asked for, it is private", result)


def race_is_no_error(scene):
    result, found = explored(scene, ["-n", "4"], [scene.program("explore_errors"), "nothing"], (0,))
    scene.check(found["orders"] == 12 and found["complete"] and not found["errors"], "not twelve good orders", result)
    scene.check(found["buffering"] == ["infinite", "none"], "both extremes are not named", result)


def report_in_words(scene):
    said = explore(scene, ["-n", "4", "--buffering", "infinite", "-o", scene.dir / "orders"],
                   [scene.program("explore_errors"), "deadlock"])
    scene.check_status(said, 1, "explore")
    line = line_with("// deadlock")
    scene.check(re.search(rf"DEADLOCK in order \d+.*\n  rank 0 +explore_errors.c:{line} \(deadlock\)  MPI_Recv from 2, tag 7 +<- "
                          rf"alone here\n  ranks 1-3 +explore_errors.c:\d+ \(main\)  MPI_Barrier without rank 0", said.out),
                "the report is not as it should be", said)
    scene.check(re.search(r"reprise: saved \S+/order-\d+; next: reprise replay \S+/order-\d+\n", said.err),
                "the next command is not named", said)


def in_gdb(scene):
    result, found = explored(scene, ["-n", "3", "--buffering", "infinite", "-o", scene.dir / "orders"],
                             [scene.program("explore_errors"), "deadlock"], (1,))
    saved = found["errors"][0]["saved"]
    debugged = scene.run([scene.settings.reprise, "replay", "--yes", "--rank", "0", saved, "--gdb", "-batch", "-ex", "run",
                          "-ex", "bt"])
    scene.check(re.search(rf"deadlock \(\) at .*explore_errors.c:{line_with('// deadlock')}", debugged.out),
                "the backtrace does not show where the rank waits", debugged)


# --- orders of real programs ------------------------------------------------------------------------------------------


def family(name):
    ranks = FAMILIES[name]

    def function(scene):
        program = scene.program(name)
        scene.clear()
        order = 1 if name in DETERMINISTIC else 2
        result = explore(scene, ["-n", ranks, "--buffering", "infinite", "--max-orders", "2", "-j", "1", "--keep-order", order,
                                 "-o", scene.dir / "kept", *(["--ignore", IGNORED[name]] if name in IGNORED else [])],
                         [program, scene.out])
        scene.check_status(result, 0 if name in DETERMINISTIC else 3, "explore")  # nothing is wrong, but there may be more
        kept = scene.outputs()
        scene.check(len(kept) == ranks, "output files are missing", result)
        replay, outputs = scene.replay(scene.dir / "kept" / f"order-{order}")
        scene.check_status(replay, 0, "replay without a launcher")
        scene.check_same(kept, outputs, "without a launcher", replay)
        if name in ONLY_VIRTUAL | ONLY_VIRTUAL_IN.get(scene.case.mpi, set()):
            return
        # The same order with the real library: what was made up is what it does.
        scene.clear()
        real = scene.run([scene.settings.reprise, "replay", "--yes", scene.dir / "kept" / f"order-{order}", "--",
                          *scene.launch(ranks, program)])
        scene.check_status(real, 0, "replay on the real MPI")
        real_output = scene.outputs()
        # MPI_UNIVERSE_SIZE is what a launcher says.
        without = lambda outputs: {key: re.sub(rb"attribute 4: .*\n", b"", text) for key, text in outputs.items()}
        scene.check_same(without(kept), without(real_output), "on the real MPI", real)
    return function


def python(scene):
    program = SOURCES / "python_objects.py"
    result, found = explored(scene, ["-n", "3", "--buffering", "infinite", "--max-orders", "3", "--no-save", "--mpi", "openmpi"],
                             [languages.python_with("mpi4py"), program, scene.out], (0, 3))
    scene.check(found["orders"] == 3 and not found["errors"], "mpi4py is not explored", result)


# --- threads ----------------------------------------------------------------------------------------------------------

# argument of explore_threads: orders with sends buffered, and not
THREADS = {"queue": (2, 2), "multiple": (4, 4), "to-itself": (2, 2), "sleeps": (2, 2), "yields": (2, 2), "timed": (2, 2)}


def threads(name):
    """Each order once, and the threads do the same every time."""
    def function(scene):
        program = scene.program("explore_threads")
        seen = []
        for attempt in range(2):
            outputs = {}
            for buffering, orders in zip(("infinite", "none"), THREADS[name]):
                listing = scene.dir / f"{buffering}-{attempt}.list"
                result, found = explored(scene, ["-n", "3", "--buffering", buffering, "--no-save", "--list", listing, "--list-output"],
                                         [program, name], (0,))
                scene.check(found["complete"] and found["orders"] == orders,
                            f"{buffering}: {found['orders']} orders, not {orders}", result)
                listed = [json.loads(line) for line in listing.read_text().splitlines()]
                outputs[buffering] = sorted((str(order["taken"]), str(order["output"])) for order in listed)
            seen.append(outputs)
        scene.check(seen[0] == seen[1], f"not the same again: {seen}")
    return function


# argument of explore_threads: what the report says
THREAD_DEADLOCKS = {
    "two-locks": ["// main wants one", r"pthread_mutex_lock held by thread 1 since explore_threads.cpp:{} ", "// other takes one"],
    "lock-and-message": ["// wants the lock", r"pthread_mutex_lock held by thread 0 since explore_threads.cpp:{} ",
                         "// takes the lock"],
    "lost-signal": ["// waits for ever", r"pthread_cond_wait\n", None],
}


def thread_deadlock(name):
    where, words, holder = THREAD_DEADLOCKS[name]

    def function(scene):
        program = scene.program("explore_threads")
        said = explore(scene, ["-n", "3", "--buffering", "infinite", "-o", scene.dir / "orders"], [program, name])
        scene.check_status(said, 1, "explore")
        scene.check("[2 orders," in said.out and said.out.count("DEADLOCK") == 1, "not one deadlock in two orders", said)
        held = line_with(holder, "explore_threads.cpp") if holder else ""
        line = line_with(where, "explore_threads.cpp")
        scene.check(re.search(rf"rank 0, thread \d +explore_threads.cpp:{line} .*{words.format(held)}", said.out),
                    "the report does not name thread, line and holder", said)
        if name == "lock-and-message":
            scene.check("MPI_Recv from 0, tag 5" in said.out, "who waits for the message is not named", said)
        replay = scene.run([scene.settings.reprise, "replay", "--yes", *(scene.dir / "orders").glob("order-*")])
        scene.check_status(replay, 1, "replay")
        scene.check("the recorded run ended here (deadlock)" in replay.err, "it is not said how it ended", replay)
        if name == "two-locks":
            scene.check("deadlock in rank 0: all its threads can never go on" in replay.err, "the replay does not explain it", replay)
    return function


# Programs whose plain runs differ because of their threads: how these run, no run repeats, and yet an order is the same
# every time. name: program, ranks, arguments, an order
THREADED = {
    "locks": ("thread_locks", 2, [], 1), "c11": ("thread_c11", 2, [], 1), "daemon": ("thread_daemon", 2, [], 1),
    "producers": ("thread_producers", 3, [], 2), "openmp-fortran": ("openmp_fortran", 2, [], 1),
}


def threaded(name):
    source, ranks, arguments, order = THREADED[name]

    def function(scene):
        program = scene.program(source)
        kept = []
        for attempt in range(2):
            scene.clear()
            result = explore(scene, ["-n", ranks, "--buffering", "infinite", "--max-orders", "2", "-j", "1", "--keep-order", order,
                                     "-o", scene.dir / f"kept-{attempt}"], [program, scene.out, *arguments])
            scene.check(result.status in (0, 3), "explore failed", result)
            kept.append(scene.outputs())
            scene.check(len(kept[-1]) == ranks, "output files are missing", result)
        scene.check_same(kept[0], kept[1], "explored again", result)
        replay, outputs = scene.replay(scene.dir / "kept-0" / f"order-{order}")
        scene.check_status(replay, 0, "replay")
        scene.check_same(kept[0], outputs, "replayed", replay)
    return function


def model_checker(scene):
    """The paper's Table 2.1: worker and communicator share queues, with sleeps of chance before every lock."""
    for ranks, depth in ((3, 3), (3, 5), (4, 3)):
        result, found = explored(scene, ["-n", ranks, "--buffering", "infinite", "--max-orders", "15", "--no-save"],
                                 [scene.program("model_checker"), "--depth", depth, "--jitter", "20"], (3,))
        scene.check(found["orders"] >= 15 and not found["errors"], f"{ranks} ranks, depth {depth}: not as it should be", result)


# --- budgets and bad input --------------------------------------------------------------------------------------------


def budgets(scene):
    program = scene.program("recv_any")
    result, found = explored(scene, ["-n", "4", "--buffering", "infinite", "--max-orders", "5", "--no-save"], [program, scene.out], (3,))
    scene.check(not found["complete"] and found["orders"] == 5, "it did not stop", result)
    result, found = explored(scene, ["-n", "4", "--buffering", "infinite", "--max-time", "1", "--no-save"], [program, scene.out], (3,))
    scene.check(not found["complete"], "it did not stop", result)
    said = explore(scene, ["-n", "4", "--buffering", "infinite", "--max-orders", "5", "--no-save"], [program, scene.out])
    scene.check("not all was covered: stopped by a limit" in said.err, "the verdict does not say so", said)


def interrupt(scene):
    child = scene.start([scene.settings.reprise, "explore", "-n", "4", "--buffering", "infinite", "--no-save", "--",
                         scene.program("recv_any"), scene.out])
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    result = scene.finish(child, 60)
    scene.check_status(result, 3, "explore")
    scene.check(re.search(r"reprise: \d+ orders in", result.err) and "interrupted" in result.err,
                "the result so far is not told", result)


def refused(words, command, expected, status=2):
    def function(scene):
        built = [scene.program(word[1:]) if str(word).startswith("@") else word for word in command]
        result = explore(scene, words, built, 120)
        scene.check_status(result, status, "explore")
        text = result.err if status == 2 else result.out
        scene.check(re.search(expected, text), f"not said: {expected}", result)
        scene.check(status != 2 or len(result.err.strip().splitlines()) == 1, "not one sentence", result)
    return function


def forks(scene):
    result, found = explored(scene, ["-n", "3", "--no-save"], [scene.program("explore_errors"), "forks"], (0,))
    scene.check(found["complete"], "not complete", result)  # and nothing is left behind: the harness looks


BAD_INPUT = {
    "no-mpi": (["-n", "2"], ["/bin/true"], r"no MPI|MPI library|MPI_Init"),
    "no-init": (["-n", "2", "--mpi", "mpich"], ["/bin/true"], r"MPI_Init"),
    "no-program": (["-n", "2"], ["./nowhere"], r"nowhere"),
    "no-ranks": ([], ["@explore_errors"], r"--ranks|-n"),
    "too-many": (["-n", "1000"], ["@explore_errors"], r"between 1 and 64"),
    "early-threads": (["-n", "2", "--no-save"], ["@explore_threads", "early"], r"threads that are there before MPI_Init cannot be explored"),
}


def for_ever(scene):
    result = explore(scene, ["-n", "2", "--step-timeout", "1", "--no-save", "--buffering", "infinite"],
                     [scene.program("explore_errors"), "for-ever"], 120)
    scene.check_status(result, 1, "explore")
    scene.check(re.search(r"ENDLESS COMPUTATION.*\n  rank 0 +after explore_errors.c:\d+ ", result.out), "rank and line are not named",
                result)


# argument of explore_windows: orders (x exclusive and s shared locks at one place: x! (x+1)^s)
WINDOWS = {"/f0+1/f0+1/f0+1": 6, "/f0+1/f0+1/f0+1/f0+1": 24, "/f0+1/f1+1/f2+1": 1, "/l0+1/l1+1/l2+1": 6, "/l0+1/s0/s0/s0": 8,
           "/l0+1/l0+1/s0": 6, "/s0/s1/s0/s1": 1, "/f0+1,b/b,f0+1/b": 1}


def windows(scene):
    """Known counts of one-sided communication; and an order that fails is kept, replayed and explained."""
    for program, orders in WINDOWS.items():
        result, found = explored(scene, ["-n", program.count("/"), "--buffering", "infinite", "--no-save"],
                                 [scene.program("explore_windows"), program], status=(0,))
        scene.check(found["complete"] and found["orders"] == orders, f"{program}: {found['orders']} orders, not {orders}", result)
    command = [gallery.built(scene.settings, scene.case.mpi), "win_ticket", "wrong"]
    result, found = explored(scene, ["-n", "3", "-o", scene.dir / "orders"], command, status=(1,))
    error, = found["errors"]
    replay = scene.run([scene.settings.reprise, "replay", "--yes", error["saved"]])
    scene.check_status(replay, 128 + signal.SIGABRT, "replay")
    scene.check("Assertion" in replay.err and "windows.c" in replay.err, "it does not fail again", replay)
    alone = scene.run([scene.settings.reprise, "replay", "--yes", "--rank", "0", error["saved"]])
    scene.check("windows of an explored run" in alone.err, "one rank alone: the reason is not given", alone)
    explained = scene.run([scene.settings.reprise, "explain", "--json", error["saved"]])
    scene.check_status(explained, 0, "explain")
    constraint, = json.loads(explained.out)["constraints"]
    scene.check(constraint["kind"] == "turn" and constraint["message"].startswith("2."), f"not whose turn it is: {constraint}", explained)


def cases(mpi):
    all_cases = [Case("explore", mpi, f"count-{name}", count(name)) for name in COUNTS]
    all_cases += [Case("explore", mpi, f"mistake-{name}", mistake(name)) for name in MISTAKES]
    all_cases += [Case("explore", mpi, f"order-{name}", family(name)) for name in FAMILIES]
    all_cases += [Case("explore", mpi, f"threads-{name}", threads(name)) for name in THREADS]
    all_cases += [Case("explore", mpi, f"threads-{name}", thread_deadlock(name)) for name in THREAD_DEADLOCKS]
    all_cases += [Case("explore", mpi, f"order-thread-{name}", threaded(name)) for name in THREADED]
    all_cases += [Case("explore", mpi, f"refuses-{name}", refused(*what)) for name, what in BAD_INPUT.items()]
    all_cases += [Case("explore", mpi, function.__name__.replace("_", "-"), function)
                  for function in (unsafe, private_files, race_is_no_error, report_in_words, in_gdb, model_checker, budgets, interrupt, forks, for_ever, windows)]
    if mpi == "openmpi":
        all_cases.append(Case("explore", mpi, "python", python))
    return all_cases
