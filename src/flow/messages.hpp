// Messages: what was sent against what was received (MPI 4.0, 3.5: between two processes, messages with the same tag on
// the same communicator are received in the order in which they were sent, by receives in the order in which they were
// posted).
#pragma once

#include <deque>
#include <unordered_map>

#include "flow/verdict.hpp"

namespace reprise::flow {

class Messages {
 public:
  explicit Messages(Verdict& verdict) : verdict_(verdict) {}

  struct Sent {
    Part part;
    engine::DataPart digest;
    std::optional<std::uint64_t> post;
  };
  struct Received {
    Part part;
    Told told;
    engine::DataPart digest;
    bool overlaps = false;  // another receive of this rank had the same memory
    // What of its status is wrong whatever was sent.
    std::vector<std::pair<Violation::Kind, std::string>> wrong;
  };
  struct Channel {
    std::uint64_t comm = 0;
    std::uint32_t from = 0;  // world ranks
    std::uint32_t to = 0;
    int tag = 0;
    bool operator==(const Channel&) const = default;
  };

  void sent(const Channel& channel, Sent message, bool ordered);
  void received(const Channel& channel, Received message, bool ordered);
  // It was cancelled in time.
  void unsent(const Channel& channel, std::uint64_t post);
  // Nothing more comes. `cut_off`: logs of these ranks end too early.
  void finish(const std::vector<bool>& cut_off);

 private:
  struct Hash {
    std::size_t operator()(const Channel& channel) const {
      std::uint64_t mixed = channel.comm ^ (std::uint64_t{channel.from} << 40 | std::uint64_t{channel.to} << 20);
      mixed = (mixed ^ static_cast<std::uint32_t>(channel.tag)) * 0x9e3779b97f4a7c15ull;
      return mixed ^ mixed >> 29;
    }
  };
  struct Queue {
    std::deque<Sent> sent;
    std::deque<Received> received;
    bool unordered = false;
  };
  struct Orphan {
    Channel channel;
    Sent sent;
    Received received;
    bool is_sent = false;
  };

  void match(const Channel& channel, Queue& queue, bool finishing);
  void match_any(Queue& queue);
  bool is_same(const Sent& sent, const Received& received) const;
  void compare(const Sent& sent, const Received& received);
  void report(Violation violation);
  static int alike(const Orphan& one, const Orphan& other);
  void pair_orphans(const std::vector<bool>& cut_off);

  Verdict& verdict_;
  std::unordered_map<Channel, Queue, Hash> channels_;
  std::vector<Orphan> orphans_;
};

}  // namespace reprise::flow
