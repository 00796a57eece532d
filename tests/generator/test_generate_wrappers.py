"""Tests of tools/generate_wrappers.py and of the table it reads.

Headers of the MPIs that are installed are preprocessed with their own compiler wrappers; others are left out.
"""

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
TABLE = ROOT / "src/frontends/mpi/functions.tab"
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True

import generate_wrappers  # noqa: E402

MPIS = [mpi for mpi in ("openmpi", "mpich") if shutil.which(f"mpicxx.{mpi}")]


def preprocessed(mpi):
    command = [f"mpicxx.{mpi}", "-E", "-P", "-x", "c++", "-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1", "-"]
    return subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True).stdout


class InScratchDirectory(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = Path(scratch.name)

    def write(self, name, text):
        (self.dir / name).write_text(text)
        return str(self.dir / name)

    def run_generator(self, *arguments):
        """Exit status and what was said."""
        said = io.StringIO()
        with redirect_stderr(said):
            status = generate_wrappers.main([str(argument) for argument in arguments])
        return status, said.getvalue()

    def generate(self, header, table, *more):
        """Runs on texts; the wrappers of all files, joined."""
        status, said = self.run_generator("--header-text", self.write("mpi.txt", header), "--mpi", "testmpi", "--table",
                                          self.write("table", table), "--out-dir", self.dir / "out", *more)
        self.assertEqual((status, said), (0, ""))
        return "".join(path.read_text() for path in sorted((self.dir / "out").glob("wrappers_*.cpp")))

    def refusal(self, header, table):
        status, said = self.run_generator("--header-text", self.write("mpi.txt", header), "--mpi", "testmpi", "--table",
                                          self.write("table", table), "--out-dir", self.dir / "out")
        self.assertEqual(status, 1)
        self.assertFalse(list(self.dir.glob("out/wrappers_*")), "nothing is generated from a table that does not fit")
        return said


SEND = "int MPI_Send(const void *b, int count, MPI_Datatype type, int to, int tag, MPI_Comm c);\n"
SEND_LINE = "MPI_Send[_c]  forwarded  sbuf count type dest tag comm\n"


class Refusals(InScratchDirectory):
    def test_function_that_the_table_lacks(self):
        said = self.refusal(SEND + "int MPI_New(MPI_Comm comm, int *answer);", SEND_LINE)
        self.assertIn("MPI_New(MPI_Comm comm, int *answer) is declared in the mpi.h of testmpi", said)
        self.assertIn("add a line such as\n    MPI_New  forwarded  - -", said)
        self.assertNotIn("MPI_Send", said)

    def test_large_count_form_that_the_table_lacks(self):
        header = SEND + SEND.replace("MPI_Send", "MPI_Send_c").replace("int count", "MPI_Count count")
        self.assertIn("write MPI_Send[_c] in its line", self.refusal(header, SEND_LINE.replace("[_c]", "")))
        self.generate(header, SEND_LINE)

    def test_number_of_roles(self):
        said = self.refusal(SEND, "MPI_Send  forwarded  sbuf count type dest tag\n")
        self.assertIn("MPI_Send(", said)
        self.assertIn("has 6 parameters in the mpi.h of testmpi", said)
        self.assertIn("has 5 roles", said)

    def test_roles_that_slipped(self):
        said = self.refusal(SEND, "MPI_Send  forwarded  sbuf type count dest tag comm\n")
        self.assertIn("'int count' in the mpi.h of testmpi cannot have the role 'type'", said)
        self.assertIn("'int *flag' in", self.refusal("int MPI_F(int *flag);", "MPI_F forwarded tag\n"))
        self.assertIn("'MPI_Comm c' in", self.refusal("int MPI_F(MPI_Comm c);", "MPI_F forwarded comm&\n"))

    def test_all_problems_are_named_at_once(self):
        said = self.refusal("int MPI_A(int a);\nint MPI_B(int b);\n", "MPI_C forwarded\n")
        self.assertIn("MPI_A(int a)", said)
        self.assertIn("MPI_B(int b)", said)

    def test_lines_of_the_table(self):
        for line, complaint in (
                ("MPI_Send  recored  sbuf", "table:1: MPI_Send has the unknown class 'recored'"),
                ("MPI_Send  forwarded,always  sbuf", "unknown class 'forwarded,always'"),
                ("MPI_Send", "unknown class ''"),
                ("MPI_Send  forwarded  sbuff", "unknown role 'sbuff'"),
                ("MPI_Send  forwarded  sbuf@rot", "unknown role 'sbuf@rot'"),
                ("Send  forwarded  sbuf", "'Send' is not the name of an MPI function"),
                ("MPI_Send  unsupported  sbuf", "a reason after ' : '"),
                ("MPI_Send  forwarded  sbuf : because", "a reason after ' : '"),
                ("MPI_Send  unsupported,if-wildcard  dest : because", "if-wildcard but has no source"),
                ("MPI_Join  forwarded  newcomm", "no comm to name it after"),
                ("MPI_Send  forwarded  - ...", "variable arguments, and only they, are direct"),
                ("MPI_Send  forwarded,direct  -", "variable arguments, and only they, are direct"),
                ("MPI_Send[_c]  forwarded\nMPI_Send_c  forwarded", "table:2: MPI_Send_c appears twice")):
            with self.subTest(line):
                self.assertIn(complaint, self.refusal(SEND, line + "\n"))

    def test_text_that_is_no_header(self):
        self.assertIn("declares no MPI function", self.refusal("int main(void);", SEND_LINE))

    def test_check_knows_functions_of_no_header(self):
        table, header = self.write("table", SEND_LINE), self.write("mpi.txt", SEND)
        status, said = self.run_generator("--check", "--table", table, "--header-text", header)
        self.assertEqual(status, 1)
        self.assertIn("functions that no header declares: MPI_Send_c", said)
        large = self.write("mpi2.txt", SEND.replace("MPI_Send", "MPI_Send_c"))
        both = ("--header-text", header, "--header-text", large)
        self.assertEqual(self.run_generator("--check", "--table", table, *both), (0, ""))


class Wrappers(InScratchDirectory):
    def test_forwarded_call(self):
        text = self.generate(SEND, SEND_LINE)
        self.assertIn("""\
static REPRISE_SERVES int serve_Send(Flavor flavor, const void* caller, const void *b, int count, MPI_Datatype type, \
int to, int tag, MPI_Comm c) {
  using Real = decltype(&MPI_Send);
  Entry entry(Function::Send, flavor, caller);
  const auto real = entry.real<Real>();
  if (entry.passive()) return entry.library<Real>()(b, count, type, to, tag, c);
  Call call;
  call.comm(c);
  call.peer(to);
  call.tag(tag);
  call.bytes(count, type);
  entry.begin(call);
  const int rc = real(b, count, type, to, tag, c);
  entry.end();
  return rc;
}
""", text)
        self.assertIn("""\
extern "C" REPRISE_INTERPOSED int PMPI_Send(const void *b, int count, MPI_Datatype type, int to, int tag, MPI_Comm c) {
  return serve_Send(Flavor::Pmpi, REPRISE_CALLER, b, count, type, to, tag, c);
}
""", text)

    def test_recorded_large_form_shares_the_body(self):
        text = self.generate("int MPI_Wait_c(MPI_Request *r, MPI_Status *s); int MPI_Init(int *c, char ***v);",
                             "MPI_Wait[_c] recorded request& status\nMPI_Init recorded,always - -\n")
        self.assertIn("serve_Wait_c(Flavor::Mpi", text)
        self.assertIn("return bodies::Wait(entry, real, r, s);", text)
        self.assertIn("return bodies::Init(entry, real, c, v);", text)
        self.assertEqual(text.count("entry.passive()"), 1, "Wait_c, but not Init")

    def test_unsupported(self):
        text = self.generate("int MPI_Probe(int s, int t, MPI_Comm c, MPI_Status *x); int MPIX_Odd(void);",
                             "MPI_Probe unsupported,if-wildcard source tag\n  comm status : any\n"
                             "MPIX_Odd unsupported : odd\n")
        self.assertIn('if (is_any_source(s)) entry.unsupported("any");\n  Call call;', text)
        self.assertIn('  entry.unsupported("odd");', text)
        self.assertIn("int PMPIX_Odd()", text)
        self.assertIn("Function::X_Odd", text)

    def test_quiet_and_direct(self):
        text = self.generate("double MPI_Wtick(void); int MPI_Pcontrol(const int level, ...);",
                             "MPI_Wtick forwarded,quiet\nMPI_Pcontrol forwarded,direct - ...\n",
                             "--extra-symbol", "extra")
        self.assertIn("double MPI_Wtick() {\n"
                      "  return resolve<decltype(&MPI_Wtick)>(Function::Wtick, Flavor::Mpi)();\n}", text)
        self.assertNotIn("Pcontrol", text)
        self.assertEqual((self.dir / "out/exports.map").read_text(),
                         "{\n  global:\n    MPI_Wtick;\n    PMPI_Wtick;\n    extra;\n  local: *;\n};\n")
        self.assertIn("  Pcontrol,\n  Wtick,\n  kCount", (self.dir / "out/function_ids.hpp").read_text())

    def test_new_communicators(self):
        text = self.generate("int MPI_Split(MPI_Comm a, int b, int c, MPI_Comm *d);"
                             "int MPI_Create(MPI_Comm a, MPI_Group b, MPI_Comm *d);"
                             "int MPI_Idup(MPI_Comm a, MPI_Comm *d, MPI_Request *r);",
                             "MPI_Split forwarded comm colour key newcomm\nMPI_Create forwarded comm group newcomm\n"
                             "MPI_Idup forwarded comm newcomm newrequest\n")
        self.assertIn("if (rc == MPI_SUCCESS) entry.new_communicator(*d, a);", text)
        self.assertIn("if (rc == MPI_SUCCESS) entry.new_communicator(*d, a);", text)
        self.assertIn("if (rc == MPI_SUCCESS) entry.new_communicator_later(d, a);", text)

    def test_insignificant_arguments_are_not_looked_at(self):
        rows = generate_wrappers.load_table(TABLE)
        for name, statement in (
                ("MPI_Bcast", "if (root != MPI_PROC_NULL) call.bytes(count, type);"),
                ("MPI_Gatherv",
                 "if (root != MPI_PROC_NULL && root != MPI_ROOT && sbuf != MPI_IN_PLACE) call.bytes(scount, stype);"),
                ("MPI_Scatter",
                 "if (root != MPI_PROC_NULL && root != MPI_ROOT && rbuf != MPI_IN_PLACE) call.bytes(rcount, rtype);"),
                ("MPI_Alltoall", "if (sbuf != MPI_IN_PLACE) call.bytes(sblock, stype);"),
                ("MPI_Allreduce", "call.bytes(count, type);"),
                ("MPI_Sendrecv", "call.bytes(scount, stype);"),
                ("MPI_Get_accumulate", "call.bytes(rcount, rtype);"),
                ("MPI_Fetch_and_op", "call.bytes(1, type);"),
                ("MPI_Alltoallw", None),
                ("MPI_Reduce_scatter", None),
                ("MPI_Pack", None),
                ("MPI_Type_contiguous", None)):
            with self.subTest(name):
                self.assertEqual(generate_wrappers.log_bytes(rows[name], rows[name].roles),
                                 [statement] if statement else [])

    def test_parameters(self):
        for text, expected, name in (
                ("int ranges[][3]", "int ranges[][3]", "ranges"),
                ("const char * const argv[]", "const char * const argv[]", "argv"),
                ("void *buf", "void *buf", "buf"),
                ("MPI_Comm", "MPI_Comm a7", "a7"),
                ("const void *", "const void *a7", "a7"),
                ("unsigned int", "unsigned int a7", "a7"),
                ("const int []", "const int a7 []", "a7"),
                ("int (*fn)(int, void *)", "int (*fn)(int, void *)", "fn"),
                ("int (*)(int, void *)", "int (*a7)(int, void *)", "a7"),
                ("MPI_Request entry", "MPI_Request entry_", "entry_"),
                ("int rc[]", "int rc_[]", "rc_")):
            with self.subTest(text):
                parameter = generate_wrappers.parse_parameter(text, 7)
                self.assertEqual(parameter.text, expected)
                self.assertEqual(parameter.name, name)

    def test_declarations_in_disguise(self):
        header = """\
# 1 "mpi.h"
extern "C" {
typedef int (MPI_Copy_function)(MPI_Comm);
__attribute__((visibility("default"))) __attribute__((__deprecated__("MPI_Old; (use \\"MPI_New\\")")))
extern int MPI_Old(void *base,
                   int size) __attribute__((pointer_with_type_tag(MPI, 1, 3)));
int PMPI_Old(void *base, int size);
int QMPI_Old(void *base, int size);
}
"""
        prototypes = generate_wrappers.load_header(self.write("mpi.txt", header))
        self.assertEqual([str(p) for p in prototypes.values()], ["MPI_Old(void *base, int size)"])
        self.assertEqual(prototypes["MPI_Old"].returns, "int")

    def test_every_function_is_in_one_file(self):
        header = "".join(f"int MPI_F{n}(void);" for n in range(10))
        text = self.generate(header, "".join(f"MPI_F{n} forwarded\n" for n in range(10)), "--parts", "3")
        self.assertEqual(len(list(self.dir.glob("out/wrappers_*.cpp"))), 3)
        self.assertEqual(sorted(re.findall(r" (P?MPI_F\d)\(\)", text)),
                         sorted(p + f"MPI_F{n}" for n in range(10) for p in ("", "P")))


class Table(InScratchDirectory):
    """The real table."""

    def setUp(self):
        super().setUp()
        self.rows = generate_wrappers.load_table(TABLE)

    def test_fits_every_header(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                header = self.write(f"{mpi}.txt", preprocessed(mpi))
                functions = generate_wrappers.load_header(header)
                self.assertGreater(len(functions), 400)
                generate_wrappers.match_header(functions, self.rows, header, TABLE)

    @unittest.skipUnless(len(MPIS) == 2, "needs both MPIs")
    def test_has_no_function_of_neither_header(self):
        headers = [self.write(f"{mpi}.txt", preprocessed(mpi)) for mpi in MPIS]
        generate_wrappers.check(self.rows, headers, TABLE)

    def test_every_declaration_is_found(self):
        # Independent of the parser: every name that is followed by a parenthesis and has a PMPI twin is a function.
        for mpi in MPIS:
            with self.subTest(mpi):
                text = preprocessed(mpi)
                names, twins = (set(re.findall(rf"\b{p}(MPIX?_[A-Z]\w*)\s*\(", text)) for p in ("", "P"))
                self.assertEqual(names & twins, set(generate_wrappers.load_header(self.write("mpi.txt", text))))

    def test_what_is_recorded(self):
        recorded = {row.body for row in self.rows.values() if row.kind == "recorded"}
        self.assertLessEqual({"Init", "Init_thread", "Finalize", "Abort"}, recorded)
        always = {row.body for row in self.rows.values() if row.attribute == "always"}
        self.assertEqual(always, {"Init", "Init_thread", "Finalize", "Abort"})

    def test_whatever_may_take_a_wildcard_is_recorded_or_unsupported(self):
        for row in self.rows.values():
            if row.has("source") or row.has("flag") and row.has("request", "request&", "requests&", "message&"):
                self.assertIn(row.kind, ("recorded", "unsupported"), row.name)

    def test_buffers_are_described(self):
        # Later readers of the table (data, flows) rely on a count and a type for every buffer that travels.
        for row in self.rows.values():
            if row.name.endswith("_end") or row.attribute == "quiet":
                continue
            for way in ("s", "r"):
                if row.has(way + "buf"):
                    self.assertTrue(row.has(way + "type", way + "types", "type"), row.name)
                    self.assertTrue(row.has(way + "count", way + "block", way + "counts", "count", "rcount", "rcounts")
                                    or row.has("target"), row.name)

    def test_identifiers_are_unique(self):
        identifiers = [row.identifier for row in self.rows.values()]
        self.assertEqual(len(identifiers), len(set(identifiers)))

    def test_blocking_receives(self):
        self.assertEqual({row.name for row in self.rows.values() if row.blocking_receive},
                         {"MPI_Recv", "MPI_Recv_c", "MPI_Sendrecv", "MPI_Sendrecv_c", "MPI_Sendrecv_replace",
                          "MPI_Sendrecv_replace_c", "MPI_Probe", "MPI_Mprobe"})


if __name__ == "__main__":
    unittest.main()
