// A bundle: some ranks of a trace in one file, for a colleague.
//
// It is unpacked into a directory of its own while it is used, which is removed afterwards. What it may contain is what
// a trace directory contains, by name; a bundle may come from a stranger (docs/trace-format.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/temporary_directory.hpp"

namespace reprise::cli {

// Writes the files of these ranks, and those of the whole run. Throws UserError; never overwrites. Its size in bytes.
std::uint64_t write_bundle(int dir_fd, const std::vector<std::uint32_t>& ranks, const std::string& path);

bool is_bundle(const std::string& path);
// Throws UserError if anything about it is wrong.
TemporaryDirectory unpack_bundle(const std::string& path);

}  // namespace reprise::cli
