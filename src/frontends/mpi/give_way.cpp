#include "frontends/mpi/give_way.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <time.h>

#include "engine/session.hpp"
#include "frontends/mpi/communicators.hpp"

namespace reprise::mpi {
namespace {

// How many ranks the launcher put on this node; all of them, if it does not say.
int ranks_here(int world_ranks) {
  for (const char* name : {"MPI_LOCALNRANKS", "PALS_LOCAL_SIZE"}) {
    const char* const text = std::getenv(name);
    int ranks = 0;
    if (text && std::from_chars(text, text + std::strlen(text), ranks).ec == std::errc() && ranks > 0) return ranks;
  }
  return world_ranks;
}

int cores_here() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// The largest tag (MPI standard, 9.1.2).
int largest_tag() {
  static int largest = -1;
  if (largest >= 0) return largest;
  int* value = nullptr;
  int flag = 0;
  resolve_function<int (*)(MPI_Comm, int, void*, int*)>(Function::Comm_get_attr)(handles().comm_world, MPI_TAG_UB,
                                                                                 &value, &flag);
  return largest = flag ? *value : 32767;
}

}  // namespace

void begin_giving_way(int world_ranks) {
  g_gives_way = std::strcmp(library_name(), "mpich") == 0 && Entry::replaying() && !engine::Session::get().solo() &&
                ranks_here(world_ranks) > cores_here();
  g_progress_gives_way = g_gives_way;
}

std::int64_t nanoseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool is_message(const Call& call, int peer, int tag) {
  return communicators().world_rank(call.values[engine::kComm], peer) >= 0 && (tag >= 0 || tag == MPI_ANY_TAG) &&
         tag <= largest_tag();
}

void give_way_for_message(Entry& entry, int source, int tag, MPI_Comm comm) {
  using Iprobe = int (*)(int, int, MPI_Comm, int*, MPI_Status*);
  const auto iprobe = entry.other<Iprobe>(Function::Iprobe);
  give_way_until([&](int* flag) { return iprobe(source, tag, comm, flag, MPI_STATUS_IGNORE); });
}

void give_way_for_requests(Entry& entry, int count, const MPI_Request* requests) {
  using GetStatus = int (*)(MPI_Request, int*, MPI_Status*);
  if (!requests) return;  // the call will say that it is wrong
  const auto is_complete = entry.other<GetStatus>(Function::Request_get_status);
  for (int i = 0; i < count; ++i)
    if (requests[i] != handles().request_null)
      give_way_until([&](int* flag) { return is_complete(requests[i], flag, MPI_STATUS_IGNORE); });
}

}  // namespace reprise::mpi
