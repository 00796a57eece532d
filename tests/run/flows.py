"""`reprise check --flows` and `reprise show --flow`: bytes are followed through real libraries, over all transports that work here, and
where a copy inside the library goes wrong (tests/flow/journeys_faults.c), the right movement is named.
"""

import functools
import json
import subprocess
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from flow import check, verdict
from harness import Case, Failure, Skip, available

FLOW = Path(__file__).resolve().parent.parent / "flow"
SIZES, MORE_SIZES = (64, 4096, 131072), (64, 1024, 16384, 131072, 1048576)
SHAPES = ("contiguous", "blocks8", "blocks64")

RANKS, MORE_RANKS = 4, 8  # of 8, one passes on to two others what it got
# How the library is told what to use: words for the launcher, variables.
TRANSPORTS = {
    "openmpi": {
        "vader-cma": ([], {}),
        "vader": (["--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none"], {}),
        "tcp": (["--mca", "btl", "self,tcp"], {}),
        "ucx": (["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"], {}),
    },
    "mpich": {
        "ucx": ([], {}),
        "ucx-sysv": ([], {"UCX_TLS": "sysv,self"}),
    },
}
# Calls of which not every byte can be followed (docs/flows.md).
MISSED = {
    ("mpich", "blocks"): {"MPI_Gather", "MPI_Bcast", "MPI_Allgatherv", "MPI_Allgather"},
    ("openmpi", "ucx"): {"MPI_Allgatherv"},
}
FEW_HOPS, MOST_HOPS = 3, 12  # of one collective and size
COLLECTIVES = ("bcast", "gather", "scatter", "allgather", "alltoall")
KINDS = {
    "memcpy": ("to", "from", "direction", "size", "dropped"),
    "process_vm_readv": ("to", "from", "dropped"),
    "write to a socket": ("from",),
    "read from a socket": ("to",),
    "packing": ("packing",),
    "unpacking": ("unpacking",),
}


class WrongName(Failure):
    """Another movement was named than the one that went wrong."""


class Run(NamedTuple):
    """What the program does, and on what."""

    transport: str
    way: str
    size: int
    shape: str
    ranks: int = RANKS

    @property
    def is_collective(self):
        return self.way in COLLECTIVES


@functools.cache
def lock_of(mpi):
    return Lock()


def built(scene):
    program = scene.settings.scratch / f"journeys-{scene.case.mpi}"
    with lock_of(scene.case.mpi):
        if not program.exists():
            made = program.with_suffix(".new")
            done = subprocess.run([f"mpicc.{scene.case.mpi}", "-O2", "-g", "-w", "-rdynamic", *sorted(FLOW.glob("journeys*.c")), "-o", made, "-ldl"],
                                  capture_output=True, text=True)
            scene.check(done.returncode == 0, done.stderr)
            made.rename(program)
    return program


def command(scene, run):
    words, variables = TRANSPORTS[scene.case.mpi][run.transport]
    return [f"mpirun.{scene.case.mpi}", *words, "-n", run.ranks, built(scene), run.way, run.size, run.shape], variables


def follow(scene, run, **variables):
    words, more = command(scene, run)
    result = check(scene, ["--flows", "--no-reproducers"], words, env=more | variables)
    return result, scene.dir / f"trace-{scene.count - 1}"


def missed_calls(scene, transport):
    """Of blocks."""
    return MISSED.get((scene.case.mpi, "blocks"), set()) | MISSED.get((scene.case.mpi, transport), set())


def visible(transport, shape):
    def test(scene):
        thorough = scene.settings.repeat >= 50
        for size in MORE_SIZES if thorough else SIZES:
            few = shape == "blocks8" and size > (131072 if thorough else 4096)  # a million copies are enough, or ten
            result, _ = follow(scene, Run(transport, "send" if few else "all", size, shape))
            scene.check(result.status == 0, f"{size} bytes: exit status {result.status}", result)
            flows = verdict(result)["flows"]
            missed = {call for call, sums in flows["calls"].items() if sums["followed"] < sums["bytes"]}
            known = missed_calls(scene, transport) if shape != "contiguous" else set()
            scene.check(missed <= known, f"{size} bytes: not followed: {missed - known}", result)
            scene.check(flows["movements"] > 0 and flows["bytes"] > 0, "nothing was followed", result)
    return test


def wrong(transport, way, shape):
    """At each hop of a message, each thing that can go wrong with it."""
    def test(scene):
        tried = missed = 0
        done = {}  # by kind of movement
        for size in SIZES:
            run = Run(transport, way, size, shape)
            result, trace = follow(scene, run)
            scene.check(result.status == 0, f"{size} bytes: exit status {result.status}", result)
            shown = scene.run([scene.settings.reprise, "show", trace, "--flow", "1", "--json"], 100)
            scene.check(shown.status == 0, "show --flow", shown)
            found = [one for one in json.loads(shown.out) if one["to"]["rank"] == 1 and one["from"]["rank"] == 0 and one["ways"] and one["ways"][0]["hops"]]
            scene.check(found, f"{size} bytes: no way is known", shown)
            places = set()
            ways = found[len(found) // 2]["ways"]
            for went in ways if scene.settings.repeat >= 50 else ways[:1]:
                for number, hop in enumerate(went["hops"], 1):
                    if hop["inferred"]:
                        continue
                    place = (hop["rank"], hop["module"], hop["offset"], hop["header"] > 0)  # with a header, or going on behind one
                    if place in places:
                        continue
                    places.add(place)
                    for kind in KINDS[hop["movement"]]:
                        tried += 1
                        came = break_hop(scene, run, went, number, kind)
                        missed += not came
                        done[hop["movement"]] = done.get(hop["movement"], 0) + came
        few = tried * 3 // 4 if transport == "tcp" else tried // 4
        scene.check(missed <= few, f"too little could go wrong: {missed} of {tried} movements did not come again")
        scene.check(all(done.values()), f"of a kind of movement, none went wrong: {done}")
        scene.remark = f"{tried - missed} of {tried} movements went wrong"
    return test


def wrong_collective(transport, shape, ranks=RANKS):
    """
    At hops of collectives, whose blocks other ranks pass on, something that can go wrong there: the movement is named for all blocks.
    What is blamed is inferred, so those that are blamed on another movement are told together.
    """
    def test(scene):
        thorough = scene.settings.repeat >= 50
        tried = missed = 0
        wrong = []
        for way in COLLECTIVES:
            for size in SIZES if thorough else scene.random.sample(SIZES[:2], 1):
                run = Run(transport, way, size, shape, ranks)
                result, trace = follow(scene, run)
                scene.check(result.status == 0, f"{way}, {size} bytes: exit status {result.status}", result)
                hops = hops_of_one_call(scene, trace, ranks)
                for went, number in scene.random.sample(hops, min(MOST_HOPS if thorough else FEW_HOPS, len(hops))):
                    hop = went["hops"][number - 1]
                    tried += 1
                    try:
                        missed += not break_hop(scene, run, went, number, scene.random.choice(KINDS[hop["movement"]]))
                    except WrongName as failure:
                        wrong.append(f"{way}, {failure}")
        scene.check(tried > 0 and missed <= tried * 3 // 4, f"too little could go wrong: {missed} of {tried} movements did not come again")
        scene.check(not wrong, f"of {tried - missed} faults, {len(wrong)} are blamed on another movement:\n" + "\n".join(wrong))
        scene.remark = f"{tried - missed} of {tried} movements went wrong"
    return test


def written_over(scene):
    """A copy in the wrong direction, from memory where the library has had nothing yet: it is seen to write over what had come there."""
    if scene.case.mpi != "openmpi":
        raise Skip("needs Open MPI, which stores what comes early in memory of its own")
    run = Run("tcp", "allgather", 131072, "blocks64")
    tried = 0
    for _ in range(20):  # whether a block comes early is left to chance
        result, trace = follow(scene, run)
        stored = [(went, number) for went, number in hops_of_one_call(scene, trace, run.ranks)
                  if "pml_ob1" in went["hops"][number - 1]["module"] and went["hops"][number - 1]["carried"] > 60000]
        for went, number in stored[:2]:
            tried += break_hop(scene, run, went, number, "direction")
        if tried >= 2:
            break
    scene.check(tried > 0, "nothing went wrong")
    scene.remark = f"{tried} copies went in the wrong direction"


def hops_of_one_call(scene, trace, ranks):
    """[(way, number)] of all blocks that travel in the second of three calls, each place of the library in each rank once."""
    found = {}
    for rank in range(ranks):
        shown = scene.run([scene.settings.reprise, "show", trace, "--flow", rank, "--limit", "0", "--json"], 100)
        if shown.status != 0 and "no bytes of such a call" in shown.err:
            continue  # it only gives
        scene.check(shown.status == 0, "show --flow", shown)
        blocks = [one for one in json.loads(shown.out) if one["from"]["rank"] != rank and one["to"]["rank"] == rank]
        calls = sorted({one["to"]["call"] for one in blocks})
        for went in (way for one in blocks if one["to"]["call"] == calls[len(calls) // 2] for way in one["ways"]):
            for number, hop in enumerate(went["hops"], 1):
                if not hop["inferred"] and hop["carried"] > 1:
                    found.setdefault((hop["rank"], hop["module"], hop["offset"], hop["header"] > 0, hop["bytes"]), (went, number))
    scene.check(found, "no way is known")
    return list(found.values())


def places_of(scene, trace, ranks):
    """{(module, function, offset)} of all movements that were seen in this run."""
    found = set()
    for rank in range(ranks):
        shown = scene.run([scene.settings.reprise, "show", trace, "--flow", rank, "--limit", "0", "--json"], 100)
        for block in json.loads(shown.out) if shown.status == 0 else []:
            found |= {(hop["module"], hop["function"], hop["offset"]) for way in block["ways"] for hop in way["hops"]}
    return found


def break_hop(scene, run, went, number, kind):
    """Has it come, and gone wrong? In a collective, each block has its own way."""
    hop = went["hops"][number - 1]
    at = hop["movements"] // 2 if hop["bytes"] * hop["movements"] == went["bytes"] else 0
    if kind in ("packing", "unpacking"):
        at = 0
    fault = f"{kind}:{hop['rank']}:{hop['module']}:{hop['offset']}:{hop['bytes']}:{at}:{hop['header']}:{hop['carried']}"
    where = f"{run.size} bytes, {fault} (hop {number}: {hop['movement']} in {hop['function']})"
    told = scene.dir / "told"
    told.unlink(missing_ok=True)
    try:
        for _ in range(5):  # what is copied depends on what has come already, and over sockets on how much is read at once
            result, trace = follow(scene, run, FAULTY_COPY=fault, FAULTY_TOLD=str(told))
            if told.exists():
                break
        else:
            return False
    except Failure as failure:
        if run.transport == "tcp" and told.exists() and "not finished within" in str(failure):
            return False  # how much is read at once differs, and a header of the library's own was moved wrongly, too: it waits for ever
        raise Failure(f"{where}: {failure}") from None
    if run.is_collective and result.status == 0 and verdict(result)["exit status"] == 0:
        return False  # the program has found all its bytes: some algorithms bring a rank what it has
    scene.check(result.status == 1, f"{where}: exit status {result.status}", result)
    flows = [violation.get("flow") for violation in verdict(result)["violations"]]
    scene.check(flows and all(flows), f"{where}: no flow", result)
    # A wrong callback is one of the program's, which calls the library's.
    is_callback = kind in ("packing", "unpacking")
    place = (built(scene).name, kind[:-3]) if is_callback else (hop["module"], hop["function"], hop["offset"])
    for flow in flows:
        if run.is_collective and flow["verdict"] == "unknown" and run.shape != "contiguous" and f"MPI_{run.way.capitalize()}" in missed_calls(scene, run.transport):
            continue
        named = (flow.get("rank"), flow.get("movement"), flow.get("hop"), flow.get("module"), flow.get("function"), flow.get("offset"))
        expected = (hop["rank"], hop["movement"], flow.get("hop") if run.is_collective else number, *place)
        if run.is_collective and kind == "dropped":
            # Ranks take blocks at one place or another, as chance will have it: all of them are told, if they were seen at other times
            # in this run.
            others = [named[:3] + (other["module"], other["function"], other["offset"]) for other in flow.get("or", [])]
            named = next((one for one in others if one == expected), named)
            if place not in places_of(scene, trace, run.ranks):
                expected = expected[:2]
        elif run.transport == "tcp" and flow.get("hop") and not run.is_collective:
            # What is read at once from a socket, and so how many movements there are before this one, is different in each run. On
            # its way, there is one at this place, and the place is asserted.
            scene.check(flow["way"].count(flow["way"][flow["hop"] - 1]) == 1, f"{where}: which hop?", result)
            expected = (hop["rank"], hop["movement"], flow["hop"], *place)
        if named[:len(expected)] != expected:
            raise WrongName(f"{where}: named is {named}, {flow['verdict']}\n{result.describe()}")
    return True


def shown(scene):
    """For people: the whole way of one message, and lists; what is asked for wrongly is refused in one sentence."""
    transport = "vader-cma" if scene.case.mpi == "openmpi" else "ucx"
    words, variables = command(scene, Run(transport, "send", 131072, "contiguous"))
    trace = scene.dir / "shown"
    result = scene.run([scene.settings.reprise, "check", "--flows", "-o", trace, "--", *words], 100, env=variables)
    scene.check(result.status == 0 and "flows: 100 %" in result.err, "summary", result)
    listed = scene.run([scene.settings.reprise, "show", trace, "--flow", "1"], 60)
    scene.check(listed.status == 0 and "MPI_Irecv" in listed.out and "131,072 bytes" in listed.out, "list", listed)
    call = next(line.split()[0] for line in listed.out.splitlines() if line.startswith("1:"))
    one = scene.run([scene.settings.reprise, "show", trace, "--flow", call], 60)
    scene.check(one.status == 0 and "hop 1: rank " in one.out and "process_vm_readv" in one.out and "to the receive buffer" in one.out, "one", one)
    for bad, words in (("x", "RANK:CALL"), ("1:x", "RANK:CALL"), ("9", "no rank 9"), ("1:99999", "no bytes of such a call")):
        refused = scene.run([scene.settings.reprise, "show", trace, "--flow", bad], 60)
        scene.check(refused.status == 125 and words in refused.err and refused.err.count("\n") == 1, f"--flow {bad}", refused)
    plain = scene.dir / "plain"
    scene.run([scene.settings.reprise, "check", "-o", plain, "--", *command(scene, Run(transport, "send", 64, "contiguous"))[0]], 100)
    refused = scene.run([scene.settings.reprise, "show", plain, "--flow", "1"], 60)
    scene.check(refused.status == 125 and "check --flows" in refused.err, "a trace without flows", refused)


def hidden(what):
    """A library with its own copy of memcpy, or another transport: what cannot be seen is said, nobody is blamed, and intentions are
    checked all the same."""
    def test(scene):
        transport = "vader" if scene.case.mpi == "openmpi" else "ucx"
        if what == "hidden-sockets":
            transport = "tcp"
            if scene.case.mpi == "mpich":
                raise Skip("MPICH over UCX's TCP hangs in MPI_Finalize, without Reprise, too (docs/library-bugs.md)")
        result, _ = follow(scene, Run(transport, "send", 4096, "contiguous"), FAULTY_COPY=what)
        found = verdict(result)
        scene.check(result.status == 0 and not found["violations"] and found["messages"] > 0, "intentions", result)
        scene.check(found["flows"]["followed"] < found["flows"]["bytes"], "something was hidden, and all was followed", result)
        words, variables = command(scene, Run(transport, "send", 4096, "contiguous"))
        said = scene.run([scene.settings.reprise, "check", "--flows", "-o", scene.dir / "said", "--", *words], 100, env=variables | {"FAULTY_COPY": what})
        scene.check("were not followed" in said.err, "it is not said", said)
    return test


def broken_behind(scene):
    """Something is wrong where nobody can look: the violation is there, and the flow is unknown."""
    if scene.case.mpi != "openmpi":
        raise Skip("needs Open MPI's shared memory")
    result, trace = follow(scene, Run("vader", "send", 4096, "contiguous"))
    shown = scene.run([scene.settings.reprise, "show", trace, "--flow", "1", "--json"], 100)
    hop = json.loads(shown.out)[0]["ways"][0]["hops"][-1]
    fault = f"dropped:1:{hop['module']}:{hop['offset']}:{hop['bytes']}:0:{hop['header']}:{hop['carried']}"
    result, _ = follow(scene, Run("vader", "send", 4096, "contiguous"), FAULTY_COPY=fault, FAULTY_HIDES="1")
    flows = [violation.get("flow", {}) for violation in verdict(result)["violations"]]
    scene.check(result.status == 1 and flows, "the fault was not found", result)
    scene.check(all(flow.get("verdict", "unknown") == "unknown" for flow in flows), "somebody is blamed", result)


def written_behind(scene):
    """A copy that is too long: who has written behind the buffer?"""
    transport = "vader" if scene.case.mpi == "openmpi" else "ucx"
    _, trace = follow(scene, Run(transport, "sendrecv", 4000, "contiguous"))
    shown = scene.run([scene.settings.reprise, "show", trace, "--flow", "1", "--json"], 100)
    found = [one for one in json.loads(shown.out) if one["to"]["rank"] == 1]
    hop = found[0]["ways"][0]["hops"][-1]
    fault = f"long:1:{hop['module']}:{hop['offset']}:{hop['bytes']}:0:{hop['header']}:{hop['carried']}"
    for _ in range(10):  # whether the message is there before its receive, and so who copies it, is left to chance
        result, _ = follow(scene, Run(transport, "sendrecv", 4000, "contiguous"), FAULTY_COPY=fault)
        if verdict(result)["violations"]:
            break
    flows = [violation.get("flow", {}) for violation in verdict(result)["violations"] if violation["kind"] == "written behind the buffer"]
    scene.check(result.status == 1 and flows, "it was not found", result)
    for flow in flows:
        scene.check((flow.get("module"), flow.get("function")) == (hop["module"], hop["function"]), f"{flow} for {hop}", result)


def cases(mpi, repeat):
    if not available(mpi):
        return []
    all_shapes = [(transport, shape) for transport in TRANSPORTS[mpi] for shape in SHAPES]
    broken = [(transport, way, shape) for transport in TRANSPORTS[mpi] for way in ("send", "late") for shape in SHAPES
              if repeat >= 50 or (way == "send" and shape != "blocks8" and transport not in ("ucx-sysv", "ucx" if mpi == "openmpi" else "")
                                  and (transport != "tcp" or shape == "contiguous"))]
    collective = [(transport, shape, ranks) for transport in TRANSPORTS[mpi] for shape in ("contiguous", "blocks64") for ranks in (RANKS, MORE_RANKS)
                  if repeat >= 50 or (shape == "contiguous" and transport == {"openmpi": "vader", "mpich": "ucx"}[mpi])]
    return ([Case("flows", mpi, f"visible-{transport}-{shape}", visible(transport, shape)) for transport, shape in all_shapes]
            + [Case("flows", mpi, f"wrong-{transport}-{way}-{shape}", wrong(transport, way, shape)) for transport, way, shape in broken]
            + [Case("flows", mpi, f"wrong-{transport}-collective{'-of-8' * (ranks == MORE_RANKS)}-{shape}", wrong_collective(transport, shape, ranks))
               for transport, shape, ranks in collective]
            + [Case("flows", mpi, what, hidden(what)) for what in ("hidden-copies", "hidden-sockets")]
            + [Case("flows", mpi, "unknown", broken_behind), Case("flows", mpi, "written-behind", written_behind), Case("flows", mpi, "written-over", written_over),
               Case("flows", mpi, "shown", shown)])
