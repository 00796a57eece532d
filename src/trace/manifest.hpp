// manifest.json: what was run and how it ended. Written incomplete at the start, rewritten at the end (atomically).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace reprise::trace {

struct Manifest {
  std::uint64_t trace_id = 0;  // random; every log of the trace repeats it
  std::string reprise_version;
  std::vector<std::string> command;  // launcher, its options, program, arguments: as given
  std::string working_directory;
  std::string mpi;          // "openmpi" or "mpich"
  std::string mpi_library;  // MPI_Get_library_version's first line, once known
  std::string host;
  std::string architecture;  // uname -m
  std::uint32_t user = 0;
  std::int64_t started = 0;  // seconds since 1970
  double seconds = 0;        // how long the run took
  std::uint32_t ranks = 0;   // 0 until the run has ended
  std::uint32_t logs = 0;    // of the ranks that came far enough to have one
  bool complete = false;     // the record command itself lived to the end of the run
  int exit_status = 0;       // as record ended (128+signal)
  bool explored = false;     // made by `explore`, in a world without a launcher, and replayed there
  std::string ended;         // in words, for people: "exit status 3", "SIGKILL of rank 2"
  // While the run lasts, these are files beside the manifest that many processes append to. When it is over they are
  // kept here, where the checksum covers them.
  std::string exits;  // how launchers saw their children end (analyze/run_end.hpp)
  std::string notes;  // what ranks had to say about the recording (cli/trace_notes.hpp)
};

Result<void> write_manifest(int dir_fd, const Manifest& manifest);
Result<Manifest> read_manifest(int dir_fd);
// A digest of the manifest's facts, for the registry of traces that this user recorded here (cli/registry).
std::string manifest_digest(const Manifest& manifest);

}  // namespace reprise::trace
