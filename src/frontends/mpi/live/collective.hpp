// A collective of an explored rank.
//
// Every member lays down what it contributes, in one or more blocks, where all can read it. When those have come whose
// contributions it needs, it takes their blocks and, if it is a reduction, combines them itself, in the order of ranks.
// Where the explorer knows no buffering it waits for all members; that is not decided here.
#pragma once

#include <vector>

#include "frontends/mpi/live/live.hpp"

namespace reprise::mpi::live {

class Collective {
 public:
  using Region = live::Region;

  // `function`: by which members recognise each other; the same for both widths of counts.
  Collective(Function function, MPI_Comm comm);

  // -- what it is: called once per start (describe.hpp) --

  static Region region(const void* buffer, MPI_Count count, MPI_Datatype type) { return live::region(buffer, count, type); }
  // Element `place` of a buffer.
  static const void* at(const void* buffer, MPI_Count place, MPI_Datatype type) {
    return static_cast<const char*>(buffer) + place * layout_of(type)->extent;
  }
  static void* at(void* buffer, MPI_Count place, MPI_Datatype type) {
    return static_cast<char*>(buffer) + place * layout_of(type)->extent;
  }

  int size() const { return static_cast<int>(peers_.size()); }  // blocks, if there is one per peer
  int me() const { return members_->rank; }
  int local_size() const { return members_->local.size(); }
  bool is_grid() const { return std::holds_alternative<virtual_world::Cartesian>(members_->topology); }
  bool inter() const { return members_->inter(); }
  // Rooted ones: am I the root; do I get anything from it; am I one of those it is about?
  bool is_root(int root) const { return root == MPI_ROOT || (!inter() && root == me()); }
  bool is_served(int root) const { return root >= 0 && (inter() || root != me()); }
  bool takes_part(int root) const { return root != MPI_PROC_NULL; }

  // All members must agree on it.
  void agrees_on(std::uint64_t value) { signature_ = signature_ * 0x9e3779b97f4a7c15ull + value + 1; }
  void agrees_on_root(int root);
  void agrees_on_operation(MPI_Op op);

  // One more block of what this rank gives.
  void gives(const Region& from) { gives_.push_back(from); }
  void gives(const void* buffer, MPI_Count count, MPI_Datatype type) { gives(region(buffer, count, type)); }
  // Block `block` of a peer goes there.
  void takes(int peer, std::size_t block, const Region& to);
  // The same for the `occurrence`-th of the blocks that the peer gives to this rank (gives_to).
  void takes_edge(int peer, std::size_t occurrence, const Region& to);
  void gives_to(int peer, const Region& from) {
    destinations_.push_back(peer);
    gives(from);
  }
  // What is there already, and stays.
  void keeps(const Region&) {}
  // How many ranks need what this one gives.
  void is_read_by(int ranks) { readers_ = ranks; }
  void is_read_by_all() { readers_ = static_cast<int>(all_.size()); }
  // Nothing of it, but it must have come.
  void waits_for(int peer);
  void waits_for_all();
  void combines_prefixes() {}
  // The blocks 0 of these peers, of `all` elements each, combined, go there; of each only `count` from `first` on.
  void combines(std::vector<int> peers, MPI_Count all, MPI_Count first, MPI_Count count, MPI_Datatype type, MPI_Op op,
                void* to);

  std::pair<int, int> edges() const;  // of the topology: how many come in and go out
  // Neighbours: edge i comes from this peer and carries that block of it; edge i goes to this peer.
  std::vector<std::pair<int, std::size_t>> incoming(bool same_block) const;
  std::vector<int> outgoing() const;

  // -- its life --

  // `for_long`: the program goes on meanwhile.
  OperationId begin(bool for_long);
  int finish(const std::vector<std::uint64_t>& contributions);
  MPI_Comm comm() const { return comm_; }

 private:
  struct Taken {
    int peer;
    std::size_t block;
    Region to;
    bool by_edge;
  };
  struct Combined {
    std::vector<int> peers;
    std::uint64_t all;
    MPI_Count first;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
    void* to;
  };
  void compare(int peer, const Label& label, std::uint64_t given, const Region& expected);
  int combine(const Combined& wanted, const std::vector<std::uint64_t>& by_peer);

  Function function_;
  MPI_Comm comm_;
  const Communicator* members_;
  std::vector<int> peers_;  // world ranks, of those that blocks come from and go to
  std::vector<int> all_;    // world ranks of all members, the same everywhere
  check::Where posted_;
  std::unique_ptr<check::Lent> lent_;
  bool for_long_ = false;
  std::uint64_t signature_ = 0;
  int root_ = -1;
  std::vector<Region> gives_;
  std::vector<int> destinations_;  // of these, if they are given along edges
  int readers_ = 0;
  std::vector<Taken> takes_;
  std::vector<Combined> combines_;
  std::vector<int> needs_;  // world ranks
};

using Describe = std::function<void(Collective&)>;
int run_collective(Function function, MPI_Comm comm, const Describe& describe);
int post_collective(Function function, MPI_Comm comm, const Describe& describe, MPI_Request* handle);
int init_collective(Function function, MPI_Comm comm, Describe describe, MPI_Request* handle);

// Everybody's bytes to everybody, by member. For what makes communicators.
std::vector<std::vector<std::uint8_t>> exchange(Function function, std::uint64_t comm, const std::vector<int>& members,
                                                std::span<const std::uint8_t> mine);
// A part in a collective that brings nothing.
void enter_without_needs(Function function, std::uint64_t comm, const std::vector<int>& members);
// For what is made by the members of a communicator: the same for all of them, and another one every time.
std::uint64_t next_uid(MPI_Comm comm);
// World ranks of all members of a communicator, in the same order for each of them.
std::vector<int> all_members(const Communicator& communicator);

}  // namespace reprise::mpi::live
