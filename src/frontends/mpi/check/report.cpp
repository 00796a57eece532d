#include "frontends/mpi/check/report.hpp"

#include "base/site_text.hpp"
#include "base/spin.hpp"
#include "frontends/mpi/entry.hpp"

namespace reprise::mpi::check {

Where here() {
  return {-1, reinterpret_cast<std::uint64_t>(t_state.caller), static_cast<std::uint64_t>(t_state.function)};
}

std::string place_fields(const Where& where) {
  static LoadedModule room;
  static std::atomic_flag lock;
  const Spin spin(&lock);
  return std::string(kFunctionNames[where.function]) + '|' + site_text(where.site, room);
}

namespace {

Host g_host{};

}  // namespace

void set_host(const Host& host) { g_host = host; }
const Host& host() { return g_host; }

void report(Category category, const Where& where, const char* words, const Where& other) {
  if (g_host.report) g_host.report(category, where, words, other);
}

Category category_of_error(int error_class) {
  switch (error_class) {
    case MPI_ERR_TRUNCATE: return Category::Truncation;
    case MPI_ERR_BUFFER:
    case MPI_ERR_COUNT:
    case MPI_ERR_TYPE:
    case MPI_ERR_TAG:
    case MPI_ERR_COMM:
    case MPI_ERR_RANK:
    case MPI_ERR_REQUEST:
    case MPI_ERR_ROOT:
    case MPI_ERR_GROUP:
    case MPI_ERR_OP:
    case MPI_ERR_TOPOLOGY:
    case MPI_ERR_DIMS:
    case MPI_ERR_ARG:
    case MPI_ERR_KEYVAL:
    case MPI_ERR_INFO:
    case MPI_ERR_INFO_KEY:
    case MPI_ERR_INFO_VALUE:
    case MPI_ERR_INFO_NOKEY:
    case MPI_ERR_WIN:
    case MPI_ERR_DISP:
    case MPI_ERR_SIZE:
    case MPI_ERR_ASSERT:
    case MPI_ERR_LOCKTYPE:
    case MPI_ERR_FILE:
    case MPI_ERR_AMODE: return Category::InvalidArgument;
    default: return Category::MpiError;
  }
}

}  // namespace reprise::mpi::check
