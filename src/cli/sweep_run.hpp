// One run of the sweep program (share/sweep) under the checker: what went wrong in which case.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/check_reproducers.hpp"
#include "cli/sweep_settings.hpp"

namespace reprise::cli {

struct SweepPlan {
  std::vector<std::string> launcher;  // mpirun and the user's options
  std::string directory;              // of what is kept: the compiled program is here
  std::string shown;                  // the same, as a user would type it
  std::uint64_t seed = 1;
  std::string only;  // families
  int limit = 20;    // seconds, for one case
};

// A case that went wrong.
struct Incident {
  std::optional<std::int64_t> number;  // of the case; not known of a datatype that no call is blamed for
  std::string kind;                    // "bcast/persistent"
  std::string text;                    // "MPI_Bcast on MPI_COMM_WORLD of 4, root 1, count 3, vector"
  std::string mistake;                 // "other bytes", "hang"
  std::string words;                   // what exactly
  bool fatal = false;                  // the run ended there
  bool by_checker = false;
  bool by_program = false;  // the sweep itself is to blame
  std::string source;       // of a stand-alone program that shows it
};

struct SweepRun {
  std::uint64_t cases = 0;
  std::uint64_t intentions = 0;
  std::int64_t last = -1;  // number of the last case
  bool complete = false;
  std::string why;  // if no case was begun, or nothing could be checked
  std::vector<Incident> incidents;
};

// Environment and launcher in front of the program and its arguments.
std::vector<std::string> sweep_command_line(const SweepPlan& plan, const SweepSetting& setting, int ranks,
                                            const std::vector<std::string>& arguments);
// What chooses the cases of the setting.
std::vector<std::string> sweep_choice(const SweepPlan& plan, const SweepSetting& setting);

// From this case on, so many, but none of the kinds in `without`. For what the checker has found, stand-alone programs are made and
// tried, if `wants` says so of one of the incidents: that takes its time.
SweepRun run_sweep(const SweepPlan& plan, const SweepSetting& setting, int ranks, std::int64_t from, std::uint64_t cases,
                   const std::string& without, const std::function<bool(const Incident&)>& wants);

}  // namespace reprise::cli
