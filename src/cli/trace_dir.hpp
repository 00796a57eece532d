// Trace directories: where new ones are made and existing ones found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "cli/bundle.hpp"
#include "trace/manifest.hpp"

namespace reprise::cli {

inline constexpr const char* kTraceHome = "reprise.d";  // below the working directory

struct NewTrace {
  std::string path;  // as a user would type it
  std::string absolute;
  UniqueFd fd;
  bool in_home = false;       // below ./reprise.d, where `latest` points at it
  bool created = false;       // the directory did not exist before
  std::string latest_before;  // what `latest` pointed at; empty: nothing
};

// Makes a directory for a new trace: `wanted` if it is given (it must be empty or not exist yet), otherwise
// ./reprise.d/NAME-K with a K above all that are there. Throws UserError.
NewTrace make_trace_directory(const std::string& wanted, const std::string& name);
// Lets ./reprise.d/latest point at it, atomically. From the start of the run on: it may be looked at while it lasts.
void set_latest(const NewTrace& trace);
// Removes the directory again if nothing but our own empty files is in it; `latest` becomes what it was.
void discard(const NewTrace& trace);

struct OpenTrace {
  std::string path;   // as the user named it
  std::string files;  // where they are: elsewhere if it is a bundle
  std::optional<TemporaryDirectory> unpacked;
  UniqueFd fd;
  trace::Manifest manifest;
  std::vector<std::uint32_t> ranks;  // that have a log, ascending
};

// The trace that `argument` names (a directory, or a bundle), or the latest one if it is empty. Throws UserError.
OpenTrace open_trace(const std::string& argument);

std::vector<std::uint32_t> ranks_with_logs(int dir_fd);
std::vector<std::string> trace_files(int dir_fd);
// Bytes of all files in the directory.
std::uint64_t trace_size(int dir_fd);

}  // namespace reprise::cli
