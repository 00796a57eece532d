// The virtual world: communicators and groups of a rank whose MPI library knows of no other process.
//
// The process is a singleton for its MPI library, which does the local work: datatypes, packing, attributes, error
// handlers. A communicator of the program is *carried* by a real one with one member, a group by a real group, so that
// their handles can be stored, compared, given attributes and turned into Fortran's as usual. Who really is in them is
// written down here, by the handle's value. Nothing here knows MPI's types: a front end translates.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/spin.hpp"
#include "virtual/group.hpp"
#include "virtual/topology.hpp"

namespace reprise::virtual_world {

struct Communicator {
  Group local;
  std::optional<Group> remote;  // of an intercommunicator
  int rank = 0;                 // of this process, in the local group
  Topology topology;

  bool inter() const { return remote.has_value(); }
  // Whom a rank in an argument means: of an intercommunicator, a member of the remote group.
  const Group& peers() const { return remote ? *remote : local; }
};

// MPI_Comm_compare (7.4.1), apart from "it is the same one".
Likeness compare(const Communicator& one, const Communicator& other);

using Handle = std::uint64_t;

// Several threads may ask at once. What find() returns stays where it is until it is removed, which a valid program
// does not do while it uses it.
class World {
 public:
  void add(Handle carrier, Communicator communicator) {
    const Spin spin(&lock_);
    communicators_[carrier] = std::move(communicator);
  }
  void remove(Handle carrier) {
    const Spin spin(&lock_);
    communicators_.erase(carrier);
  }
  Communicator* find(Handle carrier) {
    const Spin spin(&lock_);
    const auto found = communicators_.find(carrier);
    return found == communicators_.end() ? nullptr : &found->second;
  }

  void add_group(Handle carrier, Group group) {
    const Spin spin(&lock_);
    groups_[carrier] = std::move(group);
  }
  void remove_group(Handle carrier) {
    const Spin spin(&lock_);
    groups_.erase(carrier);
  }
  const Group* find_group(Handle carrier) {
    const Spin spin(&lock_);
    const auto found = groups_.find(carrier);
    return found == groups_.end() ? nullptr : &found->second;
  }

 private:
  std::atomic_flag lock_;
  std::unordered_map<Handle, Communicator> communicators_;
  std::unordered_map<Handle, Group> groups_;
};

}  // namespace reprise::virtual_world
