// Collectives: what each member gave against what the others took. All members call them in the same order (MPI 4.0,
// 6.1 and 6.12), so the n-th of one member on a communicator belongs to the n-th of all others.
#pragma once

#include <unordered_map>

#include "flow/verdict.hpp"

namespace reprise::flow {

// What one member did in a collective.
struct Share {
  Part part;
  engine::DataPart given, taken, contribution, result, expected;
  std::optional<std::uint64_t> post;
  bool is_over = false;  // what it took is known
  bool failed = false;
  bool overlaps = false;  // another operation of this rank had the same memory
};

class Collectives {
 public:
  explicit Collectives(Verdict& verdict) : verdict_(verdict) {}

  // One more of this rank. How it is called from now on.
  struct Name {
    std::uint64_t comm = 0;
    std::uint64_t number = 0;
    bool operator==(const Name&) const = default;
  };
  Name begins(Share share);
  // `share` has what came since: what was taken, and the result.
  void ends(const Name& name, std::uint32_t rank, Share share);
  // `cut_off`: some logs end too early.
  void finish(bool cut_off);

 private:
  struct Hash {
    std::size_t operator()(const Name& name) const { return name.comm * 31 + name.number * 0x9e3779b97f4a7c15ull; }
  };
  struct Call {
    std::vector<int> members;  // world ranks, of an intercommunicator both sides'
    std::vector<Share> shares;  // of those that have come, by number in `members`
    std::size_t come = 0;
    std::size_t over = 0;
  };
  static std::size_t member(const Call& call, int world_rank);
  void look(const Name& name, Call& call);
  void compare(const Call& call, const Share& taker, std::size_t block, std::uint64_t offset);
  void reduce(const Call& call, const Share& taker);
  const std::vector<std::uint8_t>* expected_by(const Call& call, const Share& taker) const;
  void report(Violation violation);
  std::vector<Part> parts(const Call& call) const;
  std::string mismatch(const Call& call) const;

  Verdict& verdict_;
  std::unordered_map<std::uint64_t, std::unordered_map<std::uint32_t, std::uint64_t>> made_;  // comm -> rank -> how many
  std::unordered_map<Name, Call, Hash> calls_;
};

}  // namespace reprise::flow
