"""Programs that do not call MPI from C: Fortran in its three forms, Python, and a real one (HPCC).

Plain runs differ, recordings replay alike, and `reprise show` names the program's own lines.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from families import differs, replays_alike
from harness import SOURCES, Case, Failure, Skip, build_program

NOT_YET = "its outcome cannot be forced in a replay yet"  # what record says of calls that replay cannot serve


# -- Fortran -----------------------------------------------------------------------------------------------------------

FORTRAN = ["fortran_mpifh", "fortran_usempi", "fortran_f08"]
FORTRAN_RANKS = 4
AT_THEIR_LINES = {"MPI_Recv", "MPI_Irecv", "MPI_Send", "MPI_Waitany", "MPI_Waitsome", "MPI_Comm_split", "MPI_Bcast"}


def need(tool):
    if not shutil.which(tool):
        raise Skip(f"{tool} is not installed")


def calls_with_places(scene):
    """(function, file, line) of every MPI call in the trace. Clocks and the like are read by libgfortran itself."""
    result = scene.run([scene.settings.reprise, "show", "--calls", "--json", scene.dir / "trace"])
    scene.check_status(result, 0, "show")
    for log in json.loads(result.out)["logs"]:
        for call in log["calls"]:
            if not call["function"].startswith("MPI_"):
                continue
            yield call["function"], call["at"].get("file", call["at"]["module"]), call["at"].get("line", 0)


def check_places(scene, suffixes, exact):
    """Every call is shown in a file of the program, and the exact ones at lines that make just this call.

    gfortran has no line for a call through a generic interface whose arguments are all variables; it then has that of
    the block around it. The lines of each function.
    """
    lines = {}
    for function, file, line in set(calls_with_places(scene)):
        if not file.endswith(suffixes):
            raise Failure(f"{function} is shown in {file}, not in a file of the program")
        text = Path(file).read_text().splitlines()[line - 1]
        if exact(function) and not re.search(rf"\b{function}_?\(", text, re.IGNORECASE):
            raise Failure(f"{function} is shown at {file}:{line}, which is\n{text}")
        lines.setdefault(function, set()).add(line)
    return lines


def fortran(name):
    def function(scene):
        need(f"mpifort.{scene.case.mpi}")
        command = scene.launch(FORTRAN_RANKS, scene.program(name))
        differs(scene, command, FORTRAN_RANKS)
        replays_alike(scene, command, FORTRAN_RANKS)
        lines = check_places(scene, (f"/{name}.f90", f"/{name}.f"),
                             lambda called: name == "fortran_mpifh" or called in AT_THEIR_LINES)
        for called in ("MPI_Test", "MPI_Recv", "MPI_Irecv", "MPI_Send"):
            scene.check(len(lines[called]) >= 2, f"one line for all of {called}: {lines}")
    return function


def arguments_of_fortran(scene):
    """Procedures, strings and addresses with a meaning pass through the stubs unchanged."""
    need(f"mpifort.{scene.case.mpi}")
    command = scene.launch(3, scene.program("fortran_arguments"))
    result, plain = scene.plain(command)
    scene.check_status(result, 0, "plain run")
    said = plain["out-1.txt"].decode()
    for line in ("reduced: 2", "reduced: -4", "copies: 5", "attribute: 6", "deletes: 5", '"a name with blanks"',
                 '"some value"', "deletes: 6", "an error of rank", "heard: 100", "added: 42", "done"):
        scene.check(line + "\n" in said, f"a plain run does not say {line!r}:\n{said}")
    result, recorded = scene.record(command)
    scene.check_status(result, 0, "record")
    scene.check_same(plain, recorded, "record", result)
    result, replayed = scene.replay()
    scene.check_status(result, 0, "replay")
    scene.check_same(plain, replayed, "replay", result)


def callback_out_of_fortran(scene):
    """An error handler that leaves a Fortran call by longjmp must not leave that call's place behind."""
    need(f"mpifort.{scene.case.mpi}")
    links = {"openmpi": "-lmpi_mpifh", "mpich": "-lmpichfort"}
    target = scene.dir / "fortran_callback"
    program = scene.program("fortran_callback", output=target, libraries=[links[scene.case.mpi]])
    replays_alike(scene, scene.launch(3, program), 3)
    lines = check_places(scene, ("/fortran_callback.c", "/common.h"), lambda called: True)
    scene.check(len(lines["MPI_Barrier"]) == 1 and len(lines["MPI_Send"]) >= 2, f"wrong places: {lines}")


# -- late loading ------------------------------------------------------------------------------------------------------


def dlopen_local(scene):
    """The MPI library comes by dlopen(RTLD_LOCAL): RTLD_NEXT finds nothing."""
    host = scene.program("dlopen_local", ["-Wl,--as-needed"])
    plugin = Path(host).with_suffix(".so")
    plugin = build_program(scene.settings.build, scene.case.mpi, "dlopen_local", ["-DPLUGIN", "-shared", "-fPIC"], plugin)
    command = scene.launch(3, host, plugin)
    differs(scene, command, 3)
    replays_alike(scene, command, 3)


# -- Python ------------------------------------------------------------------------------------------------------------


def python_with(module):
    """An interpreter that has the module; the first on the PATH may be another than the distribution's."""
    for directory in os.get_exec_path():
        candidate = os.path.join(directory, "python3")
        if os.access(candidate, os.X_OK):
            done = subprocess.run([candidate, "-c", f"import {module}"], capture_output=True)
            if done.returncode == 0:
                return candidate
    raise Skip(f"no python3 with {module}")


def python_command(scene, name, ranks, *words):
    """Started as `python3 WORDS... NAME.py OUT_DIR`."""
    launcher, flag, number, *_ = scene.launch(ranks, "")
    return [launcher, flag, number, python_with("mpi4py"), "-B", *words, SOURCES / f"{name}.py", scene.out]


def python(name, ranks):
    def function(scene):
        command = python_command(scene, name, ranks)
        differs(scene, command, ranks)
        result, _ = scene.record(command, scene.dir / "try")
        if NOT_YET in result.err:
            raise Skip("; ".join(line.split(": ", 2)[-1] for line in result.err.splitlines() if NOT_YET in line))
        replays_alike(scene, command, ranks)
    return function


def futures(scene):
    """The pool's manager is a thread of its own, and what it does depends on when Python lets it."""
    split = python_command(scene, "python_futures", 3)
    pool = [*python_command(scene, "python_futures", 3, "-m", "mpi4py.futures"), "pool"]
    for command, writers in ((split, 3), (pool, 1)):
        trace = scene.dir / f"trace-{writers}"
        result, recorded = scene.record(command, trace)
        scene.check_status(result, 0, "record")
        scene.check(len(recorded) == writers, "record: output files are missing", result)
        for number in range(1, scene.settings.repeat + 1):
            replay, outputs = scene.replay(trace)
            scene.check_status(replay, 0, f"replay {number}")
            scene.check_same(recorded, outputs, f"replay {number}", replay)


def doctor_sees_what_passes_by(scene):
    """ctypes looks functions up in a library's handle: doctor must notice, and record must say why it has nothing."""
    library = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[scene.case.mpi]
    launcher, flag, number, *_ = scene.launch(2, "")
    command = [launcher, flag, number, python_with("ctypes"), "-B", SOURCES / "python_ctypes.py", library]
    result = scene.run([scene.settings.reprise, "doctor", "--", *command])
    scene.check(result.status == 1 and "2 processes used MPI" in result.out, "doctor saw nothing", result)
    result = scene.run([scene.settings.reprise, "doctor", "--", *command, "half"])
    scene.check(result.status == 1 and "nothing but MPI_Init and MPI_Finalize" in result.out, "doctor is content", result)
    result, _ = scene.record(command)
    scene.check(result.status == 125 and "library handle" in result.err, "record does not say why", result)


# -- HPCC --------------------------------------------------------------------------------------------------------------

HPCC_INPUT = """\
HPLinpack benchmark input file
small, so that it takes seconds
HPL.out      output file name
8            device out
1            # of problem sizes (N)
100          Ns
1            # of NBs
20           NBs
0            PMAP process mapping
1            # of process grids (P x Q)
2            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs
1            # of recursive stopping criterium
4            NBMINs
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs
1            # of broadcast
1            BCASTs
1            # of lookahead depth
1            DEPTHs
2            SWAP
64           swapping threshold
0            L1 form
0            U form
1            Equilibration
8            memory alignment in double
##### This line is ignored #####
0            Number of additional problem sizes for PTRANS
100          values of N
0            number of additional blocking sizes for PTRANS
20           values of NB
"""


def interposed(scene, *names):
    """Whether the preload library serves these functions, by its dynamic symbols."""
    library = scene.settings.build / "lib" / "reprise" / f"libreprise-{scene.case.mpi}.so"
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return set(names) <= {line.split()[-1] for line in done.stdout.splitlines()}


def hpcc(scene):
    """Seven benchmarks; times and rates are in the output, and which rank a benchmark runs on comes from time()."""
    need("hpcc")
    directory = scene.dir / "hpcc"
    directory.mkdir()
    (directory / "hpccinf.txt").write_text(HPCC_INPUT)
    launcher, flag, number, *_ = scene.launch(4, "")
    result, _ = scene.record([launcher, flag, number, "hpcc"], cwd=directory)
    scene.check_status(result, 0, "record")
    recorded = (directory / "hpccoutf.txt").read_bytes()
    scene.check(b"Success=1" in recorded, "hpcc did not succeed", result)
    if NOT_YET in result.err or not interposed(scene, "time", "getrusage"):
        raise Skip("replay does not serve yet what hpcc uses: MPI_Iprobe, MPI_Cancel, time or getrusage")
    for turn in range(1, scene.settings.repeat + 1):
        (directory / "hpccoutf.txt").unlink()
        result, _ = scene.replay(cwd=directory)
        scene.check_status(result, 0, f"replay {turn}")
        scene.check_same({"hpccoutf.txt": recorded}, {"hpccoutf.txt": (directory / "hpccoutf.txt").read_bytes()},
                         f"replay {turn}", result)


def cases(mpi):
    listed = {name: fortran(name) for name in FORTRAN} | {
        "fortran_arguments": arguments_of_fortran,
        "fortran_callback": callback_out_of_fortran,
        "dlopen_local": dlopen_local,
        "doctor_ctypes": doctor_sees_what_passes_by,
    }
    if mpi == "openmpi":  # what Debian builds mpi4py and hpcc with
        listed |= {
            "python_buffers": python("python_buffers", 3),
            "python_objects": python("python_objects", 3),
            "python_futures": futures,
            "hpcc": hpcc,
        }
    return [Case("languages", mpi, name, function) for name, function in listed.items()]
