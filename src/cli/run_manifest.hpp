// The manifest of a run that is about to begin, and what is known of it afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/manifest.hpp"

namespace reprise::cli {

trace::Manifest describe_run(const std::vector<std::string>& command, const std::string& mpi);
// This user has made it on this machine: it is replayed without a question.
void remember(const trace::Manifest& manifest);
std::string mpi_library_of(int dir_fd, std::uint64_t trace_id, std::uint32_t rank);

}  // namespace reprise::cli
