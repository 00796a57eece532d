"""The gallery (tests/gallery): each program is wrong in one way, and `reprise explore` must find that and nothing else; its
correct twin must have nothing found.

With few repetitions each program is tried with one of the MPIs, in turn; otherwise with all of them.
"""

import fcntl
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

from harness import Case, Failure, available, compile_command

GALLERY = Path(__file__).resolve().parent.parent / "gallery"
PER_TEST = 15
DECLARED = re.compile(r'^CASE\((\w+), "([^"]+)", (\d+)\)', re.MULTILINE)


def declared():
    """(file, name, category, ranks) of every program."""
    return [(path.stem, *match) for path in sorted(GALLERY.glob("*.c")) for match in DECLARED.findall(path.read_text())]


def built(settings, mpi):
    target = Path(settings.build) / "test-programs" / mpi / "gallery"
    target.parent.mkdir(parents=True, exist_ok=True)
    sources = sorted(GALLERY.glob("*.c"))
    newest = max(path.stat().st_mtime for path in GALLERY.iterdir())
    with open(target.parent / ".gallery-lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists() or target.stat().st_mtime < newest:
            command = [*compile_command(mpi, sources[0], target), "-pthread", *map(str, sources), "-o", f"{target}.new"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise Failure(f"$ {shlex.join(command)}\n{done.stderr}")
            os.replace(f"{target}.new", target)
    return target


def categories_found(scene, program, name, ranks, kind):
    command = [scene.settings.reprise, "explore", "-n", ranks, "-j", "1", "--json", "--no-save", "--", program, name, kind]
    result = scene.run(command, 120, cwd=scene.dir)  # some write files
    scene.check(result.status in (0, 1) and result.out.strip(),
                f"{name} {kind}: explore ends with {result.status}\n$ {shlex.join(map(str, command))}", result)
    found = json.loads(result.out)
    # A rank that polls for ever is only told so often that there is nothing.
    livelock = any(error["category"] == "livelock" for error in found["errors"])
    scene.check(found["complete"] or livelock, f"{name} {kind}: not complete\n$ {shlex.join(map(str, command))}", result)
    return {error["category"] for error in found["errors"]}, f"{name} {kind}\n$ {shlex.join(map(str, command))}", result


def try_all(programs):
    def test(scene):
        program = built(scene.settings, scene.case.mpi)
        for _, name, category, ranks in programs:
            found, what, result = categories_found(scene, program, name, ranks, "wrong")
            scene.check(category in found, f"{what}\n{category} expected, found: {sorted(found)}", result)
            scene.check(found == {category}, f"{what}\nnothing but {category} expected, found: {sorted(found)}", result)
            found, what, result = categories_found(scene, program, name, ranks, "right")
            scene.check(not found, f"{what}\nnothing expected, found: {sorted(found)}", result)
    return test


def cases(mpi, repeat):
    programs = declared()
    mpis = [name for name in ("openmpi", "mpich") if available(name)]
    if repeat < 50 and mpi in mpis:
        programs = programs[mpis.index(mpi)::len(mpis)]
    return [Case("gallery", mpi, f"{programs[at][0]}-{programs[at][1]}", try_all(programs[at:at + PER_TEST]))
            for at in range(0, len(programs), PER_TEST)]
