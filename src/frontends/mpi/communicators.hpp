// Communicators by number and by name.
//
// The number counts the communicators of this rank in the order in which they were made; the log's arguments use it.
// The name (uid) is computed alike by all members without communication: a digest of the parent's name, the creating
// call, the members' world ranks, and how many communicators with just these this rank has made before. All members of
// the new communicator took part in the same ones in the same order, so they count alike, also when other ranks of the
// parent made others in between (MPI_Comm_create_group).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "frontends/mpi/library.hpp"

namespace reprise::mpi {

class Communicators {
 public:
  // Numbers MPI_COMM_WORLD and MPI_COMM_SELF. After MPI_Init.
  void begin();

  // engine::kNoComm for a communicator that was never seen made. entry.hpp keeps the last answer per thread.
  std::int64_t number(MPI_Comm comm);

  // Its name; 0 for one that was never seen made.
  std::uint64_t uid(MPI_Comm comm);

  // The handle of a communicator that is alive.
  std::optional<MPI_Comm> handle(std::int64_t number) const;

  // A communicator was made by `how` from `parent`. `same_members`: its group may not be asked yet (MPI_Comm_idup),
  // but is known to be the parent's.
  void made(MPI_Comm comm, MPI_Comm parent, const char* how, bool same_members);
  void freed(MPI_Comm comm);

  // World ranks, of an intercommunicator those of this side.
  std::vector<int> local_members(std::int64_t number) const;
  // The world rank of a member (of the remote group, for an intercommunicator); -1 if unknown.
  int world_rank(std::int64_t number, int rank) const;

 private:
  struct Communicator {
    std::uint64_t key = 0;
    MPI_Comm handle{};
    std::uint64_t uid = 0;
    std::vector<int> members;  // world ranks; of an intercommunicator, the local group's first
    std::size_t local_size = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> made_before;  // digest of (call, members) -> how many
  };

  void check_against_log(const std::uint64_t* uid) const;
  void add(Communicator comm, std::int64_t parent, const char* how, std::uint64_t counter, int my_rank);

  std::vector<Communicator> all_;
  std::unordered_map<std::uint64_t, std::int64_t> alive_;  // handle -> number
};

// Never destroyed: the program may call MPI from its own exit handlers.
inline Communicators* g_communicators = nullptr;
Communicators& make_communicators();
inline Communicators& communicators() { return g_communicators ? *g_communicators : make_communicators(); }

}  // namespace reprise::mpi
