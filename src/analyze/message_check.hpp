// Both sides of a run's messages and collectives against each other: what lint can say only when it knows all ranks.
#pragma once

#include <string>
#include <vector>

#include "analyze/message_log.hpp"
#include "engine/category.hpp"

namespace reprise::analyze {

struct MessageFinding {
  struct Place {
    std::uint32_t rank = 0;
    const std::string* fields = nullptr;  // MessageLog::places
  };
  engine::Category category = engine::Category::TypeMismatch;
  std::string words;
  std::vector<Place> places;  // who expects it, and who gives it
};

// `is_whole`: every rank has come to its end, so what is left over will never be received. Each pair of places once.
std::vector<MessageFinding> check_messages(const std::vector<MessageLog>& ranks, bool is_whole);

}  // namespace reprise::analyze
