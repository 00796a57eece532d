"""What every suite uses: building the programs, running commands with limits, comparing per-rank output.

Each case gets a directory and a token of its own. The token is in the environment of everything that the case starts,
so processes that outlive it are found (and ended) without touching anybody else's. The same goes for shared memory:
only names in /dev/shm that a process with the token was seen to map count as the case's own. New and unused is not
enough, other programs of this user put things there too. Output goes to files, not to pipes: a forgotten child that
holds a pipe open would make the harness wait for it.
"""

import fcntl
import os
import random
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import known_crash
import oversubscribed

SOURCES = Path(__file__).resolve().parent.parent / "programs"
EXAMPLES = SOURCES.parents[1] / "examples"
TOKEN = "TEST_CASE_TOKEN"  # not REPRISE_...: the command keeps such names from what it starts
LOOK = 0.1  # seconds between looks at what a running case maps
DIVERGED = 75
TROUBLE = 125


class Failure(Exception):
    """The case failed; the text says how."""


class Skip(Exception):
    """The case cannot run here; the text says why."""


@dataclass
class Settings:
    build: Path
    seed: str
    repeat: int
    scratch: Path
    keep: bool = False
    timed: bool = False  # whether being late is a failure: only on a machine that has nothing else to do
    yields: Path = None  # preloaded into programs of MPICH (oversubscribed.py)

    @property
    def reprise(self):
        return str(self.build / "bin" / "reprise")


@dataclass
class Result:
    command: list
    status: int  # negative: ended by that signal
    out: str
    err: str
    seconds: float

    def describe(self):
        text = f"$ {shlex.join(map(str, self.command))}\nexit status {self.status}, {self.seconds:.1f} s"
        said = [line for line in self.err.splitlines() if line.startswith("reprise: ")]
        if said:  # first, lest it be lost in what the launcher has to say
            text += "\n" + "\n".join(said[:8])
        for name, part in (("stdout", self.out), ("stderr", self.err)):
            if part.strip():
                text += f"\n--- {name} (end)\n" + "\n".join(part.splitlines()[-25:])
        return text


@dataclass
class Case:
    suite: str
    mpi: str
    name: str
    function: object  # called with the Scene
    faults: bool = False  # the MPI itself leaves shared memory behind when it is killed
    alone: bool = False  # run when nothing else runs: it starts very many ranks
    waits: bool = False  # it waits for time to pass: the same, if times are checked

    @property
    def id(self):
        return f"{self.suite}/{self.mpi}/{self.name}"


def mpi_environment():
    """A machine with few cores, perhaps as root in a container."""
    return {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }


def available(mpi):
    return all(shutil.which(f"{tool}.{mpi}") for tool in ("mpicc", "mpicxx", "mpirun"))


WITHOUT = "without"  # programs that are built without any MPI


def compile_command(mpi, source, target):
    """The compiler for a source file by its suffix, with the flags that all programs of that language get."""
    suffix = Path(source).suffix
    openmp = ["-fopenmp"] if Path(source).name.startswith("openmp") else []
    if suffix in (".f", ".f90"):
        # Not optimised: gfortran would merge calls that are alike, and their lines are what is looked at.
        Path(f"{target}.modules").mkdir(exist_ok=True)
        return [f"mpifort.{mpi}", "-O0", "-g", "-Wall", "-J", f"{target}.modules", *openmp,
                str(SOURCES / "fortran_support.f90")]
    cxx = suffix == ".cpp"
    if mpi == WITHOUT:
        return ["g++" if cxx else "gcc", "-std=c++20" if cxx else "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-pthread",
                "-I", str(SOURCES / "without_mpi"), *openmp]
    # MPICH's MPI_STATUSES_IGNORE is an address of 1, Open MPI's MPI_UNWEIGHTED one of 2: g++ 12 sees overflows.
    return [f"{'mpicxx' if cxx else 'mpicc'}.{mpi}", "-std=c++20" if cxx else "-std=gnu11", "-O1", "-g", "-Wall",
            "-Wextra", "-Wno-stringop-overflow", "-Wno-stringop-overread", *openmp]


def build_program(build, mpi, name, flags=(), output=None, libraries=()):
    """Compiles tests/programs/NAME, or that example, for one MPI unless it is up to date."""
    sources = [str(place / f"{name}.{suffix}") for place in (SOURCES, EXAMPLES) for suffix in ("c", "cpp", "f90", "f")]
    source = next(filter(os.path.exists, sources), None)
    if source is None:
        raise Failure(f"no program {name}")
    target = Path(output) if output else Path(build) / "test-programs" / mpi / name
    target.parent.mkdir(parents=True, exist_ok=True)
    newest = max(os.path.getmtime(path) for path in (source, *SOURCES.glob("*.h"), SOURCES / "fortran_support.f90"))
    with open(target.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not output and target.exists() and target.stat().st_mtime > newest:
            return str(target)
        command = [*compile_command(mpi, source, target), *flags, source, "-o", f"{target}.new", *libraries]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0 or done.stderr.strip():
            raise Failure(f"$ {shlex.join(command)}\n{done.stderr}")
        os.replace(f"{target}.new", target)
    return str(target)


def processes_with(token):
    """Pids of live processes that carry the token (zombies have no environment any more)."""
    wanted = f"{TOKEN}={token}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as environ:
                if wanted in environ.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            continue
    return found


def has_ended(child, limit):
    """Waits for it. (Popen.wait() with a time limit looks every 50 ms only.)"""
    end = os.pidfd_open(child.pid)
    try:
        return bool(select.select([end], [], [], limit)[0])
    finally:
        os.close(end)


def process_name(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
            return cmdline.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def mapped_names(pids):
    """Names in /dev/shm that these processes have mapped."""
    names = set()
    for pid in pids:
        try:
            with open(f"/proc/{pid}/maps") as maps:
                for line in maps:
                    path = line.rstrip("\n").partition("/dev/shm/")[2]
                    if path and not path.endswith(" (deleted)"):
                        names.add(path)
        except OSError:
            continue
    return names


@dataclass
class Scene:
    """One case at work."""

    settings: Settings
    case: Case
    dir: Path
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    count: int = 0
    shared: set = field(default_factory=set)  # names in /dev/shm that processes of this case were seen to map
    remark: str = ""  # printed when the case has passed
    library_crashed: bool = False  # by a mistake that is known (known_crash.py)
    launcher: list = None  # in place of the MPI's own mpirun
    prefix: list = field(default_factory=list)  # in front of every command

    def __post_init__(self):
        self.random = random.Random(f"{self.settings.seed}/{self.case.id}")
        self.out = self.dir / "out"
        self.out.mkdir(parents=True)
        (self.dir / "tmp").mkdir()
        (self.settings.scratch / "home").mkdir(exist_ok=True)

    # -- running -----------------------------------------------------------------------------------------------------

    def environment(self, extra=None):
        env = {key: value for key, value in os.environ.items() if not key.startswith(("REPRISE_", "LD_PRELOAD"))}
        env.update(mpi_environment())
        env.update({TOKEN: self.token, "HOME": str(self.settings.scratch / "home"), "TMPDIR": str(self.dir / "tmp"),
                    "NO_COLOR": "1", "OUT_DIR": str(self.out)})
        env.update(extra or {})
        if self.case.mpi == "mpich" and self.settings.yields and self.case.suite not in oversubscribed.SPINNING:
            env["LD_PRELOAD"] = ":".join(filter(None, (env.get("LD_PRELOAD"), str(self.settings.yields))))
        return env

    def start(self, command, env=None, cwd=None, stdin=subprocess.DEVNULL):
        self.count += 1
        stem = self.dir / f"run-{self.count}"
        words = [str(word) for word in (*self.prefix, *command)]
        with open(f"{stem}.out", "wb") as out, open(f"{stem}.err", "wb") as err:
            child = subprocess.Popen(words, stdout=out, stderr=err, stdin=stdin,
                                     env=self.environment(env), cwd=cwd or self.dir, start_new_session=True)
        child.stem, child.began, child.command = stem, time.monotonic(), command
        return child

    def finish(self, child, limit=900):
        """Waits for a started command and for everything that it left behind."""
        end = time.monotonic() + limit
        while child.poll() is None and time.monotonic() < end:
            if not has_ended(child, LOOK):
                self.look()
        if child.poll() is None:
            names = [f"{pid} {process_name(pid)}" for pid in processes_with(self.token)]
            self.end_processes()
            child.wait()
            result = self.result(child)
            raise Failure(f"not finished within {limit} s; still there:\n" + "\n".join(names) + "\n" +
                          result.describe())
        result = self.result(child)
        self.library_crashed |= self.case.mpi == "openmpi" and known_crash.is_there(result.err)
        self.settle(result)
        return result

    def look(self):
        """Notes what the processes of this case map; called before anything kills them."""
        self.shared |= mapped_names(processes_with(self.token))

    @staticmethod
    def result(child):
        read = lambda suffix: Path(f"{child.stem}.{suffix}").read_text(errors="replace")
        return Result(child.command, child.returncode, read("out"), read("err"), time.monotonic() - child.began)

    def run(self, command, limit=900, env=None, cwd=None, answer=None):
        stdin = subprocess.DEVNULL
        if answer is not None:
            path = self.dir / "answer"
            path.write_text(answer)
            stdin = open(path, "rb")
        try:
            return self.finish(self.start(command, env, cwd, stdin), limit)
        finally:
            if answer is not None:
                stdin.close()

    def settle(self, result=None, limit=20):
        """Nothing of this case may be left running."""
        end = time.monotonic() + limit
        while left := processes_with(self.token):
            if time.monotonic() > end:
                names = "\n".join(f"{pid} {process_name(pid)}" for pid in left)
                self.end_processes()
                raise Failure(f"processes left behind:\n{names}\n" + (result.describe() if result else ""))
            time.sleep(0.02)

    def end_processes(self):
        self.look()
        for _ in range(50):
            left = processes_with(self.token)
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not left:
                return
            time.sleep(0.05)

    # -- programs and their output -----------------------------------------------------------------------------------

    def program(self, name, flags=(), output=None, libraries=()):
        return build_program(self.settings.build, self.case.mpi, name, flags, output, libraries)

    def program_without_mpi(self, name):
        return build_program(self.settings.build, WITHOUT, name)

    def launch(self, ranks, program, *args):
        launcher = self.launcher or [f"mpirun.{self.case.mpi}"]
        return [*launcher, "-n", str(ranks), program, str(self.out), *map(str, args)]

    def clear(self):
        for path in self.out.iterdir():
            path.unlink()

    def outputs(self):
        return {path.name: path.read_bytes() for path in sorted(self.out.glob("out-*.txt"))}

    def plain(self, command, limit=900):
        self.clear()
        result = self.run(command, limit)
        return result, self.outputs()

    def record(self, command, trace=None, limit=900, words=(), **options):
        self.clear()
        trace = trace or self.dir / "trace"
        result = self.run([self.settings.reprise, "record", *words, "-o", trace, "--", *command], limit, **options)
        return result, self.outputs()

    def replay(self, trace=None, limit=900, **options):
        self.clear()
        result = self.run([self.settings.reprise, "replay", "--yes", trace or self.dir / "trace"], limit, **options)
        return result, self.outputs()

    def solo(self, rank, trace=None, limit=900, words=(), **options):
        """Replays one rank alone."""
        self.clear()
        result = self.run([self.settings.reprise, "replay", "--yes", "--rank", rank, *words,
                           trace or self.dir / "trace"], limit, **options)
        return result, self.outputs()

    def side_by_side(self, ranks, trace=None, limit=240, words=()):
        """Replays some ranks, each from its own values."""
        self.clear()
        result = self.run([self.settings.reprise, "replay", "--yes", "--ranks", ranks, *words,
                           trace or self.dir / "trace"], limit)
        return result, self.outputs()

    def check_solo(self, recorded, ranks, status=0, trace=None, alone=None):
        """Every rank alone (or only those) gives what it gave then, and nobody else gives anything. So do all of them side by side."""
        for rank in range(ranks) if alone is None else alone:
            replay, outputs = self.solo(rank, trace)
            self.check_status(replay, status, f"rank {rank} alone")
            name = f"out-{rank}.txt"
            self.check_same({name: recorded[name]}, outputs, f"rank {rank} alone", replay)
        replay, outputs = self.side_by_side("all", trace)
        self.check_status(replay, status, "all ranks side by side")
        self.check_same(recorded, outputs, "all ranks side by side", replay)

    # -- judging -----------------------------------------------------------------------------------------------------

    @staticmethod
    def check(condition, text, result=None):
        if not condition:
            raise Failure(text + ("\n" + result.describe() if result else ""))

    def check_status(self, result, wanted, what):
        wanted = wanted if isinstance(wanted, (set, tuple, list)) else {wanted}
        self.check(result.status in wanted, f"{what}: exit status {result.status}, not {sorted(wanted)}", result)

    def check_same(self, recorded, replayed, what, result):
        self.check(recorded.keys() == replayed.keys(),
                   f"{what}: output of {sorted(replayed)}, not of {sorted(recorded)}", result)
        for name in recorded:
            if recorded[name] != replayed[name]:
                raise Failure(f"{what}: {name} differs\n{first_difference(recorded[name], replayed[name])}\n" +
                              result.describe())


def first_difference(recorded, replayed):
    left, right = recorded.splitlines(), replayed.splitlines()
    for number, (one, other) in enumerate(zip(left, right), 1):
        if one != other:
            return f"line {number}: recorded {one!r}\n{' ' * len(str(number))}       replayed {other!r}"
    return f"recorded {len(left)} lines, replayed {len(right)}"


def run_case(settings, case):
    """('ok' | 'FAIL' | 'skip', text, seconds)"""
    verdict, text, seconds, library_crashed = try_case(settings, case)
    if verdict == "FAIL" and library_crashed and known_crash.excuses(case.id):
        verdict, text, more, _ = try_case(settings, case)
        seconds += more
        if verdict == "ok":
            text += "; " * bool(text) + "in a first try a process jumped to where no code is, which may be Open MPI (docs/library-bugs.md)"
    return verdict, text, seconds


def try_case(settings, case):
    """(verdict, text, seconds, whether the MPI crashed by a known mistake)"""
    directory = settings.scratch / uuid.uuid4().hex[:8]
    began = time.monotonic()
    scene = None
    try:
        scene = Scene(settings, case, directory)
        if not os.access(settings.reprise, os.X_OK) and not case.suite.endswith("programs"):
            raise Failure(f"{settings.reprise} is not there")
        case.function(scene)
        verdict, text = "ok", scene.remark
    except Skip as reason:
        verdict, text = "skip", str(reason)
    except Failure as failure:
        verdict, text = "FAIL", str(failure)
    except Exception as error:  # a broken test must not hide the others
        verdict, text = "FAIL", f"{type(error).__name__}: {error} (in the test itself)"
        if os.environ.get("TEST_TRACEBACK"):
            raise
    finally:
        if scene:
            scene.end_processes()
    left = leftovers(scene) if scene else set()
    if left and verdict == "ok" and not case.faults:
        verdict, text = "FAIL", "left in /dev/shm: " + " ".join(sorted(left))
    for name in left:
        os.unlink(f"/dev/shm/{name}")
    if settings.keep and verdict == "FAIL":
        text += f"\nkept: {directory}"
    else:
        shutil.rmtree(directory, ignore_errors=True)
    return verdict, text, time.monotonic() - began, scene is not None and scene.library_crashed


def leftovers(scene):
    """Files in /dev/shm that were the case's own and outlived it. All its processes have ended by now."""
    return {name for name in scene.shared if os.path.isfile(f"/dev/shm/{name}")}


def complain(text):
    print(text, file=sys.stderr)
