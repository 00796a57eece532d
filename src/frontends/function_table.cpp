#include "frontends/function_table.hpp"

#include <algorithm>
#include <array>

#include "function_ids.hpp"  // generated

namespace reprise::frontends {
namespace {

static_assert(mpi::kBlockingReceive == engine::kBlocking && mpi::kPosts == engine::kPosts &&
              mpi::kUnordered == engine::kUnordered && mpi::kMakesCommunicator == engine::kMakesCommunicator);

constexpr std::size_t kMpi = std::size(mpi::kFunctionNames);
constexpr std::size_t kAll = kMpi + std::size(sys::kFunctionNames) + std::size(threads::kFunctionNames);

constexpr auto kNames = [] {
  std::array<const char*, kAll> names{};
  auto at = std::copy(std::begin(mpi::kFunctionNames), std::end(mpi::kFunctionNames), names.begin());
  at = std::copy(std::begin(sys::kFunctionNames), std::end(sys::kFunctionNames), at);
  std::copy(std::begin(threads::kFunctionNames), std::end(threads::kFunctionNames), at);
  return names;
}();

constexpr auto kFlags = [] {
  std::array<std::uint8_t, kAll> flags{};
  std::copy(std::begin(mpi::kFunctionFlags), std::end(mpi::kFunctionFlags), flags.begin());
  return flags;
}();

constexpr engine::FunctionTable kTable{kNames.data(), kFlags.data(), kAll, kMpi, kMpi + std::size(sys::kFunctionNames)};

}  // namespace

constinit const engine::FunctionId kFirstOfSystem = static_cast<engine::FunctionId>(kMpi);

const engine::FunctionTable& all_functions() { return kTable; }

}  // namespace reprise::frontends
