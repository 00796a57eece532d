#include "frontends/function_table.hpp"

#include <algorithm>
#include <array>

#include "function_ids.hpp"  // generated
#include "shmem_ids.hpp"     // the same

namespace reprise::frontends {
namespace {

static_assert(mpi::kBlockingReceive == engine::kBlocking && mpi::kPosts == engine::kPosts &&
              mpi::kUnordered == engine::kUnordered && mpi::kMakesCommunicator == engine::kMakesCommunicator);

constexpr std::size_t kMpi = std::size(mpi::kFunctionNames);
constexpr std::size_t kRead = kMpi + shmem::kFunctionCount;
constexpr std::size_t kSync = kRead + std::size(sys::kFunctionNames);
constexpr std::size_t kAll = kSync + std::size(threads::kFunctionNames);

static_assert(kAll <= engine::kEventFunction);

constexpr auto kNames = [] {
  std::array<const char*, kAll> names{};
  auto at = std::copy(std::begin(mpi::kFunctionNames), std::end(mpi::kFunctionNames), names.begin());
  at = std::copy_n(shmem::kFunctionNames, shmem::kFunctionCount, at);
  at = std::copy(std::begin(sys::kFunctionNames), std::end(sys::kFunctionNames), at);
  std::copy(std::begin(threads::kFunctionNames), std::end(threads::kFunctionNames), at);
  return names;
}();

constexpr auto kFlags = [] {
  std::array<std::uint8_t, kAll> flags{};
  const auto at = std::copy(std::begin(mpi::kFunctionFlags), std::end(mpi::kFunctionFlags), flags.begin());
  // Calls of OpenSHMEM by several threads have no order: who waits in one must not keep the others from theirs.
  std::fill_n(at, shmem::kFunctionCount, engine::kUnordered);
  return flags;
}();

constexpr engine::FunctionTable kTable{kNames.data(), kFlags.data(), kAll, kRead, kSync};

}  // namespace

constinit const engine::FunctionId kFirstOfShmem = static_cast<engine::FunctionId>(kMpi);
constinit const engine::FunctionId kFirstOfSystem = static_cast<engine::FunctionId>(kRead);

const engine::FunctionTable& all_functions() { return kTable; }

}  // namespace reprise::frontends
