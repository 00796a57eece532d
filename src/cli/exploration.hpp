// All orders of one program: the search in every kind of buffering that was asked for, what it finds, and the failing
// orders that are kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/choose_mpi.hpp"
#include "cli/explore_findings.hpp"
#include "cli/explore_reductions.hpp"
#include "cli/explore_resume.hpp"
#include "cli/explore_save.hpp"
#include "cli/explore_troupe.hpp"
#include "cli/ignored_categories.hpp"
#include "explore/search.hpp"

namespace reprise::cli {

struct ExplorationOptions {
  int ranks = 0;
  std::string mpi;
  std::string buffering = "both";
  std::uint32_t poll_bound = 2;
  std::uint64_t max_orders = 0;
  double max_seconds = 0;
  double step_seconds = 10;
  int workers = 0;
  bool json = false;
  bool quiet = false;
  std::string list;
  bool list_output = false;
  bool no_save = false;
  bool private_files = false;
  std::uint64_t keep = 0;
  std::string directory;
  ReductionOptions reductions;
  std::vector<std::string> ignored;
  std::string sarif;
  std::string junit;
};

class Exploration {
 public:
  // `resumed`: what an earlier search has left, or nothing. Throws UserError, as run() does.
  Exploration(const ExplorationOptions& options, const std::vector<std::string>& command, SavedSearch resumed);

  // Prints the result; returns the exit status.
  int run();

 private:
  struct ModeResult {
    explore::Buffering buffering;
    explore::Totals totals;
    std::string left_out;  // in words
    std::vector<std::vector<std::uint32_t>> left;
  };

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count(); }
  // False: the program cancels receives that were thought to be settled, or says what is to be explored. With this
  // knowledge the search begins anew.
  bool explore(explore::Buffering buffering);
  void show_progress(const explore::Totals& totals, explore::Buffering buffering) const;
  void look_for_early_reads();
  void save();
  // What a limit has left, so that the search can go on from there.
  void save_rest(OrderKeeper& keeper);
  explore::RunOptions run_options(explore::Buffering buffering) const;
  int report();

  ExplorationOptions options_;
  IgnoredCategories ignored_;
  std::vector<std::string> command_;
  ChosenMpi mpi_;
  Troupe troupe_;
  Findings findings_;
  std::optional<PlaceNamer> namer_;
  std::ofstream list_;
  std::set<std::uint64_t> cancelled_sites_;
  bool regions_ = false;           // the program says what is to be explored
  std::optional<Finding> wanted_;  // an order that is kept although nothing is wrong with it
  std::chrono::steady_clock::time_point started_;
  std::vector<ModeResult> results_;
  std::uint64_t before_ = 0;
  SavedSearch resumed_;
  std::string rest_;  // a directory: what is left of the search
  std::string trouble_;
  bool interrupted_ = false;
};

}  // namespace reprise::cli
