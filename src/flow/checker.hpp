// Intentions against what became of them: reads the logs of all ranks, a little of each at a time, and forgets what has
// been compared.
#pragma once

#include <set>

#include "flow/collectives.hpp"
#include "flow/messages.hpp"
#include "flow/verdict.hpp"

namespace reprise::flow {

class Checker {
 public:
  explicit Checker(std::uint32_t ranks) : ranks_(ranks), messages_(verdict_), collectives_(verdict_) {}

  void add(std::uint32_t rank, Event event);
  // `cut_off`: these logs end before their ranks did.
  Verdict finish(const std::vector<bool>& cut_off);

 private:
  // A receive in the order of posts: who is heard is known when it is complete, but its place among others counts.
  struct Posted {
    std::uint64_t id = 0;
    int source = -1;
    int tag = -1;
    bool is_known = false;
    bool is_dropped = false;  // cancelled, or failed
    Messages::Channel channel;
    Messages::Received received;
  };
  // What is under way.
  struct Open {
    Part part;
    std::uint64_t address = 0;
    std::optional<Collectives::Name> collective;
    std::uint64_t receive = 0;  // Posted::id; 0: it is none
    bool overlaps = false;
  };
  struct Rank {
    std::uint64_t calls = 0;
    std::uint64_t receives = 0;
    bool ordered = true;
    std::unordered_map<std::uint64_t, Open> open;                     // by post
    std::unordered_map<std::uint64_t, std::deque<Posted>> posted;     // by communicator
    std::deque<Part> accesses;        // to windows: the last ones
    std::uint64_t accesses_before = 0;  // that are not there any more
    Part last;                                                        // what a remark is about
    std::optional<std::uint64_t> last_post;
  };

  void begin(std::uint32_t rank, Event& event);
  void whole(std::uint32_t rank, Event& event);
  void end(std::uint32_t rank, Event& event);
  void remark(std::uint32_t rank, const Event& event);
  void accumulated(std::uint32_t rank, const Event& event);
  void resolve_accesses();
  void send(std::uint32_t rank, const Part& part, const Event& event, std::optional<std::uint64_t> post);
  std::uint64_t post_receive(Rank& state, const Part& part);
  void hear(std::uint32_t rank, const LoggedShape& posted, std::uint64_t id, const Part& part, Event& event, bool overlaps);
  void drain(std::uint32_t rank, std::deque<Posted>& queue, bool all);
  bool overlaps(Rank& state, const LoggedShape& shape, std::uint64_t address);
  Messages::Channel channel_to(std::uint32_t rank, const LoggedShape& shape) const;

  // Something wrong with an access of another rank, whose log may not have been read that far.
  struct WrongAccess {
    std::uint32_t target = 0;
    std::uint32_t origin = 0;
    std::uint64_t access = 0;
    Violation::Kind kind = Violation::Kind::Bytes;
    std::string words;
  };

  std::vector<Rank> ranks_;
  std::vector<WrongAccess> wrong_accesses_;
  Verdict verdict_;
  Messages messages_;
  Collectives collectives_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> changed_;  // sends whose buffers the program has changed: rank, post
};

}  // namespace reprise::flow
