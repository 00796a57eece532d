#include "virtual/actor.hpp"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/baton.hpp"

namespace reprise::virtual_world {

namespace {

constexpr std::size_t kRoomForQuestion = 64;

// The explorer says so, and ends: it is no failure of the program.
[[noreturn]] void refuse(Stage* stage, const char* why) {
  std::snprintf(stage->refusal, sizeof stage->refusal, "%s", why);
  _exit(125);
}

}  // namespace

Stage* Actor::open(const char* path) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  Stage head;
  void* mapped = MAP_FAILED;
  if (pread(fd, &head, sizeof head, 0) == static_cast<ssize_t>(sizeof head) && head.magic == kStageMagic &&
      head.ranks >= 1 && head.ranks <= kMostRanks)
    mapped = mmap(nullptr, stage_size(static_cast<int>(head.ranks)), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  fd, 0);
  close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<Stage*>(mapped);
}

void Actor::write(Act act, std::initializer_list<std::uint64_t> words, std::span<const std::uint64_t> more,
                  std::span<const std::uint64_t> rest) {
  const std::size_t count = words.size() + more.size() + rest.size();
  if (count + 1 + kRoomForQuestion > kScriptWords)
    refuse(stage_, "a call has more requests or members than can be explored");
  if (written_ + count + 1 + kRoomForQuestion > kScriptWords) {
    std::uint64_t* const to = script_of(stage_, rank_) + written_;
    to[0] = act_word(Act::More, 0);
    stage_->seats[rank_].script_words = static_cast<std::uint32_t>(++written_);
    wait_alone();
  }
  std::uint64_t* to = script_of(stage_, rank_) + written_;
  *to++ = act_word(act, count);
  for (const std::uint64_t word : words) *to++ = word;
  for (const std::uint64_t word : more) *to++ = word;
  for (const std::uint64_t word : rest) *to++ = word;
  written_ += count + 1;
  stage_->seats[rank_].script_words = static_cast<std::uint32_t>(written_);  // the process may end any time
}

void Actor::act(Act act, std::initializer_list<std::uint64_t> words, std::span<const std::uint64_t> more,
                std::span<const std::uint64_t> rest) {
  enter();
  write(act, words, more, rest);
}

// A thread that has been elsewhere must wait until it may act.
void Actor::enter() {
  if (engine::Baton& baton = engine::Baton::get(); baton.used()) baton.enter();
}

void Actor::ask(Act act, std::initializer_list<std::uint64_t> words, std::span<const std::uint64_t> more) {
  enter();
  write(act, words, more, {});
  wait_alone();
}

// The other threads of the rank stand still meanwhile: nobody may take the baton because this one sleeps.
void Actor::wait_alone() {
  engine::Baton& baton = engine::Baton::get();
  if (!baton.used()) return wait_for_reply();
  baton.without_interruption([&] {
    wait_for_reply();
    collect_replies();
    return true;
  });
}

const std::uint64_t* Actor::ask(std::uint32_t thread, std::initializer_list<std::uint64_t> words,
                                std::span<const std::uint64_t> more, bool alone) {
  // The reply has as many reports, of at least 7 words each.
  if (more.size() > kReplyWords / 8) refuse(stage_, "a call has more requests than can be explored");
  const std::uint64_t asker = thread;
  std::vector<std::uint64_t> all(words);
  all.insert(all.end(), more.begin(), more.end());
  enter();
  write(Act::Ask, {asker}, all, {});
  engine::Baton& baton = engine::Baton::get();
  if (!baton.used()) {
    wait_for_reply();
    return reply_of(stage_, rank_) + 3;
  }
  std::vector<std::uint64_t>& reply = replies_[asker];
  reply.clear();
  if (alone) {
    while (reply.empty()) wait_alone();
  } else {
    engine::BatonPlace& place = baton.running();
    place.asks_world = true;
    baton.until([&] { return !reply.empty(); });
    place.asks_world = false;
  }
  return reply.data();
}

bool Actor::wait_together(bool somebody_pauses) {
  if (somebody_pauses && !time_asked_) write(Act::Ask, {kTime, kPauses, 0, 0, 0, 0, 0, 0}, {}, {});
  time_asked_ |= somebody_pauses;
  wait_for_reply();
  collect_replies();
  const bool time_passes = replies_.erase(kTime) > 0;
  if (time_passes) time_asked_ = false;
  return time_passes;
}

void Actor::collect_replies() {
  const std::uint64_t* words = reply_of(stage_, rank_);
  for (std::uint64_t left = *words++; left > 0; --left) {
    const std::uint64_t asker = *words++;
    const std::uint64_t size = *words++;
    replies_[asker].assign(words, words + size);
    words += size;
  }
}

void Actor::wait_for_reply() {
  Seat& seat = stage_->seats[rank_];
  written_ = 0;
  const auto asks = static_cast<std::uint32_t>(SeatState::Asks);
  for (;;) {
    seat.state.store(asks, std::memory_order_release);
    if (stage_->acting.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake(stage_->acting, 1);
    while (seat.state.load(std::memory_order_acquire) == asks) futex_wait(seat.state, asks);
    if (seat.state.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(SeatState::Serves)) break;
    const std::uint64_t* const words = reply_of(stage_, rank_);
    if (serve_) serve_({words + 1, words[0]});
  }
  if (seat.state.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(SeatState::Leave)) _exit(0);
}

// A ring: blocks are given back in any order, but used again in the order in which they were allotted.
std::uint64_t Actor::allot(std::size_t bytes, std::uint32_t readers) {
  enter();
  const std::uint64_t size = (bytes + sizeof(Block) + 15) & ~std::uint64_t{15};
  while (oldest_ != newest_ && block(oldest_)->readers.load(std::memory_order_acquire) == 0) {
    oldest_ += block(oldest_)->size;
    if (oldest_ >= kArenaBytes) oldest_ = 0;
  }
  if (oldest_ == newest_) oldest_ = newest_ = 0;
  const bool around = newest_ < oldest_;
  const std::uint64_t room = around ? oldest_ - newest_ - 1 : kArenaBytes - newest_;
  if (size + 2 * sizeof(Block) > room) {
    // Not enough behind: from the beginning, if that is free.
    if (around || size + 2 * sizeof(Block) >= oldest_)
      refuse(stage_, "messages that nobody has received hold more than 1 GiB");
    new (block(newest_)) Block{kArenaBytes - newest_, 0, 0};
    newest_ = 0;
  }
  const std::uint64_t at = newest_;
  new (block(at)) Block{size, readers, 0};
  newest_ += size;
  const auto data = static_cast<std::uint64_t>(reinterpret_cast<char*>(block(at)) - reinterpret_cast<char*>(stage_));
  return data + sizeof(Block);
}

void Actor::give_back(std::uint64_t data) {
  auto* const header = reinterpret_cast<Block*>(reinterpret_cast<char*>(stage_) + data - sizeof(Block));
  header->readers.fetch_sub(1, std::memory_order_release);
}

void Actor::is_at(std::uint64_t function, const void* caller) {
  Seat& seat = stage_->seats[rank_];
  seat.function.store(function, std::memory_order_relaxed);
  seat.caller.store(reinterpret_cast<std::uint64_t>(caller), std::memory_order_relaxed);
}

}  // namespace reprise::virtual_world
