// The table of the preload library for MCAPI: its functions, the system's, and those of threads.
#include "frontends/function_table.hpp"

#include <algorithm>
#include <array>

#include "frontends/mcapi/functions.hpp"

namespace reprise::frontends {
namespace {

constexpr std::size_t kRead = std::size(mcapi::kFunctionNames);
constexpr std::size_t kSync = kRead + std::size(sys::kFunctionNames);
constexpr std::size_t kAll = kSync + std::size(threads::kFunctionNames);

constexpr auto kNames = [] {
  std::array<const char*, kAll> names{};
  auto at = std::copy(std::begin(mcapi::kFunctionNames), std::end(mcapi::kFunctionNames), names.begin());
  at = std::copy(std::begin(sys::kFunctionNames), std::end(sys::kFunctionNames), at);
  std::copy(std::begin(threads::kFunctionNames), std::end(threads::kFunctionNames), at);
  return names;
}();

// Nodes that are threads have no order among their calls but what messages give them.
constexpr auto kFlags = [] {
  std::array<std::uint8_t, kAll> flags{};
  std::fill_n(flags.begin(), kRead, engine::kUnordered);
  flags[static_cast<std::size_t>(mcapi::Function::msg_recv)] |= engine::kBlocking;
  return flags;
}();

constexpr engine::FunctionTable kTable{kNames.data(), kFlags.data(), kAll, kRead, kSync};

}  // namespace

constinit const engine::FunctionId kFirstOfShmem = static_cast<engine::FunctionId>(kRead);  // there are none
constinit const engine::FunctionId kFirstOfSystem = static_cast<engine::FunctionId>(kRead);

const engine::FunctionTable& all_functions() { return kTable; }

}  // namespace reprise::frontends
