#include "virtual/world.hpp"

#include <algorithm>

namespace reprise::virtual_world {

Likeness compare(const Communicator& one, const Communicator& other) {
  if (one.inter() != other.inter()) return Likeness::Unequal;
  const Likeness local = one.local.compared_with(other.local);
  if (!one.inter()) return local;
  return std::max(local, one.remote->compared_with(*other.remote));
}

}  // namespace reprise::virtual_world
