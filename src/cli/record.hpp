// A run that is recorded: for `reprise record` and for whoever wants a trace to look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::cli {

struct RecordOptions {
  std::string directory;
  std::string mpi;
  std::string data;            // whose values are recorded, too
  std::string fidelity;        // of one-sided communication: "sync" or "access"
  std::string mode;            // of MCAPI: "receiver" or "sender"
  std::string identify;        // of MCAPI: how messages are known
  std::uint64_t max_size = 0;  // bytes of data per thread; 0: no limit
  bool no_deadlocks = false;   // threads are not watched
  bool no_osc_rdma = false;    // of Open MPI: see doctor
  bool quiet = false;
  bool checks = false;  // what is wrong with the program's calls is noted
  bool movements = false;         // what the library moves meanwhile is followed, too
  bool no_flow_messages = false;  // of our own, for what cannot be followed without
  bool flow = false;    // what its calls give and take is followed
};

struct RecordedTrace {
  std::string path;  // empty: nothing was recorded
  int exit_status = 0;
};

// Throws UserError.
RecordedTrace record(const std::vector<std::string>& command, const RecordOptions& options);

}  // namespace reprise::cli
