#!/usr/bin/env python3
"""What real MPI libraries do with random programs must be among what the model says is possible.

    tests/model/test_against_mpi.py [--seeds 1-24] [--runs 3]

Programs that could deadlock are left out here: a library decides by itself which sends it buffers.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from generate import generate  # noqa: E402
from model import is_deadlock, outcomes  # noqa: E402
from to_c import c_program, output_of  # noqa: E402

MOST_STATES = 60_000
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1")


def run(mpi, binary, ranks, directory):
    for path in directory.glob("out-*"):
        path.unlink()
    done = subprocess.run([f"mpirun.{mpi}", "-n", str(ranks), str(binary), str(directory)], env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        return None, done.stdout + done.stderr
    return tuple((directory / f"out-{rank}.txt").read_text() for rank in range(ranks)), ""


def check(seed, mpis, runs, scratch):
    """None if the seed was left out; otherwise how many different outcomes were seen, and how many there are."""
    program = generate(seed)
    possible = outcomes(program, "mixed", MOST_STATES)
    if possible is None or any(map(is_deadlock, possible)):
        return None
    texts = {output_of(outcome) for outcome in possible}
    seen = set()
    source = scratch / f"seed-{seed}.c"
    source.write_text(c_program(program))
    for mpi in mpis:
        binary = scratch / f"seed-{seed}.{mpi}"
        subprocess.run([f"mpicc.{mpi}", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
                        "-Wno-unused-variable", str(source), "-o", str(binary)], check=True)
        for _ in range(runs):
            text, trouble = run(mpi, binary, len(program), scratch)
            if text not in texts:
                sys.exit(f"seed {seed}, {mpi}: a run with an outcome that the model does not know\n{trouble}{text}\n"
                         f"repeat: tests/model/test_against_mpi.py --seeds {seed}-{seed} --runs 20")
            seen.add(text)
    return len(seen), len(texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-24")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    first, _, last = args.seeds.partition("-")
    mpis = [mpi for mpi in ("openmpi", "mpich") if shutil.which(f"mpirun.{mpi}")]
    tried = met = possible = 0
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(int(first), int(last or first) + 1):
            counts = check(seed, mpis, args.runs, Path(scratch))
            if counts is None:
                continue
            tried += 1
            met, possible = met + counts[0], possible + counts[1]
    print(f"{tried} programs on {', '.join(mpis)}: {met} outcomes seen, {possible} possible")


if __name__ == "__main__":
    main()
