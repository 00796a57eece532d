// Operations with a request of their own, numbered in the order in which they become active.
//
// Whether MPI_Cancel came in time is known when the program cancels, but a replay needs it when the operation is
// posted: a receive that was cancelled must not get the message that another receive took in the recorded run. So the
// trace names cancelled operations by this number. MPI_Cancel only has a handle; both libraries use handles again, so
// the newest operation with that handle is the one meant. Recording and replaying count alike.
#pragma once

#include <cstdint>
#include <optional>

#include "frontends/mpi/library.hpp"

namespace reprise::mpi {

class Posts {
 public:
  enum class Kind : std::uint8_t {
    Ordinary,
    Generalised,  // the program completes it itself
    Idle,         // (replay) a request that never completes stands for it
  };
  struct Post {
    std::uint64_t number = 0;
    Kind kind = Kind::Ordinary;
  };

  std::uint64_t next() const { return count_; }
  void made(MPI_Request request, Kind kind) {
    recent_[count_++ % kRecent] = handle_key(request) << 2 | static_cast<std::uint64_t>(kind);
  }
  void failed() { recent_[count_++ % kRecent] = UINT64_MAX; }

  // The newest with this handle; none if it is older than the last kRecent operations.
  std::optional<Post> find(MPI_Request request) const {
    const std::uint64_t oldest = count_ > kRecent ? count_ - kRecent : 0;
    for (std::uint64_t at = count_; at-- > oldest;) {
      const std::uint64_t entry = recent_[at % kRecent];
      if (entry >> 2 == (handle_key(request) & UINT64_MAX >> 2)) return Post{at, static_cast<Kind>(entry & 3)};
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kRecent = 1u << 15;
  std::uint64_t recent_[kRecent] = {};
  std::uint64_t count_ = 0;
};
inline constinit Posts g_posts;

}  // namespace reprise::mpi
