"""Tests of the generator of random programs: quick, without running what it writes."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "run")]

import random_programs  # noqa: E402
from generate import generate  # noqa: E402
from program import FAMILIES, block  # noqa: E402

SEEDS = range(1, 201)
MPIS = [mpi for mpi in ("openmpi", "mpich") if shutil.which(f"mpicc.{mpi}")]
# What must not appear when a family is left out.
CALLS = {
    "bsend": "MPI_Bsend(",
    "cancel": "MPI_Cancel(",
    "get_status": "MPI_Request_get_status(",
    "grequest": "MPI_Grequest_start(",
    "improbe": "MPI_Improbe(",
    "intercomm": "MPI_Intercomm_create(",
    "iprobe": "MPI_Iprobe(",
    "isendrecv": "MPI_Isendrecv",
    "large_count": "_c(",
    "mprobe": "MPI_Mprobe(",
    "neighbours": "eighbor_",
    "partitioned": "MPI_Precv_init(",
    "persistent": "MPI_Recv_init",
    "persistent_send": "MPI_Send_init(",
    "probe": "MPI_Probe(",
    "ready": "rsend",
    "sendrecv": "MPI_Sendrecv",
    "test": "MPI_Test",
    "wtime": "MPI_Wtime(",
}


class Texts(unittest.TestCase):
    def test_same_seed_gives_same_text(self):
        for seed in (1, 2, 77):
            self.assertEqual(generate(seed).text(), generate(seed).text())

    def test_seeds_differ(self):
        self.assertEqual(len({generate(seed).text() for seed in range(1, 31)}), 30)

    def test_every_family_appears(self):
        used = set().union(*(generate(seed).used for seed in SEEDS))
        used |= {family for seed in range(20) for family in generate(seed, with_windows=True).used}
        self.assertEqual(used, set(FAMILIES))

    def test_threads_come_with_every_level(self):
        texts = [generate(seed, with_threads=True).text() for seed in range(1, 31)]
        for level in ("FUNNELED", "SERIALIZED", "MULTIPLE"):
            self.assertTrue(any(f"MPI_THREAD_{level}" in text for text in texts))
        for word in ("locked(self", "produced(self", "met(self", "received(self", "matched(self", "once(self"):
            self.assertTrue(any(word in text for text in texts), word)
        self.assertNotIn("run_threads", generate(7).text())

    def test_every_number_of_ranks_works(self):
        for ranks in range(2, 9):
            program = generate(5, ranks)
            self.assertIn(f"begin(&argc, &argv, {ranks});", program.text())

    def test_a_family_left_out_is_absent(self):
        for family, call in CALLS.items():
            present = [seed for seed in range(1, 61) if call in generate(seed, None, [family]).text()]
            # MPI_Test_cancelled is not a test in this sense.
            if family == "test":
                present = [seed for seed in present if call in generate(seed, None, ["test", "cancel"]).text()]
            self.assertEqual(present, [], f"{call} without {family}")

    def test_all_families_left_out(self):
        for seed in range(1, 21):
            program = generate(seed, None, FAMILIES)
            self.assertEqual(program.used, set())

    def test_an_unknown_family_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no such family: nonsense"):
            generate(1, None, ["nonsense"])

    def test_no_mark_is_left_in_the_text(self):
        for seed in SEEDS:
            self.assertNotRegex(generate(seed).text(), r"@\w+@")

    def test_a_block_keeps_indentation(self):
        self.assertEqual(block("""
            {
              @two@
            }
            """, two="a;\nb;"), "{\n  a;\n  b;\n}")


class Programs(unittest.TestCase):
    def test_they_compile_without_warnings(self):
        with tempfile.TemporaryDirectory() as scratch:
            for mpi in MPIS:
                for seed in range(201, 213):
                    source = Path(scratch) / "program.c"
                    source.write_text(generate(seed, with_threads=seed > 208).text())
                    command = [f"mpicc.{mpi}", *random_programs.FLAGS, "-fsyntax-only", "-I", str(HERE), "-I",
                               str(HERE.parent / "programs"), str(source)]
                    done = subprocess.run(command, capture_output=True, text=True)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), f"seed {seed}, {mpi}")


if __name__ == "__main__":
    unittest.main()
