// What happened before what, as far as it follows from what the ranks have heard of each other.
//
// Each rank counts what matters of its own, and knows how far the others had come when it heard of them. It is only kept
// for programs with windows: there it decides whether two accesses meet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace reprise::explore {

using Stamp = std::vector<std::uint32_t>;  // by rank

class Causality {
 public:
  bool on() const { return !clocks_.empty(); }
  void begin(std::size_t ranks) {
    if (!on()) clocks_.assign(ranks, Stamp(ranks, 0));
  }

  const Stamp& now(int rank) const { return clocks_[static_cast<std::size_t>(rank)]; }
  // Something of this rank is over: its number. Who hears of the rank from now on knows it.
  std::uint32_t tick(int rank) { return ++clocks_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(rank)]; }
  static bool knows(const Stamp& stamp, int rank, std::uint32_t number) {
    return number != 0 && stamp[static_cast<std::size_t>(rank)] >= number;
  }
  void hears(int rank, const Stamp& of) {
    Stamp& mine = clocks_[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < of.size(); ++i) mine[i] = std::max(mine[i], of[i]);
  }

  // Of what is sent, posted or entered by one rank and heard of by another. Numbers are the matcher's.
  enum class Of : std::uint8_t { Message, Receive, Member };
  void leave(Of what, int number, int rank) {
    if (on()) left_[key(what, number)] = now(rank);
  }
  void hears(int rank, Of what, int number) {
    if (!on()) return;
    if (const auto found = left_.find(key(what, number)); found != left_.end()) hears(rank, found->second);
  }

 private:
  static std::uint64_t key(Of what, int number) {
    return static_cast<std::uint64_t>(what) << 32 | static_cast<std::uint32_t>(number);
  }
  std::vector<Stamp> clocks_;
  std::unordered_map<std::uint64_t, Stamp> left_;
};

}  // namespace reprise::explore
