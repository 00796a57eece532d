"""A program of language.py as a C program with MPI calls. Every rank writes what its statements saw, a line each, to
DIR/out-RANK.txt (or to its standard output, if DIR is -), as words() writes what the model saw.

A message carries its sender; how long it is says which of that sender's messages it is, so that a probe can tell as well.
"""

from language import (ANY, Bcast, Barrier, Cancel, If, Probe, Recv, Send, Test, Wait, Waitany, Waitsome)

HEAD = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 64 };
static MPI_Comm comms[2];
static int rank, sends, bufs[kMost][kMost + 1], next_buf;
static FILE* out;

static int* buffer(void) { return bufs[next_buf++]; }

// As many numbers as there were messages before it, and one more.
static int new_message(int* data) {
  for (int i = 0; i <= sends; ++i) data[i] = rank;
  return ++sends;
}

static void took(const MPI_Status* status) {
  int count;
  MPI_Get_count(status, MPI_INT, &count);
  fprintf(out, "(%d, %d)", status->MPI_SOURCE, count - 1);
}

// Of a request that was active: what it took, or that it has sent.
static void completed(int is_receive, const MPI_Status* status) {
  int cancelled = 0;
  if (is_receive) MPI_Test_cancelled(status, &cancelled);
  if (cancelled) fprintf(out, "cancelled");
  else if (is_receive) took(status);
  else fprintf(out, "sent");
}
"""


def number(value):
    return "MPI_ANY_SOURCE" if value == ANY else str(value)


def tag(value):
    return "MPI_ANY_TAG" if value == ANY else str(value)


class Emitter:
    def __init__(self):
        self.lines = []
        self.requests = {}  # name -> is it a receive

    def add(self, text, depth):
        self.lines.append("  " * depth + text)

    def statements(self, statements, depth):
        for statement in statements:
            getattr(self, "emit_" + type(statement).__name__.lower())(statement, depth)

    def emit_send(self, s, depth):
        mode = {"standard": "s", "synchronous": "ss", "buffered": "bs"}[s.mode]
        call = f"MPI_I{mode}end" if s.request else f"MPI_{mode.upper()[0]}{mode[1:]}end"
        self.add("{", depth)
        self.add("int* const data = buffer();", depth + 1)
        self.add("const int count = new_message(data);", depth + 1)
        last = f", &{s.request}" if s.request else ""
        self.add(f"{call}(data, count, MPI_INT, {s.to}, {s.tag}, comms[{s.comm}]{last});", depth + 1)
        self.add("}", depth)
        if s.request:
            self.requests[s.request] = False

    def emit_recv(self, s, depth):
        arguments = f"buffer(), kMost, MPI_INT, {number(s.source)}, {tag(s.tag)}, comms[{s.comm}]"
        if s.request:
            self.requests[s.request] = True
            self.add(f"MPI_Irecv({arguments}, &{s.request});", depth)
            return
        self.add(f"MPI_Recv({arguments}, &status);", depth)
        self.add("took(&status);", depth)
        self.add(r'fprintf(out, "\n");', depth)
        self.set(s.into, "status.MPI_SOURCE", depth)

    def set(self, variable, value, depth):
        if variable:
            self.add(f"{variable} = {value};", depth)

    def emit_probe(self, s, depth):
        where = f"{number(s.source)}, {tag(s.tag)}, comms[{s.comm}]"
        if s.waits:
            self.add(f"MPI_Probe({where}, &status);", depth)
            self.add("flag = 1;", depth)
        else:
            self.add(f"MPI_Iprobe({where}, &flag, &status);", depth)
        self.add('if (flag) took(&status);', depth)
        self.add('else fprintf(out, "nothing");', depth)
        self.add(r'fprintf(out, "\n");', depth)
        self.set(s.into, "flag ? status.MPI_SOURCE : -9", depth)

    def emit_wait(self, s, depth):
        self.add(f"flag = {s.request} != MPI_REQUEST_NULL;", depth)
        self.add(f"MPI_Wait(&{s.request}, &status);", depth)
        self.add(f"if (flag) completed({int(self.requests[s.request])}, &status);", depth)
        self.add('else fprintf(out, "inactive");', depth)
        self.add(r'fprintf(out, "\n");', depth)
        self.set(s.into, "flag && status.MPI_SOURCE >= 0 ? status.MPI_SOURCE : -9", depth)

    def arrays(self, s, depth):
        count = len(s.requests)
        self.add("{", depth)
        self.add(f"MPI_Request* const list[] = {{{', '.join('&' + name for name in s.requests)}}};", depth + 1)
        self.add(f"const int receives[] = {{{', '.join(str(int(self.requests[name])) for name in s.requests)}}};", depth + 1)
        self.add(f"MPI_Request requests[{count}];", depth + 1)
        self.add(f"for (int i = 0; i < {count}; ++i) requests[i] = *list[i];", depth + 1)
        return count

    def put_back(self, count, depth):
        self.add(f"for (int i = 0; i < {count}; ++i) *list[i] = requests[i];", depth + 1)
        self.add(r'fprintf(out, "\n");', depth + 1)
        self.add("}", depth)

    def emit_waitany(self, s, depth):
        count = self.arrays(s, depth)
        self.add("int index;", depth + 1)
        self.add(f"MPI_Waitany({count}, requests, &index, &status);", depth + 1)
        self.add('if (index == MPI_UNDEFINED) fprintf(out, "none active");', depth + 1)
        self.add("else {", depth + 1)
        self.add('fprintf(out, "%d: ", index);', depth + 2)
        self.add("completed(receives[index], &status);", depth + 2)
        self.add("}", depth + 1)
        self.set(s.into, "index == MPI_UNDEFINED ? -1 : index", depth + 1)
        self.put_back(count, depth)

    def emit_waitsome(self, s, depth):
        count = self.arrays(s, depth)
        self.add(f"int done, indices[{count}], which[{count}] = {{0}};", depth + 1)
        self.add(f"MPI_Status statuses[{count}];", depth + 1)
        self.add(f"MPI_Waitsome({count}, requests, &done, indices, statuses);", depth + 1)
        self.add('if (done == MPI_UNDEFINED) fprintf(out, "none active");', depth + 1)
        self.add("for (int i = 0; done != MPI_UNDEFINED && i < done; ++i) which[indices[i]] = i + 1;", depth + 1)
        self.add(f"for (int i = 0; i < {count}; ++i)", depth + 1)
        self.add("if (which[i]) {", depth + 2)
        self.add('fprintf(out, "%d: ", i);', depth + 3)
        self.add("completed(receives[i], &statuses[which[i] - 1]);", depth + 3)
        self.add('fprintf(out, "; ");', depth + 3)
        self.add("}", depth + 2)
        if s.into:
            self.add(f"{s.into} = done == MPI_UNDEFINED ? -1 : 0;", depth + 1)
            self.add(f"for (int i = 0; i < {count}; ++i) {s.into} |= which[i] ? 1 << i : 0;", depth + 1)
        self.put_back(count, depth)

    def emit_test(self, s, depth):
        self.add(f"MPI_Test(&{s.request}, &flag, &status);", depth)
        self.add('fprintf(out, flag ? "complete: " : "not yet");', depth)
        self.add(f"if (flag) completed({int(self.requests[s.request])}, &status);", depth)
        self.add(r'fprintf(out, "\n");', depth)
        self.set(s.into, "flag", depth)

    def emit_cancel(self, s, depth):
        self.add(f"MPI_Cancel(&{s.request});", depth)

    def emit_barrier(self, s, depth):
        self.add(f"MPI_Barrier(comms[{s.comm}]);", depth)

    def emit_bcast(self, s, depth):
        self.add(f"MPI_Bcast(&value, 1, MPI_INT, {s.root}, comms[{s.comm}]);", depth)

    def emit_if(self, s, depth):
        self.add(f"if ({s.variable} == {-9 if s.value is None else s.value}) {{", depth)
        self.statements(s.then, depth + 1)
        self.add("} else {", depth)
        self.statements(s.otherwise, depth + 1)
        self.add("}", depth)


def variables_of(statements):
    for statement in statements:
        if getattr(statement, "into", None):
            yield statement.into
        if isinstance(statement, If):
            yield from variables_of((*statement.then, *statement.otherwise))


def c_program(program):
    """The text. It is for as many ranks as the program has."""
    text = [HEAD]
    for rank, statements in enumerate(program):
        emitter = Emitter()
        emitter.statements(statements, 1)
        text.append(f"static void rank_{rank}(void) {{\n  MPI_Status status;\n  int flag = 0, value = 0;")
        for name in sorted(set(variables_of(statements))):
            text.append(f"  int {name} = 0;\n  (void){name};")
        for name in sorted(emitter.requests):
            text.append(f"  MPI_Request {name} = MPI_REQUEST_NULL;")
        text.append("  (void)status, (void)flag, (void)value;")
        text += emitter.lines + ["}\n"]
    calls = "\n".join(f"  if (rank == {rank}) rank_{rank}();" for rank in range(len(program)))
    text.append(f"""int main(int argc, char** argv) {{
  static char attached[1 << 20];
  char path[4096];
  MPI_Init(&argc, &argv);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Buffer_attach(attached, sizeof attached);
  snprintf(path, sizeof path, "%s/out-%d.txt", argc > 1 ? argv[1] : ".", rank);
  out = argc > 1 && argv[1][0] == '-' ? stdout : fopen(path, "w");
  if (!out) abort();
  setvbuf(out, NULL, _IOLBF, 1 << 16);  // a rank that is left blocked has written its lines
{calls}
  fclose(out);
  MPI_Finalize();
}}
""")
    return "\n".join(text)


def words(seen):
    """What a statement saw, as the C program writes it."""
    if isinstance(seen[0], str):
        return seen[0] if len(seen) == 1 else f"{seen[0]}: {words(seen[1])}"
    if isinstance(seen[0], tuple):  # Waitsome
        return "".join(f"{index}: {words(outcome)}; " for index, outcome in seen)
    if isinstance(seen[1], tuple):  # Waitany
        return f"{seen[0]}: {words(seen[1])}"
    return f"({seen[0]}, {seen[1]})"


def output_of(outcome):
    """Per rank, the text that a run with this outcome writes."""
    return tuple("".join(words(seen) + "\n" for seen in rank) for rank in outcome[0])
