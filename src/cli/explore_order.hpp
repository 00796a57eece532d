// What makes an explored order the one it is: kept with its trace, so that it can be explored from there.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/trace_dir.hpp"
#include "explore/run.hpp"

namespace reprise::cli {

struct OrderFacts {
  std::vector<std::uint32_t> options;
  explore::Buffering buffering = explore::Buffering::Infinite;
  std::uint32_t poll_bound = 2;
  std::set<std::uint64_t> cancelled_sites;
  bool has_windows = false;             // no rank of it can be replayed without the others
  std::vector<std::string> categories;  // of what is wrong with it, the worst first
};

const char* buffering_name(explore::Buffering buffering);
explore::Buffering buffering_of(const std::string& name);

void write_order_facts(int dir_fd, const OrderFacts& facts);
// Throws UserError.
OrderFacts read_order_facts(const OpenTrace& trace);
// OrderFacts::has_windows; false where that was not written down.
bool has_windows(const OpenTrace& trace);

// How it was explored.
explore::RunOptions run_options_of(const OrderFacts& facts);
// Is this wrong with it? An assertion that fails is a crash until somebody reads what the program said.
bool shows(const explore::RunResult& result, const std::string& category);

}  // namespace reprise::cli
