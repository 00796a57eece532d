"""`reprise lint` under the real mpirun. Of the gallery's programs (tests/gallery), those whose mistake one run shows without
hanging: lint must find it, in that file, and nothing else; in the correct twin, and in correct programs of other suites, it must
find nothing.
"""

import itertools
import json
import xml.etree.ElementTree

import families
import gallery
from harness import TROUBLE, Case

# By category, as the gallery declares it.
SHOWN = {
    "communicator leak": ("split_left", "dups_in_a_loop"),
    "group leak": ("group_incl_left", "group_taken_twice"),
    "datatype leak": ("contiguous_left", "inner_type_left"),
    "operation leak": ("operation_left",),
    "window leak": ("win_never_freed",),
    "outside an epoch": ("win_put_without_fence", "win_flush_without_lock"),
    "request leak": ("isend_never_waited_for", "one_of_many_not_waited_for"),
    "persistent request leak": ("persistent_receive_left", "buffered_send_restarted"),
    "send buffer changed": ("isend_changed", "isend_of_a_loop", "hole_changed", "changed_before_get_status"),
    "overlapping buffers": ("two_receives_in_one", "columns_overlap", "sent_while_received"),
    "buffer too small": ("send_beyond_allocation", "gather_into_one_block", "window_beyond_allocation"),
    "file leak": ("file_never_closed",),
    "truncation": ("irecv_too_small", "sendrecv_too_small"),
    "type mismatch": ("int_as_float", "struct_in_other_order", "persistent_of_other_type", "packed_fits_everything"),
    "collective mismatch": ("operations_of_reduce", "operations_of_allreduce"),
    "collective type mismatch": ("bcast_counts_differ", "bcast_types_differ", "gather_counts_differ", "scan_counts_differ"),
    "invalid argument": ("tag_negative", "type_not_committed", "comm_freed", "root_too_large"),
}
FATAL = {"invalid argument", "outside an epoch", "window leak", "truncation", "collective mismatch", "collective type mismatch",
         "buffer too small"}  # the MPI may end the program there
CORRECT = ("errors", "errors_throw", "derived_types", "persistent_any", "callbacks", "nonblocking_collectives",
           "cancel", "get_status", "waitsome", "probes", "sendrecv_any", "persistent_sends", "communicators", "large", "waitany", "intercommunicators", "statuses_ignore")
INTENDED = {"callbacks": "communicator leak"}  # copies that keep an attribute to the end


def lint(scene, words, command):
    return scene.run([scene.settings.reprise, "lint", *words, "-o", scene.dir / f"trace-{scene.count}", "--", *command], 120,
                     cwd=scene.dir)


def findings(result):
    """The errors of --json. A launcher may have written to stdout, too, before it."""
    lines = result.out.splitlines()
    return json.loads("\n".join(lines[len(lines) - 1 - lines[::-1].index("{"):]))["errors"]


def gallery_command(scene, name, ranks, kind):
    return [f"mpirun.{scene.case.mpi}", "-n", ranks, gallery.built(scene.settings, scene.case.mpi), name, kind]


def declared(category, names):
    chosen = [case for case in gallery.declared() if case[1] in names]
    assert len(chosen) == len(names) and all(case[2] == category for case in chosen), f"the gallery has other programs than {names}"
    return chosen


def found_in_one_run(category, names):
    def test(scene):
        for file, name, _, ranks in declared(category, names):
            result = lint(scene, ["--json"], gallery_command(scene, name, ranks, "wrong"))
            scene.check_status(result, 1, f"{name} wrong")
            errors = findings(result)
            scene.check({error["category"] for error in errors} == {category}, f"{name} wrong: {category} expected", result)
            for call in itertools.chain.from_iterable(error["calls"] for error in errors):
                scene.check(call["at"].startswith(f"{file}.c:") and call["at"].endswith(f"({name})"),
                            f"{name} wrong: found at {call['at']}, not in {file}.c", result)
            result = lint(scene, ["--json"], gallery_command(scene, name, ranks, "right"))
            scene.check_status(result, 0, f"{name} right")
            scene.check(findings(result) == [], f"{name} right: nothing expected", result)
    return test


def no_false_alarm(name):
    def test(scene):
        command, _ = families.command_of(scene, name)
        result = lint(scene, ["--json", *(["--ignore", INTENDED[name]] if name in INTENDED else [])], command)
        scene.check_status(result, 0, name)
        scene.check(findings(result) == [], f"{name}: nothing expected", result)
    return test


def left_communicator(scene):
    """(file and line of what makes it, command)"""
    (file, name, _, ranks), = declared("communicator leak", ["dup_left"])
    before = (gallery.GALLERY / f"{file}.c").read_text().partition(f"CASE({name}")
    line = 1 + (before[0] + before[2].partition("MPI_Comm_dup")[0]).count("\n")
    return f"{file}.c", line, gallery_command(scene, name, ranks, "wrong")


def files_for_other_programs(scene):
    """--sarif and --junit."""
    file, line, command = left_communicator(scene)
    sarif, junit = scene.dir / "found.sarif", scene.dir / "found.xml"
    result = lint(scene, ["--sarif", sarif, "--junit", junit], command)
    scene.check_status(result, 1, "lint")
    run, = json.loads(sarif.read_text())["runs"]
    scene.check([rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["communicator-leak"], sarif.read_text(), result)
    found, = run["results"]
    place = found["locations"][0]["physicalLocation"]
    scene.check(found["ruleId"] == "communicator-leak" and place["artifactLocation"]["uri"].endswith(f"/{file}")
                and place["region"]["startLine"] == line, f"not at {file}:{line}: {found}", result)
    suite = xml.etree.ElementTree.parse(junit).getroot()
    failure = suite.find("testcase/failure")
    scene.check(suite.tag == "testsuite" and suite.get("tests") == suite.get("failures") == "1" and failure is not None
                and failure.get("type") == "communicator leak" and f"{file}:{line}" in failure.get("message"),
                junit.read_text(), result)


def ignored(scene):
    _, _, command = left_communicator(scene)
    sarif, junit = scene.dir / "found.sarif", scene.dir / "found.xml"
    result = lint(scene, ["--json", "--ignore", "group leak,communicator leak", "--sarif", sarif, "--junit", junit], command)
    scene.check_status(result, 0, "the only category is ignored")
    scene.check(findings(result) == [], "nothing expected", result)
    run, = json.loads(sarif.read_text())["runs"]
    scene.check(run["results"] == [], sarif.read_text(), result)
    suite = xml.etree.ElementTree.parse(junit).getroot()
    scene.check(suite.get("failures") == "0" and suite.find("testcase/failure") is None, junit.read_text(), result)
    result = lint(scene, ["--json", "--ignore", "group leak"], command)
    scene.check_status(result, 1, "another category is ignored")
    scene.check([error["category"] for error in findings(result)] == ["communicator leak"], "one finding expected", result)
    result = lint(scene, ["--ignore", "group leek"], command)
    scene.check_status(result, TROUBLE, "no such category")
    scene.check("group leek" in result.err, "the category is not named", result)


def own_exit_status(scene):
    """Of a program that fails though nothing is wrong with its calls."""
    result = lint(scene, ["--json"], scene.launch(2, scene.program("exit_status"), 3))
    scene.check_status(result, 3, "lint")
    scene.check(findings(result) == [], "nothing expected", result)


def cases(mpi):
    return ([Case("lint", mpi, category.replace(" ", "-"), found_in_one_run(category, names), faults=category in FATAL)
             for category, names in SHOWN.items()]
            + [Case("lint", mpi, f"correct-{name}", no_false_alarm(name)) for name in CORRECT]
            + [Case("lint", mpi, function.__name__.replace("_", "-"), function)
               for function in (files_for_other_programs, ignored, own_exit_status)])
