// Ranks with a made-up library between them, for what follows bytes.
#pragma once

#include <set>
#include <string>

#include "flow/tracker.hpp"

namespace reprise::flow {

using trace::IntentionForm;
using trace::IntentionRecord;

inline constexpr std::uint64_t kGiven = 0x10000, kTaken = 0x20000, kShared = 0x70000, kSharedWithOthers = 0x80000, kOther = 0x40000;

// Messages of `bytes` bytes from rank 0 to rank 1, or broadcasts from rank 0.
class World {
 public:
  explicit World(std::uint64_t bytes, HopWatcher* watcher = nullptr, std::uint32_t ranks = 2) : tracker(ranks), bytes_(bytes), posts_(ranks) {
    tracker.tell(watcher);
    type_.tree.made = engine::TypeTree::Made::Named;
    type_.tree.name = "MPI_BYTE";
    type_.tree.size = 1;
    type_.tree.extent = 1;
    type_.flat = engine::flatten(type_.tree, 10);
    group_.uid = 1;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) group_.local.push_back(static_cast<int>(rank));
    place_ = "MPI_Send|||";
    send_.form = IntentionForm::Send;
    send_.dest = 1;
    send_.gives = {{0, bytes, &type_}};
    receive_.form = IntentionForm::Receive;
    receive_.source = 0;
    receive_.takes = {{0, bytes, &type_, 0}};
    root_.gives = send_.gives;
    member_.takes = receive_.takes;
    for (LoggedShape* const shape : {&send_, &receive_, &root_, &member_}) {
      shape->place = &place_;
      shape->group = &group_;
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Event process;
      process.kind = IntentionRecord::Process;
      process.movement.process = 100 + rank;
      tracker.add(rank, process);
      Event mapped;
      mapped.kind = IntentionRecord::Mapped;
      mapped.movement.bytes = 0x1000;
      mapped.movement.device = 3;
      for (const std::uint64_t segment : {kShared, kSharedWithOthers}) {
        mapped.movement.to = segment + rank * 0x1000;  // at another address in each
        mapped.movement.file = segment;
        tracker.add(rank, mapped);
      }
    }
  }

  void begin_broadcast() {
    begin(0, root_, kGiven, 0);
    for (std::uint32_t rank = 1; rank < posts_.size(); ++rank) begin(rank, member_, 0, kTaken);
  }
  void end_broadcast(std::uint32_t rank) { end(rank, {}); }
  void begin_send() { begin(0, send_, kGiven, 0); }
  void begin_receive() { begin(1, receive_, 0, kTaken); }
  void end_send() { end(0, {}); }
  void end_receive() { end(1, {0, 0, 0, bytes_, false}); }
  void move(std::uint32_t rank, std::uint64_t to, std::uint64_t from, std::uint64_t bytes, const char* function) {
    Event event;
    event.kind = IntentionRecord::Copied;
    event.movement.site = &*sites_.insert(function).first;
    event.movement.to = to;
    event.movement.from = from;
    event.movement.bytes = bytes;
    tracker.add(rank, event);
  }
  Event transfer(IntentionRecord kind, std::uint64_t at, std::uint64_t offset, std::uint64_t bytes, const std::string& stream) {
    Event event;
    event.kind = kind;
    event.movement.site = &*sites_.insert("socket").first;
    event.movement.to = event.movement.from = at;
    event.movement.bytes = bytes;
    event.movement.offset = offset;
    event.movement.stream = &*sites_.insert(stream).first;
    return event;
  }
  // From memory of another rank.
  void pull(std::uint32_t rank, std::uint64_t to, std::uint32_t owner, std::uint64_t from, std::uint64_t bytes) {
    Event event = transfer(IntentionRecord::Pulled, to, 0, bytes, "");
    event.movement.site = &*sites_.insert("pull").first;
    event.movement.from = from;
    event.movement.process = 100 + owner;
    tracker.add(rank, event);
  }
  std::uint64_t followed() const { return tracker.followed().empty() ? 0 : tracker.followed().begin()->second.followed; }

  Tracker tracker;

 private:
  void begin(std::uint32_t rank, const LoggedShape& shape, std::uint64_t given, std::uint64_t taken) {
    Event event;
    event.kind = IntentionRecord::Begin;
    event.shape = &shape;
    event.post = posts_[rank];
    event.given_from = given;
    event.address = taken;
    tracker.add(rank, event);
  }
  void end(std::uint32_t rank, const Told& told) {
    Event event;
    event.kind = IntentionRecord::End;
    event.post = posts_[rank]++;
    event.told = told;
    tracker.add(rank, event);
  }

  std::uint64_t bytes_;
  LoggedType type_;
  LoggedGroup group_;
  std::string place_;
  LoggedShape send_, receive_, root_, member_;
  inline static std::set<std::string> sites_;  // what is found points into it
  std::vector<std::uint64_t> posts_;
};

}  // namespace reprise::flow
