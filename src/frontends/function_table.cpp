#include "frontends/function_table.hpp"

#include <algorithm>
#include <array>

namespace reprise::frontends {
namespace {

static_assert(mpi::kBlockingReceive == engine::kBlocking);

constexpr std::size_t kMpi = std::size(mpi::kFunctionNames);
constexpr std::size_t kAll = kMpi + std::size(sys::kFunctionNames);

constexpr auto kNames = [] {
  std::array<const char*, kAll> names{};
  std::copy(std::begin(sys::kFunctionNames), std::end(sys::kFunctionNames),
            std::copy(std::begin(mpi::kFunctionNames), std::end(mpi::kFunctionNames), names.begin()));
  return names;
}();

constexpr auto kFlags = [] {
  std::array<std::uint8_t, kAll> flags{};
  std::copy(std::begin(mpi::kFunctionFlags), std::end(mpi::kFunctionFlags), flags.begin());
  return flags;
}();

constexpr engine::FunctionTable kTable{kNames.data(), kFlags.data(), kAll, kMpi};

}  // namespace

const engine::FunctionTable& all_functions() { return kTable; }

}  // namespace reprise::frontends
