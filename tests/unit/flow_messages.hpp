// Messages from one rank to another in made-up libraries, and who is blamed for the last one of them.
#pragma once

#include <gtest/gtest.h>

#include "flow/blame.hpp"
#include "flow_world.hpp"

namespace reprise::flow {

inline void expect(const Blame& blame, Blame::Kind kind, std::size_t hop, const char* site) {
  EXPECT_EQ(blame.kind, kind);
  EXPECT_EQ(blame.hop, hop);
  ASSERT_TRUE(blame.stage.site);
  EXPECT_EQ(*blame.stage.site, site);
}

// So many messages, of which the last one may go wrong, and what is found out about it.
class Messages {
 public:
  explicit Messages(std::uint32_t count, std::uint64_t bytes = 128) : count_(count), trail_(deliveries(count)), world_(bytes, &trail_) {}

  // How the library moves one of them, and what it does afterwards.
  template <class Move>
  void each(Move move) {
    each(move, [](World&) {});
  }
  template <class Move, class Then>
  void each(Move move, Then then) {
    for (std::uint32_t message = 1; message <= count_; ++message) {
      world_.begin_receive();
      world_.begin_send();
      move(world_, message == count_);
      world_.end_send();
      world_.end_receive();
      then(world_);
    }
  }
  const Journey& last() const { return *trail_.find(delivery(count_)); }
  Blame blame() const {
    std::vector<const Journey*> related;
    for (std::uint32_t message = 1; message < count_; ++message) related.push_back(trail_.find(delivery(message)));
    return find_blame(last(), related);
  }

 private:
  static Delivery delivery(std::uint32_t message) { return {0, message, 0, 1, message, 0}; }
  static std::set<Delivery> deliveries(std::uint32_t count) {
    std::set<Delivery> all;
    for (std::uint32_t message = 1; message <= count; ++message) all.insert(delivery(message));
    return all;
  }

  std::uint32_t count_;
  Trail trail_;
  World world_;
};

}  // namespace reprise::flow
