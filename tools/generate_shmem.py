#!/usr/bin/env python3
"""Makes the wrappers of OpenSHMEM's functions from the shmem.h at hand.

Nearly all of its functions are a handful of operations for two dozen types, so there is no table: what a function does
follows from its name and its parameters. Written:

  shmem_ids.hpp       enum Function and the names of all functions
  shmem_wrappers.cpp  every function that this shmem.h declares
  shmem_symbols.txt   those names, for the linker's version script

Without --header-text there are none: an MPI without OpenSHMEM. The build fails if the header has a function whose meaning is
not known here.
"""

import argparse
import re
import sys
from pathlib import Path

from generate_wrappers import Prototype, Trouble, parse_parameter, split_parameters, without_attributes

NAME = r"shmemx?_\w+|shmemalign|shmalloc|shrealloc|shfree|start_pes|_?my_pe|_?num_pes"
TYPES = ("char schar short int long longlong uchar ushort uint ulong ulonglong float double longdouble complexf complexd size ptrdiff "
         "int8 int16 int32 int64 uint8 uint16 uint32 uint64").split()
CHANGES = {"add", "inc", "set", "and", "or", "xor"}                             # atomic operations without a result
FETCHES = {"fetch_add", "fetch_inc", "fetch_and", "fetch_or", "fetch_xor", "swap", "compare_swap", "cswap", "fadd", "finc"}
QUIET = {  # questions and the like that no log needs
    "my_pe": "return my_pe([&] { return real(); });", "_my_pe": "return my_pe([&] { return real(); });", "shmem_my_pe": "return my_pe([&] { return real(); });",
    "num_pes": "return n_pes([&] { return real(); });", "_num_pes": "return n_pes([&] { return real(); });", "shmem_n_pes": "return n_pes([&] { return real(); });",
    "shmem_pe_accessible": "return question([&] { return real(pe); });",
    "shmem_addr_accessible": "return question([&] { return real(real_address(addr), pe); });",
    "shmem_ptr": "return pointer_to(ptr, pe, [&] { return real(real_address(ptr), pe); });",
    "shmem_query_thread": "*provided = question([&] { int level = 0; real(&level); return level; });",
}
LOCAL = {"shmem_info_get_version", "shmem_info_get_name", "shmem_set_cache_inv", "shmem_set_cache_line_inv", "shmem_clear_cache_inv",
         "shmem_clear_cache_line_inv", "shmem_udcflush", "shmem_udcflush_line"}  # need no library that is up
LIFE = {
    "shmem_init": "initialise(entry, kSingle, nullptr, [&] { real(); return 0; });",
    "start_pes": "initialise(entry, kSingle, nullptr, [&] { real(npes); return 0; });",
    "shmem_init_thread": "return initialise(entry, requested, provided, [&] { return real(requested, provided); });",
    "shmem_finalize": "finalise(entry, [&] { real(); });",
    "shmem_global_exit": "leave_everywhere(entry, status, [&] { real(status); });",
}
MEMORY = {
    "shmem_malloc": "return allocate(entry, size, [&] { return real(size); });",
    "shmalloc": "return allocate(entry, size, [&] { return real(size); });",
    "shmemx_malloc_with_hint": "return allocate(entry, size, [&] { return real(size, hint); });",
    "shmem_calloc": "return allocate(entry, count * size, [&] { return real(count, size); });",
    "shmem_align": "return allocate(entry, size, [&] { return real(align, size); });",
    "shmemalign": "return allocate(entry, size, [&] { return real(align, size); });",
    "shmem_realloc": "return reallocate(entry, ptr, size, [&] { return real(real_address(ptr), size); });",
    "shrealloc": "return reallocate(entry, ptr, size, [&] { return real(real_address(ptr), size); });",
    "shmem_free": "release(entry, ptr, [&] { real(real_address(ptr)); });",
    "shfree": "release(entry, ptr, [&] { real(real_address(ptr)); });",
}
ORDER = {
    "shmem_quiet": "complete(entry, nullptr, [&] { real(); });",
    "shmem_ctx_quiet": "complete(entry, ctx, [&] { real(ctx); });",
    "shmem_fence": "order(entry, [&] { real(); });",
    "shmem_ctx_fence": "order(entry, [&] { real(ctx); });",
    "shmem_ctx_create": "return create_context(entry, reinterpret_cast<void**>(ctx), [&] { return real(options, ctx); });",
    "shmem_ctx_destroy": "destroy_context(entry, ctx, [&] { real(ctx); });",
    "shmem_set_lock": "await(entry, 0, [&] { real(real_address(lock)); });",
    "shmem_clear_lock": "complete(entry, nullptr, [&] { real(real_address(lock)); });",  # it makes the holder's accesses visible
    "shmem_test_lock": "return test_lock(entry, [&] { return real(real_address(lock)); });",
    "shmem_barrier_all": "complete_together(entry, kEverybody, [&] { real(); });",
    "shmem_sync_all": "together(entry, kEverybody, Result{}, [&] { real(); });",
    "shmem_barrier": "complete_together(entry, {PE_start, logPE_stride, PE_size}, [&] { real(PE_start, logPE_stride, PE_size, real_address(pSync)); });",
    "shmem_sync": "together(entry, {PE_start, logPE_stride, PE_size}, Result{}, [&] { real(PE_start, logPE_stride, PE_size, real_address(pSync)); });",
}
ACTIVE = "{PE_start, logPE_stride, PE_size}"
UNSUPPORTED = {"shmemx_alltoall_global_nb"}


def load_header(path):
    prototypes = {}
    for statement in re.split(r"[;{}]", without_attributes(Path(path).read_text())):
        match = re.fullmatch(rf"(?:extern )?([\w :<>\*]+?) ?\b({NAME}) ?\((.*)\)", " ".join(statement.split()))
        if not match or match[1].startswith(("typedef", "return")):
            continue
        texts = [] if match[3].strip() in ("", "void") else split_parameters(match[3])
        prototypes[match[2]] = Prototype(match[1], match[2], tuple(parse_parameter(text, at) for at, text in enumerate(texts, 1)))
    if not prototypes:
        raise Trouble(f"{path} declares no OpenSHMEM function; it should be the preprocessed text of '#include <shmem.h>'")
    return dict(sorted(prototypes.items()))


def stem(name):
    """shmem_ctx_int_atomic_add -> add; shmem_put32_nbi -> put_nbi; and the size of an element, if the name says it."""
    rest = re.sub(r"^shmemx?_(ctx_)?", "", name)
    for kind in sorted(TYPES, key=len, reverse=True):
        if rest.startswith(kind + "_"):
            return re.sub(r"^atomic_", "", rest[len(kind) + 1:]), None
    if match := re.fullmatch(r"(\D+?)(8|16|32|64|128)(_nbi)?", rest):
        return match[1] + (match[3] or ""), int(match[2]) // 8
    if match := re.fullmatch(r"(put|get)mem(_nbi)?", rest):
        return match[1] + (match[2] or ""), 1
    return rest, None


SYMMETRIC = ("target", "source", "addr", "ptr", "lock", "pSync", "pWrk")  # parameters, if they are pointers


def translated(prototype, operation):
    """The call of the library: where the program has a copy of its symmetric memory, with the addresses of the real one. What is given,
    and where a result goes, is the program's."""
    own = {"put": "source", "iput": "source", "put_nbi": "source", "get": "target", "iget": "target", "get_nbi": "target"}.get(operation)
    words = [f"real_address({parameter.name})" if parameter.name in SYMMETRIC and parameter.name != own and "*" in parameter.type else parameter.name
             for parameter in prototype.parameters]
    return f"real({', '.join(words)})"


def body(prototype):
    """The statement that serves a call. Raises Trouble if nobody knows what it does."""
    name, names = prototype.name, [parameter.name for parameter in prototype.parameters]
    call = translated(prototype, stem(name)[0])
    for known in (QUIET, LIFE, MEMORY, ORDER):
        if name in known:
            return known[name]
    if name in LOCAL:
        return f"return {call};"
    if name in UNSUPPORTED:
        return f"unsupported(entry, [&] {{ {call}; }});"
    operation, size = stem(name)
    element = str(size) if size else f"sizeof *{names[1] if names[0] == 'ctx' else names[0]}"
    context = "ctx" if names and names[0] == "ctx" else "nullptr"
    has = set(names)

    def far(address, count="1", stride="1"):
        return f"Far{{{context}, {address}, pe, {element}, {count}, {stride}}}"

    target = "addr" if "addr" in has else "target"
    if operation in ("put", "put_nbi"):
        return f"put(entry, {far('target', 'len')}, Near{{source, 1}}, [&] {{ {call}; }});"
    if operation == "iput":
        return f"put(entry, {far('target', 'len', 'tst')}, Near{{source, sst}}, [&] {{ {call}; }});"
    if operation == "p":
        return f"put(entry, {far('addr')}, Near{{&value, 1}}, [&] {{ {call}; }});"
    if operation == "get":
        return f"get(entry, {far('source', 'len')}, Near{{target, 1}}, [&] {{ {call}; }});"
    if operation == "get_nbi":
        return f"get_later(entry, {far('source', 'len')}, Near{{target, 1}}, [&] {{ {call}; }});"
    if operation == "iget":
        return f"get(entry, {far('source', 'len', 'sst')}, Near{{target, tst}}, [&] {{ {call}; }});"
    result = f"{prototype.returns} result{{}};"
    if operation in ("g", "fetch"):
        return f"{result} get(entry, {far(target)}, Near{{&result, 1}}, [&] {{ result = {call}; }}); return result;"
    operand = "Near{&value, 1}" if "value" in has else "Near{nullptr, 1}"
    if operation in CHANGES and prototype.returns == "void":
        return f"put(entry, {far('target')}, {operand}, [&] {{ {call}; }});"
    if operation in FETCHES:
        return f"{result} exchange(entry, {far('target')}, {operand}, &result, [&] {{ result = {call}; }}); return result;"
    if operation in ("wait", "wait_until"):
        return f"await(entry, sizeof *addr, [&] {{ {call}; }});"
    if operation == "test":
        return f"return test(entry, [&] {{ return {call}; }});"
    if operation.endswith("_to_all"):
        return (f"together(entry, {ACTIVE}, Result{{target, nreduce > 0 ? static_cast<std::size_t>(nreduce) * sizeof *target : 0}}, "
                f"[&] {{ {call}; }});")
    size = size or 8  # shmem_broadcast, without a number
    if operation == "broadcast":
        return (f"together(entry, {ACTIVE}, is_root({ACTIVE}, PE_root) ? Result{{}} : Result{{target, nlong * {size}}}, "
                f"[&] {{ {call}; }});")
    if operation == "fcollect":
        return f"together(entry, {ACTIVE}, Result{{target, nlong * {size} * static_cast<std::size_t>(PE_size)}}, [&] {{ {call}; }});"
    if operation == "collect":
        return f"together(entry, {ACTIVE}, Result{{target, kWhatChanges}}, [&] {{ {call}; }});"
    if operation == "alltoall":
        return f"together(entry, {ACTIVE}, Result{{target, nelems * {size} * static_cast<std::size_t>(PE_size)}}, [&] {{ {call}; }});"
    if operation == "alltoalls":
        return f"together(entry, {ACTIVE}, Result{{target, nelems * static_cast<std::size_t>(PE_size), {size}, dst}}, [&] {{ {call}; }});"
    raise Trouble(f"{prototype} is declared in shmem.h, but what it does is not known: add it to tools/generate_shmem.py")


def wrapper(prototype):
    text = ", ".join(parameter.text for parameter in prototype.parameters)
    types = ", ".join(parameter.type for parameter in prototype.parameters)
    names = ", ".join(parameter.name for parameter in prototype.parameters)
    return "\n".join([
        f'extern "C" REPRISE_INTERPOSED {prototype.returns} {prototype.name}({text}) {{',
        f"  Entry entry(Function::{prototype.name}, REPRISE_CALLER);",
        f"  const auto real = entry.real<{prototype.returns} (*)({types})>();",
        f"  if (entry.passive()) return real({names});",
        f"  {body(prototype)}",
        "}", ""])


def ids(names):
    lines = ["// Generated by tools/generate_shmem.py.", "#pragma once", "", "#include <cstddef>", "#include <cstdint>", "",
             "namespace reprise::shmem {", "", "enum class Function : std::uint16_t {"]
    lines += [f"  {name}," for name in names]
    lines += ["};", f"inline constexpr std::size_t kFunctionCount = {len(names)};",
              "inline constexpr const char* kFunctionNames[kFunctionCount + 1] = {"]
    lines += [f'    "{name}",' for name in names]
    return "\n".join(lines + ["    nullptr,", "};", "", "}  // namespace reprise::shmem", ""])


def wrappers(prototypes):
    lines = ["// Generated by tools/generate_shmem.py.", "#include <shmem.h>", "#include <shmemx.h>", "",
             '#include "frontends/shmem/bodies.hpp"', "", "using namespace reprise::shmem;", "using namespace reprise::shmem::bodies;", ""]
    return "\n".join(lines + [wrapper(prototype) for prototype in prototypes.values()])


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--header-text", type=Path, metavar="FILE", help="the preprocessed shmem.h and shmemx.h")
    parser.add_argument("--out-dir", type=Path, required=True)
    options = parser.parse_args()
    try:
        prototypes = load_header(options.header_text) if options.header_text else {}
        files = {"shmem_ids.hpp": ids(prototypes), "shmem_symbols.txt": "".join(name + "\n" for name in prototypes)}
        if prototypes:
            files["shmem_wrappers.cpp"] = wrappers(prototypes)
    except Trouble as trouble:
        sys.exit(f"generate_shmem.py: {trouble}")
    options.out_dir.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write(options.out_dir / name, text)


if __name__ == "__main__":
    main()
