#include "report/node_words.hpp"

#include <fmt/format.h>

#include "trace/format.hpp"

namespace reprise::report {
namespace {

constexpr unsigned kPortBits = 20;
constexpr unsigned kPriorityBits = 3;
constexpr std::uint32_t kByDigest = 1u << 20;
constexpr std::uint32_t kAnyPort = 1u << 19;  // in place of MCAPI_PORT_ANY, where the library does not say which it chose

std::string name(std::uint64_t domain, std::uint64_t node, std::uint64_t port) {
  const std::string place = port >= kAnyPort ? fmt::format("{}:any", node) : fmt::format("{}:{}", node, port);
  return domain == 0 ? place : fmt::format("{}:{}", domain, place);
}

}  // namespace

bool is_mcapi(std::string_view function) { return function.starts_with("mcapi_"); }

std::string endpoint_words(const engine::Arguments& values) {
  if (values[engine::kPeer] == 0 && values[engine::kTag] == 0) return "";
  return name(static_cast<std::uint64_t>(values[engine::kComm]), static_cast<std::uint64_t>(values[engine::kPeer]), static_cast<std::uint64_t>(values[engine::kTag]));
}

std::string origin_words(const engine::WildcardOutcome& outcome) {
  const std::uint32_t node = outcome.code - trace::kSourceBase;
  if (node == kByDigest) return "known by its bytes";
  if (node >> 20 == 2) return fmt::format("status {}", node & 0xfffff);
  if (node >> 20 == 3) return fmt::format("{} there", node & 0xfffff);
  const auto tag = static_cast<std::uint32_t>(outcome.tag);
  const std::uint32_t priority = tag >> kPortBits & ((1u << kPriorityBits) - 1);
  const std::string from = "from " + name(tag >> (kPortBits + kPriorityBits), node, tag & ((1u << kPortBits) - 1));
  return priority == 0 ? from : fmt::format("{}, priority {}", from, priority);
}

}  // namespace reprise::report
