// reprise show --flow: how the MPI library really moves the bytes of a call.
#pragma once

#include <string>

#include "cli/trace_dir.hpp"

namespace reprise::cli {

// `call`: "RANK:CALL", as `check` counts calls; or "RANK", for a list of its calls, `limit` at most.
int show_flow(const OpenTrace& trace, const std::string& call, std::uint64_t limit, bool json);

}  // namespace reprise::cli
