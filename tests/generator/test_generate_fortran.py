"""Tests of tools/generate_fortran.py: on made-up symbol tables, and on the Fortran libraries of the MPIs at hand."""

import io
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(Path(__file__).resolve().parent)]
sys.dont_write_bytecode = True

import generate_fortran  # noqa: E402
from test_generate_wrappers import MPIS, preprocessed  # noqa: E402

HEADER = """\
int MPI_Send(const void *b, int count, MPI_Datatype type, int to, int tag, MPI_Comm c);
int MPI_Get_processor_name(char *name, int *length);
int MPI_Init(int *argc, char ***argv);
int MPIX_Odd(int *x);
double MPI_Wtime(void);
MPI_Aint MPI_Aint_diff(MPI_Aint a, MPI_Aint b);
MPI_Comm MPI_Comm_f2c(MPI_Fint comm);
"""
# Where the libraries of Fortran programs are: beside the C library that the compiler wrapper links.
LIBRARIES = {"openmpi": ("libmpi_mpifh.so", "libmpi_usempif08.so"), "mpich": ("libmpichfort.so",)}


def table(text):
    """nm's output for "T name" or "T name address" per line."""
    lines = [line.split() for line in text.strip().splitlines()]
    return "".join(f"{(rest or ['%016x' % number])[0]} {letter} {name}\n"
                   for number, (letter, name, *rest) in enumerate(lines, 1))


class InScratchDirectory(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = Path(scratch.name)
        (self.dir / "mpi.txt").write_text(HEADER)
        self.known = generate_fortran.signatures(generate_fortran.load_header(self.dir / "mpi.txt"))

    def chosen(self, text):
        return generate_fortran.entry_points(generate_fortran.functions_of(table(text)), self.known)


class EntryPoints(InScratchDirectory):
    def test_words_are_arguments_error_code_and_lengths(self):
        self.assertEqual(self.known["mpi_send"], ("void", 7))
        self.assertEqual(self.known["mpi_get_processor_name"], ("void", 4))
        self.assertGreaterEqual(self.known["mpi_init"][1], 1, "argc and argv do not exist in Fortran")
        self.assertEqual(self.known["mpi_type_struct"], ("void", 6), "not declared any more, but still called")

    def test_functions_that_return_something(self):
        self.assertEqual(self.known["mpi_wtime"][0], "double")
        self.assertEqual(self.known["mpi_aint_diff"][0], "Word")
        self.assertNotIn("mpi_comm_f2c", self.known, "a C function; what it returns is no word of Fortran")

    def test_names(self):
        for name in ("mpi_send_", "pmpi_send_", "mpi_send_f08_", "pmpi_send_f08_", "mpi_send_f08ts_",
                     "mpi_send_f08ts_large_", "pmpir_send_f08ts_", "mpix_odd_", "pmpixr_odd_f08_", "mpi_wtime_"):
            self.assertEqual(list(self.chosen(f"T {name}")), [name])
            self.assertEqual(list(self.chosen(f"W {name}@@VERSION")), [name])
        for name in ("mpi_send", "MPI_SEND", "MPI_Send", "mpi_unknown_", "ompi_send_f", "mpi_dup_fn_", "mpi_send_extra_",
                     "mpi_comm_f2c_", "mpi_send___"):
            self.assertEqual(self.chosen(f"T {name}"), {}, name)

    def test_data_stays_where_it_is(self):
        for letter in "BDRVu":
            self.assertEqual(self.chosen(f"{letter} mpi_send_"), {})

    def test_second_underscore_is_an_alias_of_the_same_function_only(self):
        self.assertEqual(self.chosen("T mpi_send__ 10\nT mpi_send_ 10"), {"mpi_send_": ("void", 7, ["mpi_send__"])})
        self.assertEqual(list(self.chosen("T mpi_send__ 10\nT mpi_send_ 20")), ["mpi_send_", "mpi_send__"])
        self.assertEqual(list(self.chosen("T mpi_send__")), ["mpi_send__"])

    def test_stub(self):
        self.assertEqual(generate_fortran.stub("mpi_wtime_", "double", 1, ["mpi_wtime__"]), """\
extern "C" REPRISE_INTERPOSED double mpi_wtime_(Word a1) {
  static FortranFunction<double> next("mpi_wtime_");
  FortranCall call(REPRISE_CALLER);
  return next(a1);
}
extern "C" REPRISE_INTERPOSED decltype(mpi_wtime_) mpi_wtime__ __attribute__((alias("mpi_wtime_")));
""")


class Command(InScratchDirectory):
    def run_generator(self, *arguments):
        said = io.StringIO()
        with redirect_stderr(said):
            status = generate_fortran.main(["--header-text", str(self.dir / "mpi.txt"), "--mpi", "testmpi", "--out-dir",
                                            str(self.dir / "out"), *map(str, arguments)])
        return status, said.getvalue()

    def symbols(self):
        return (self.dir / "out/fortran_symbols.txt").read_text().split()

    def test_without_libraries_there_are_no_stubs(self):
        self.assertEqual(self.run_generator(), (0, ""))
        self.assertEqual(self.symbols(), [])
        self.assertNotIn("extern", (self.dir / "out/fortran_stubs.cpp").read_text())

    def test_library_that_is_none(self):
        status, said = self.run_generator("--library", self.dir / "mpi.txt")
        self.assertEqual(status, 1)
        self.assertIn("cannot read", said)

    def test_real_libraries(self):
        for mpi in MPIS:
            # As the linker finds them: what an empty program would be linked with.
            found = [subprocess.run([f"mpicc.{mpi}", f"-print-file-name={name}"], capture_output=True, text=True,
                                    check=True).stdout.strip() for name in LIBRARIES[mpi]]
            libraries = [path for path in found if Path(path).is_absolute()]
            if not libraries or not shutil.which("nm"):
                continue
            with self.subTest(mpi):
                (self.dir / "mpi.txt").write_text(preprocessed(mpi))
                options = [word for library in libraries for word in ("--library", library)]
                self.assertEqual(self.run_generator(*options), (0, ""))
                symbols, stubs = self.symbols(), (self.dir / "out/fortran_stubs.cpp").read_text()
                self.assertEqual(len(symbols), len(set(symbols)))
                defined = re.findall(r"REPRISE_INTERPOSED [\w()]+ (\w+)(?=\(| __attribute__)", stubs)
                self.assertEqual(sorted(defined), sorted(symbols))
                receive = "mpi_recv_f08_" if mpi == "openmpi" else "mpi_recv_f08ts_"
                self.assertLessEqual({"mpi_recv_", "mpi_recv__", "pmpi_recv_", receive, "mpi_wtime_", "mpi_init_",
                                      "mpi_aint_add_", "mpi_type_extent_"}, set(symbols))
                self.assertFalse([name for name in symbols if "fortran" in name or name.endswith("_fn_")])


if __name__ == "__main__":
    unittest.main()
