// What a log says about the process that wrote it: program, arguments, place. Keys as in docs/trace-format.md.
#pragma once

#include "trace/chunk_writer.hpp"

namespace reprise::engine {

// "exe", "build-id", "exe-hash" (only without a build-id), "cmdline", "pid", "host".
trace::Info describe_process();
// The same for all processes of one running machine, and for no others.
std::uint64_t machine_identity();
// When the library is loaded: the program may go elsewhere before it is described.
void remember_start_directory();

}  // namespace reprise::engine
