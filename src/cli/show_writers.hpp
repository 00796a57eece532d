// reprise show --writers: who wrote what ranks have seen in their windows.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/trace_dir.hpp"

namespace reprise::cli {

// `readers`: only what these saw. `limit`: of each rank, in a table.
int show_writers(const OpenTrace& trace, const std::vector<std::uint32_t>& readers, std::uint64_t limit, bool json);

}  // namespace reprise::cli
