#!/usr/bin/env python3
"""Makes the wrappers of a preload library from the mpi.h at hand and src/frontends/mpi/functions.tab.

The two MPIs differ in what they declare, how they spell it and what their handles are, so the prototypes come from the
preprocessed mpi.h, letter by letter, and only their meaning comes from the table. Written:

  function_ids.hpp   enum Function, names and flags of all functions of the table; the same for every MPI
  wrappers_N.cpp     MPI_X and PMPI_X for every function that this mpi.h declares
  exports.map        linker version script: those symbols and nothing else

Without --header-text only function_ids.hpp is written. With --check nothing is written, and the table is compared with
all headers given, in both directions.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

CLASSES = {  # and the attributes that each may have
    "recorded": {"", "always"},
    "forwarded": {"", "quiet", "direct"},
    "unsupported": {"", "if-wildcard"},
}
HANDLES = {
    "comm": "MPI_Comm", "group": "MPI_Group", "type": "MPI_Datatype", "op": "MPI_Op", "request": "MPI_Request",
    "message": "MPI_Message", "win": "MPI_Win", "file": "MPI_File", "info": "MPI_Info", "errhandler": "MPI_Errhandler",
    "session": "MPI_Session", "keyval": "int",
}
NUMBER = "int|MPI_Count|MPI_Aint|MPI_Offset"
CONDITIONS = {"", "root", "op"}
PEERS = ("dest", "source", "root", "target")  # the first that a function has is logged as its peer
BUILTIN_TYPES = {"void", "char", "short", "int", "long", "unsigned", "signed", "float", "double"}
RESERVED = {"entry", "real", "call", "rc", "idle", "bodies", "resolve", "is_any_source"}  # names that the wrappers use


def role_types():
    """Role -> (what the parameter's type must name, whether it must be an address). Catches roles that slipped."""
    types = {}
    for handle, c_type in HANDLES.items():
        types |= {handle: (c_type, False), "new" + handle: (c_type, True), handle + "&": (c_type, True)}
    types |= {"othercomm": ("MPI_Comm", False), "foreigncomm": ("MPI_Comm", True), "requests&": ("MPI_Request", True)}
    types |= {role: ("void", True) for role in "sbuf rbuf buf inbuf outbuf mem newmem".split()}
    types |= {role: ("int", False) for role in "colour key dest source root target tag stag rtag".split()}
    types |= {role: (NUMBER, False) for role in "count scount rcount sblock rblock tcount n disp offset".split()}
    types |= {role: (NUMBER, True) for role in "scounts sdispls rcounts rdispls".split()}
    types |= {role: ("MPI_Datatype", False) for role in "stype rtype ttype".split()}
    types |= {role: ("MPI_Datatype", True) for role in "types stypes rtypes".split()}
    types |= {role: ("MPI_Status", True) for role in "status statuses instatus".split()}
    types |= {role: ("int", True) for role in "flag index indices outcount".split()}
    types |= {"fn": (r"\w+_function(_c)?", True), "...": (r"\.\.\.", False)}
    return types


ROLES = role_types()


class Trouble(Exception):
    """What is wrong with the table or the header: one sentence per problem, each with its remedy."""


# Calls without a new request that never wait, or whose bodies say when they have posted what others may not overtake.
POSTING = ("Start", "Startall", "Cancel", "Request_free", "Send", "Bsend", "Ssend", "Rsend", "Recv")

# --- the table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    name: str          # MPI_Send_c
    body: str          # Send: the hand-written body, if it is recorded; the _c form has the same one
    kind: str
    attribute: str
    roles: tuple       # without their conditions
    conditions: tuple  # per role: "", "root" or "op"
    reason: str

    @property
    def identifier(self):
        return self.name[4:] if self.name.startswith("MPI_") else self.name[3:]  # MPIX_Foo: X_Foo

    def index(self, *roles, conditional=True):
        """Position of the first parameter that has one of these roles, preferring the role named first."""
        for role in roles:
            for at, (have, condition) in enumerate(zip(self.roles, self.conditions)):
                if have == role and (conditional or not condition):
                    return at
        return None

    def has(self, *roles):
        return self.index(*roles) is not None

    @property
    def blocking_receive(self):
        return self.has("source") and self.has("status") and not self.has("flag")

    @property
    def posts(self):
        return self.has("newrequest") or self.body in POSTING

    @property
    def unordered(self):
        """It concerns a communicator, but takes no message from others, and posts nothing: a blocking collective, or a local question."""
        return self.has("comm", "comm&") and not self.posts and not self.has("source", "dest", "message", "newmessage", "status")

    @property
    def flags(self):
        return " | ".join(name for name, applies in (("kBlockingReceive", self.blocking_receive), ("kPosts", self.posts),
                                                     ("kUnordered", self.unordered), ("kMakesCommunicator", self.has("newcomm")))
                          if applies) or "0"


def logical_lines(text):
    """Lines without comments, indented lines joined to the one they continue, each with its number."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace() and lines:
            lines[-1] = (lines[-1][0], lines[-1][1] + " " + line.strip())
        else:
            lines.append((number, line.strip()))
    return lines


def parse_row(line):
    """The rows that a line of the table stands for: one, or two with [_c]. Raises Trouble."""
    definition, _, reason = (part.strip() for part in line.partition(" : "))
    name, *rest = definition.split()
    kind, _, attribute = rest[0].partition(",") if rest else ("", "", "")
    roles, _, conditions = zip(*(role.partition("@") for role in rest[1:])) if rest[1:] else ((), (), ())
    name, large = (name[:-4], True) if name.endswith("[_c]") else (name, False)
    if not re.fullmatch(r"MPIX?_\w+", name):
        raise Trouble(f"'{name}' is not the name of an MPI function")
    if attribute not in CLASSES.get(kind, ()):
        raise Trouble(f"{name} has the unknown class '{kind}{',' if attribute else ''}{attribute}'")
    for role, condition in zip(roles, conditions):
        if role not in ROLES and role != "-" or condition not in CONDITIONS:
            raise Trouble(f"{name} has the unknown role '{role}{'@' if condition else ''}{condition}'")
    if bool(reason) != (kind == "unsupported"):
        raise Trouble(f"{name}: a reason after ' : ' belongs to unsupported functions, and to all of them")
    if attribute == "if-wildcard" and "source" not in roles:
        raise Trouble(f"{name} is if-wildcard but has no source")
    if "newcomm" in roles and "comm" not in roles:
        raise Trouble(f"{name} has a newcomm but no comm to name it after; foreigncomm would leave it unnamed")
    if ("..." in roles) != (attribute == "direct"):
        raise Trouble(f"{name}: functions with variable arguments, and only they, are direct")
    row = Row(name, name.removeprefix("MPI_"), kind, attribute, roles, conditions, reason)
    return [row, Row(name + "_c", row.body, kind, attribute, roles, conditions, reason)] if large else [row]


def load_table(path):
    rows, problems = {}, []
    for number, line in logical_lines(Path(path).read_text()):
        try:
            for row in parse_row(line):
                if row.name in rows:
                    raise Trouble(f"{row.name} appears twice")
                rows[row.name] = row
        except Trouble as trouble:
            problems.append(f"{path}:{number}: {trouble}")
    if problems:
        raise Trouble("\n".join(problems))
    return dict(sorted(rows.items()))


# --- the header -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    text: str  # as a definition needs it, with a name
    name: str
    type: str  # the text without the name


@dataclass(frozen=True)
class Prototype:
    returns: str
    name: str
    parameters: tuple

    def __str__(self):
        return f"{self.name}({', '.join(p.text for p in self.parameters)})"


def without_attributes(text):
    """The text without string literals, line markers and __attribute__((...)), which hide the declarations' shape."""
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    pieces, at = [], 0
    for match in re.finditer(r"\b__attribute__\s*\(", text):
        if match.start() < at:
            continue  # nested in the one before
        pieces.append(text[at:match.start()])
        at, depth = match.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
    return "".join(pieces) + text[at:]


def split_parameters(text):
    """Splits at the commas outside of parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [" ".join(part.split()) for part in parts]


def parse_parameter(text, position):
    if text == "...":
        return Parameter(text, "", text)
    if match := re.search(r"\(\s*\*\s*(\w*)", text):  # a pointer to a function or an array
        head, name, tail = text[:match.start(1)], match[1], text[match.end(1):]
    else:
        head, name, tail = re.fullmatch(r"(.*?)(\w*)(\s*(?:\[[^\]]*\])*)", text).groups()
        if name in BUILTIN_TYPES or not re.search(r"\w", re.sub(r"\b(const|volatile|struct)\b", "", head)):
            head, name = head + name + " ", ""  # what looked like the name was the type
    name = name or f"a{position}"
    name += "_" if name in RESERVED else ""
    return Parameter(head + name + tail, name, head + tail)


def load_header(path):
    """The MPI_ and MPIX_ functions that a preprocessed mpi.h declares, by name."""
    prototypes = {}
    for statement in re.split(r"[;{}]", without_attributes(Path(path).read_text())):
        statement = " ".join(statement.split())
        match = re.fullmatch(r"(?:extern )?([\w \*]+?) ?\b(MPIX?_[A-Z]\w*) ?\((.*)\)", statement)
        if not match or match[1].startswith("typedef"):
            continue
        texts = [] if match[3].strip() in ("", "void") else split_parameters(match[3])
        parameters = tuple(parse_parameter(text, at) for at, text in enumerate(texts, 1))
        prototypes[match[2]] = Prototype(match[1], match[2], parameters)
    if not prototypes:
        raise Trouble(f"{path} declares no MPI function; it should be the preprocessed text of '#include <mpi.h>'")
    return dict(sorted(prototypes.items()))


def match_header(prototypes, rows, header, table):
    """Complains about every function of the header that the table lacks or describes wrongly."""
    problems = []
    for name, prototype in prototypes.items():
        row = rows.get(name)
        if row is None:
            base = name.removesuffix("_c")
            remedy = f"write {base}[_c] in its line" if base in rows else "add a line such as\n    " + "  ".join(
                [name, "forwarded", " ".join("-" for _ in prototype.parameters)])
            problems.append(f"{prototype} is declared in {header} but missing in {table}: {remedy}")
        elif len(row.roles) != len(prototype.parameters):
            problems.append(f"{prototype} has {len(prototype.parameters)} parameters in {header}, but its line in "
                            f"{table} has {len(row.roles)} roles: give one role per parameter")
        else:
            for role, parameter in zip(row.roles, prototype.parameters):
                c_type, address = ROLES.get(role, ("", None))
                fits = re.search(rf"(?<!\w)({c_type})(?!\w)", parameter.type)
                if not fits or address not in (None, bool(re.search(r"[*\[]", parameter.type))):
                    problems.append(f"{name}: '{parameter.text}' in {header} cannot have the role '{role}' that its "
                                    f"line in {table} gives it")
    if problems:
        raise Trouble("\n".join(problems))


# --- the code ---------------------------------------------------------------------------------------------------------


def log_bytes(row, names):
    """The statement that logs how many bytes this rank sends or, if it sends nothing, receives.

    Arguments that are not significant may hold anything, even a handle that would make MPI_Type_size call the error
    handler. So they are left out where MPI does not look at them: where the buffer is MPI_IN_PLACE, and on the ranks
    of an intercommunicator that only watch (root is MPI_PROC_NULL) or only serve the others (MPI_ROOT).
    """
    if not row.has("sbuf", "rbuf", "buf"):
        return []
    if row.has("target") and not row.has("count", "rcount"):  # MPI_Fetch_and_op and its like move one element
        return [f"call.bytes(1, {names[row.index('type')]});"]
    for way in ("s", "r"):
        count = row.index(way + "count", way + "block", "count", conditional=False)
        datatype = row.index(way + "type", "type", conditional=False)
        if count is None or datatype is None:
            continue
        guards = []
        if row.has("root"):
            guards.append(f"{names[row.index('root')]} != MPI_PROC_NULL")
        if row.roles[datatype] != "type" and row.has("comm") and not row.has("dest"):  # a collective with two types
            guards += [f"{names[row.index('root')]} != MPI_ROOT"] if row.has("root") else []
            guards.append(f"{names[row.index(way + 'buf')]} != MPI_IN_PLACE")
        condition = f"if ({' && '.join(guards)}) " if guards else ""
        return [f"{condition}call.bytes({names[count]}, {names[datatype]});"]
    return []


def log_call(row, names):
    """The statements that collect what is logged about a forwarded call."""
    lines = ["Call call;"]
    for setter, roles in (("comm", ("comm",)), ("peer", PEERS), ("tag", ("tag", "stag", "colour")), ("count", ("key",))):
        if row.has(*roles):
            lines.append(f"call.{setter}({names[row.index(*roles)]});")
    return lines + log_bytes(row, names)


def name_communicator(row, names):
    """The statements that give a new communicator its name."""
    if not row.has("newcomm"):
        return []
    made, parent = names[row.index("newcomm")], names[row.index("comm")]
    if row.has("newrequest"):
        return [f"if (rc == MPI_SUCCESS) entry.new_communicator_later({made}, {parent});"]
    return [f"if (rc == MPI_SUCCESS) entry.new_communicator(*{made}, {parent});"]


def make_call(prototype, row, names):
    """The statements that call the library. An operation with a request of its own may have been cancelled in the
    recorded run; then the request stands for nothing. A persistent one is not active before it is started."""
    real = f"real({', '.join(names)})"
    if not row.has("newrequest") or row.name.removesuffix("_c").endswith("_init"):
        return [f"const {prototype.returns} rc = {real};"]
    request = names[row.index("newrequest")]
    return ["const bool idle = entry.post_is_cancelled();",
            f"const {prototype.returns} rc = idle ? idle_request({request}) : {real};",
            f"entry.posted(rc, {request}, idle ? Posts::Kind::Idle : Posts::Kind::Ordinary);"]


def wrapper_body(prototype, row):
    names = [parameter.name for parameter in prototype.parameters]
    arguments = ", ".join(names)
    lines = [f"Entry entry(Function::{row.identifier}, flavor, caller);",
             "const auto real = entry.real<Real>();"]
    if row.attribute != "always":
        lines.append(f"if (entry.passive()) return entry.library<Real>()({arguments});")
    if row.kind == "recorded":
        return lines + [f"return bodies::{row.body}({', '.join(['entry', 'real'] + names)});"]
    if row.kind == "unsupported":
        wildcard = f"if (is_any_source({names[row.index('source')]})) " if row.attribute == "if-wildcard" else ""
        lines.append(f'{wildcard}entry.unsupported("{row.reason}");')
    return lines + log_call(row, names) + ["entry.begin(call);"] + make_call(prototype, row, names) + name_communicator(
        row, names) + ["entry.end();", "return rc;"]


def wrapper(prototype, row):
    """MPI_X and PMPI_X, which do the same: it is compiled once."""
    parameters = ", ".join(parameter.text for parameter in prototype.parameters)
    arguments = [parameter.name for parameter in prototype.parameters]
    text = ""
    served = f"serve_{row.identifier}"
    if row.attribute != "quiet":
        lines = [f"using Real = decltype(&{prototype.name});"] + wrapper_body(prototype, row)
        body = "".join(f"  {line}\n" for line in lines)
        given = ", ".join(["Flavor flavor", "const void* caller"] + [parameters] * bool(parameters))
        text += f"static REPRISE_SERVES {prototype.returns} {served}({given}) {{\n{body}}}\n"
    for prefix, flavor in (("", "Mpi"), ("P", "Pmpi")):
        symbol = prefix + prototype.name
        if row.attribute == "quiet":
            call = (f"resolve<decltype(&{symbol})>(Function::{row.identifier}, Flavor::{flavor})"
                    f"({', '.join(arguments)})")
        else:
            call = f"{served}({', '.join([f'Flavor::{flavor}', 'REPRISE_CALLER'] + arguments)})"
        text += (f'extern "C" REPRISE_INTERPOSED {prototype.returns} {symbol}({parameters}) {{\n'
                 f"  return {call};\n}}\n")
    return text


WRAPPERS_TOP = """\
// Generated by tools/generate_wrappers.py from functions.tab and the mpi.h of {mpi}.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

{bodies}#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/idle_request.hpp"

using namespace reprise::mpi;
"""

FUNCTION_IDS = """\
// Generated by tools/generate_wrappers.py from functions.tab.
#pragma once

#include <cstdint>

namespace reprise::mpi {{

enum class Function : std::uint16_t {{
{identifiers}
  kCount
}};

inline constexpr const char* kFunctionNames[] = {{
{names}
}};

inline constexpr std::uint8_t kBlockingReceive = 1;  // what a wildcard matched is known when the call returns
inline constexpr std::uint8_t kPosts = 2;            // never waits, or its body says when it has posted
inline constexpr std::uint8_t kUnordered = 4;        // threads may make it in any order among their other calls
inline constexpr std::uint8_t kMakesCommunicator = 8;

inline constexpr std::uint8_t kFunctionFlags[] = {{
{flags}
}};

}}  // namespace reprise::mpi
"""


def function_ids(rows):
    return FUNCTION_IDS.format(
        identifiers="\n".join(f"  {row.identifier}," for row in rows.values()),
        names="\n".join(f'    "{name}",' for name in rows),
        flags="\n".join(f"    {row.flags},  // {row.name}"
                        for row in rows.values()))


def wrapper_files(prototypes, rows, mpi, parts):
    """The text of each of the files, between which the functions are dealt out evenly.

    Recorded functions come first, so that only the first file has to include their bodies, which compile slowly.
    """
    ordered = sorted(prototypes.items(), key=lambda item: rows[item[0]].kind != "recorded")
    texts = [(rows[name].kind == "recorded", wrapper(prototype, rows[name])) for name, prototype in ordered]
    for part in range(parts):
        chosen = texts[len(texts) * part // parts:len(texts) * (part + 1) // parts]
        bodies = '#include "frontends/mpi/bodies.hpp"\n' if any(recorded for recorded, _ in chosen) else ""
        yield "\n".join([WRAPPERS_TOP.format(mpi=mpi, bodies=bodies)] + [text for _, text in chosen])


def exports_map(prototypes, extra_symbols):
    symbols = [prefix + name for name in prototypes for prefix in ("", "P")] + list(extra_symbols)
    return "{\n  global:\n" + "".join(f"    {symbol};\n" for symbol in symbols) + "  local: *;\n};\n"


# --- the command ------------------------------------------------------------------------------------------------------


def check(rows, headers, table):
    declared = {}
    for header in headers:
        prototypes = load_header(header)
        match_header(prototypes, rows, header, table)
        declared |= prototypes
    if unknown := [name for name in rows if name not in declared]:
        raise Trouble(f"{table} has functions that no header declares: {', '.join(unknown)}: remove them")


def generate(rows, options):
    out = options.out_dir
    out.mkdir(parents=True, exist_ok=True)
    (out / "function_ids.hpp").write_text(function_ids(rows))
    for header in options.header_text:
        declared = load_header(header)
        match_header(declared, rows, f"the mpi.h of {options.mpi}", options.table)
        wrapped = {name: prototype for name, prototype in declared.items() if rows[name].attribute != "direct"}
        for number, text in enumerate(wrapper_files(wrapped, rows, options.mpi, options.parts), 1):
            (out / f"wrappers_{number}.cpp").write_text(text)
        listed = [name for file in options.extra_symbols for name in file.read_text().split()]
        (out / "exports.map").write_text(exports_map(wrapped, options.extra_symbol + listed))


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", required=True, help="functions.tab")
    parser.add_argument("--header-text", action="append", default=[], metavar="FILE", help="preprocessed mpi.h")
    parser.add_argument("--mpi", default="this MPI", metavar="NAME", help="whose mpi.h it is, for messages")
    parser.add_argument("--out-dir", type=Path, help="where to write")
    parser.add_argument("--parts", type=int, default=6, metavar="N", help="number of wrapper files (default: 6)")
    parser.add_argument("--extra-symbol", action="append", default=[], metavar="NAME", help="export this one too")
    parser.add_argument("--extra-symbols", type=Path, action="append", default=[], metavar="FILE", help="export those too that this file names")
    parser.add_argument("--check", action="store_true", help="only compare the table with all headers given")
    options = parser.parse_args(arguments)
    if options.check == bool(options.out_dir):
        parser.error("give either --out-dir or --check")
    if not options.check and len(options.header_text) > 1:
        parser.error("wrappers are made from one --header-text at a time")
    return options


def write_one_file(arguments, description, generate_text):
    """The main function of the other generators: from the table and one header, one file."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", required=True, help="functions.tab")
    parser.add_argument("--header-text", required=True, metavar="FILE", help="preprocessed mpi.h")
    parser.add_argument("--mpi", default="this MPI", metavar="NAME", help="whose mpi.h it is, for messages")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    options = parser.parse_args(arguments[1:])
    try:
        rows = load_table(options.table)
        prototypes = load_header(options.header_text)
        match_header(prototypes, rows, f"the mpi.h of {options.mpi}", options.table)
        options.out.write_text(generate_text(prototypes, rows, options.mpi))
    except (Trouble, OSError) as trouble:
        print(f"{Path(arguments[0]).name}: {trouble}", file=sys.stderr)
        return 1
    return 0


def main(arguments):
    options = parse_options(arguments)
    try:
        rows = load_table(options.table)
        if options.check:
            check(rows, options.header_text, options.table)
        else:
            generate(rows, options)
    except (Trouble, OSError) as trouble:
        print(f"generate_wrappers.py: {trouble}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
