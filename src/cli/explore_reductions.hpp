// The options of `reprise explore` that make the space smaller, in the user's words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/explore_findings.hpp"
#include "cli/options.hpp"
#include "explore/guide.hpp"

namespace reprise::cli {

struct ReductionOptions {
  std::vector<std::string> focus;
  std::uint32_t loop_bound = 0;
  std::string mix;
  std::string symmetric;
  std::uint64_t random = 0;
  std::uint64_t seed = 1;
  std::string near;
};

void add_reduction_options(OptionParser& parser, ReductionOptions& options);

// Which source lines are in the focus. Asked by several workers.
class FocusedLines {
 public:
  struct Wanted {
    std::string file;  // or its end; empty: any
    int first = 0;
    int last = 0;
    std::string function;
  };
  FocusedLines(std::vector<Wanted> wanted, PlaceNamer& namer) : wanted_(std::move(wanted)), namer_(namer) {}
  bool covers(std::uint64_t site);

 private:
  std::vector<Wanted> wanted_;
  PlaceNamer& namer_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, bool> known_;
};

// Null if nothing is to be left out. `regions`: the program itself says what is to be explored.
std::unique_ptr<explore::Guide> make_guide(const ReductionOptions& options, int ranks, bool regions, PlaceNamer& namer);

// What was left out, in words; empty if nothing was.
std::string left_out_words(const ReductionOptions& options, const explore::Guide& guide);

}  // namespace reprise::cli
