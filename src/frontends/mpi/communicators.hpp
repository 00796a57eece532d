// Communicators by number and by name.
//
// The number counts the communicators of this rank in the order in which they were made; the log's arguments use it.
// The name (uid) is computed alike by all members without communication: a digest of the parent's name, the creating
// call, the members' world ranks, and how many communicators with just these this rank has made before. All members of
// the new communicator took part in the same ones in the same order, so they count alike, also when other ranks of the
// parent made others in between (MPI_Comm_create_group).
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "frontends/mpi/library.hpp"

namespace reprise::mpi {

class Communicators {
 public:
  // Numbers MPI_COMM_WORLD and MPI_COMM_SELF. After MPI_Init.
  void begin();

  // engine::kNoComm for a communicator that was never seen made. Most calls use the communicator of the call before.
  std::int64_t number(MPI_Comm comm) {
    static thread_local struct {
      std::uint64_t key = UINT64_MAX;
      std::int64_t number = 0;
      std::uint32_t generation = 0;
    } last;
    const std::uint64_t key = handle_key(comm);
    const std::uint32_t generation = generation_.load(std::memory_order_relaxed);
    if (last.key != key || last.generation != generation) [[unlikely]] last = {key, look_up(key), generation};
    return last.number;
  }

  // A communicator was made by `how` from `parent`. `same_members`: its group may not be asked yet (MPI_Comm_idup),
  // but is known to be the parent's.
  void made(MPI_Comm comm, MPI_Comm parent, const char* how, bool same_members);
  void freed(MPI_Comm comm);

  // The world rank of a member (of the remote group, for an intercommunicator); -1 if unknown.
  int world_rank(std::int64_t number, int rank) const;

 private:
  struct Communicator {
    std::uint64_t key = 0;
    std::uint64_t uid = 0;
    std::vector<int> members;  // world ranks; of an intercommunicator, the local group's first
    std::size_t local_size = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> made_before;  // digest of (call, members) -> how many
  };

  std::int64_t look_up(std::uint64_t key);
  void add(Communicator comm, std::int64_t parent, const char* how, std::uint64_t counter, int my_rank);

  std::vector<Communicator> all_;
  std::unordered_map<std::uint64_t, std::int64_t> alive_;  // handle -> number
  std::atomic<std::uint32_t> generation_{1};               // changes when handles come and go
};

Communicators& communicators();

}  // namespace reprise::mpi
