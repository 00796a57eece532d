#include "report/node_words.hpp"

#include <fmt/format.h>

#include "trace/format.hpp"
#include "trace/node_lane.hpp"

namespace reprise::report {
namespace {

using trace::kPortBits, trace::kPriorityBits;

std::string name(std::uint64_t domain, std::uint64_t node, std::uint64_t port) {
  const std::string place = port >= trace::kAnyPort ? fmt::format("{}:any", node) : fmt::format("{}:{}", node, port);
  return domain == 0 ? place : fmt::format("{}:{}", domain, place);
}

}  // namespace

bool is_mcapi(std::string_view function) { return function.starts_with("mcapi_"); }

std::string endpoint_words(const engine::Arguments& values) {
  if (values[engine::kPeer] == 0 && values[engine::kTag] == 0) return "";
  return name(static_cast<std::uint64_t>(values[engine::kComm]), static_cast<std::uint64_t>(values[engine::kPeer]), static_cast<std::uint64_t>(values[engine::kTag]));
}

std::string origin_words(const engine::WildcardOutcome& outcome) {
  const std::uint32_t source = outcome.code - trace::kSourceBase;
  const std::uint32_t node = trace::value_of_lane(source);
  switch (trace::kind_of_lane(source)) {
    case trace::LaneKind::Sender: break;
    case trace::LaneKind::Digest: return "known by its bytes";
    case trace::LaneKind::Status: return fmt::format("status {}", node);
    case trace::LaneKind::Count: return fmt::format("{} there", node);
  }
  const auto tag = static_cast<std::uint32_t>(outcome.tag);
  const std::uint32_t priority = tag >> kPortBits & ((1u << kPriorityBits) - 1);
  const std::string from = "from " + name(tag >> (kPortBits + kPriorityBits), node, tag & ((1u << kPortBits) - 1));
  return priority == 0 ? from : fmt::format("{}, priority {}", from, priority);
}

}  // namespace reprise::report
