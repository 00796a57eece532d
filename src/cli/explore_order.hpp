// What makes an explored order the one it is: kept with its trace, so that it can be explored from there.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cli/trace_dir.hpp"
#include "explore/matcher.hpp"

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

}  // namespace reprise::cli
