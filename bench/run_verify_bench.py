#!/usr/bin/env python3
"""Smaller search spaces: the programs of the FPRS paper's Tables 3.1 and 3.2 (examples/verify), searched in full and with a focus.

    bench/run_verify_bench.py --build build [--mpi openmpi] [--most 60]

A verdict is "yes/N" (a mistake, first seen in order N) or "no/N" (none in N orders); "?/N" if the time was not enough. The paper's
figures are the numbers of its replays: its programs are others, of the same kind, and its machine is another one.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "examples" / "verify"
RANKS = 4
# name, program and arguments, focus, the paper's original ISP, the paper's FPRS
ROWS = [
    ("blast, with a bug", ["blast", "3", "1"], ["--loop-bound", "5"], "timeout/14747+", "yes/81"),
    ("pi, bug 1", ["pi", "5", "1"], ["--focus", "rank=3"], "yes/145", "yes/6"),
    ("pi, bug 2", ["pi", "5", "2"], ["--focus", "rank=1"], "yes/181", "no/27"),
    ("matrix, bug in a routine", ["matrix", "6", "twice"], ["--focus", "func=unverified_routine"], "timeout/4824+", "yes/6"),
    ("matrix", ["matrix", "7"], ["--focus", "rank=1"], "timeout/83833+", "no/1849"),
    ("matrix, symmetric", ["matrix", "7"], ["--symmetric", "1-3"], "timeout/83833+", "no/1849"),
    ("diffusion2d", ["diffusion2d", "6"], ["--loop-bound", "1"], "timeout/114659+", "no/1680"),
]


def verdict(build, program, arguments, words, most):
    command = [build / "bin" / "reprise", "explore", "-n", str(RANKS), "--buffering", "infinite", "--no-save", "--json",
               "--max-time", str(most), *words, "--", program, *arguments]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(f"explore ended with {done.returncode}: {done.stderr}")
    found = json.loads(done.stdout)
    if found["errors"]:
        return f"yes/{min(error['order'] for error in found['errors'])}", found
    return f"{'?' if done.returncode == 3 else 'no'}/{found['orders']}", found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="mpich")
    parser.add_argument("--most", type=float, default=60, help="seconds for one search")
    args = parser.parse_args()
    print(f"{'program':<26} {'ISP':>15} {'its FPRS':>9} | {'all orders':>12} {'time':>8} | {'focus':>10} {'time':>8}  options")
    with tempfile.TemporaryDirectory(prefix="verify-") as directory:
        for name, (program, *arguments), words, isp, fprs in ROWS:
            binary = Path(directory) / program
            if not binary.exists():
                subprocess.run([f"mpicc.{args.mpi}", "-g", "-O1", SOURCES / f"{program}.c", "-o", binary], check=True)
            full, found = verdict(args.build, binary, arguments, [], args.most)
            some, less = verdict(args.build, binary, arguments, words, args.most)
            print(f"{name:<26} {isp:>15} {fprs:>9} | {full:>12} {found['seconds']:>6.1f} s | {some:>10} {less['seconds']:>6.1f} s  "
                  f"{' '.join(words)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
