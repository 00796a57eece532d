#include "flow/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "flow/leaves.hpp"
#include "flow/units.hpp"

namespace reprise::flow {
namespace {

const LoggedBlock* given(const LoggedShape& shape) { return shape.gives.empty() ? nullptr : &shape.gives[0]; }
const LoggedBlock* taken(const LoggedShape& shape) { return shape.takes.empty() ? nullptr : &shape.takes[0]; }

bool is_known(const LoggedBlock* block) { return block && (block->count == 0 || block->type->flat.known); }

std::uint64_t bytes_of(const LoggedBlock* block) { return block ? block->bytes() : 0; }

std::string span_text(std::uint64_t begin, std::uint64_t end) {
  return end - begin == 1 ? fmt::format("byte {} differs", begin) : fmt::format("bytes differ within {} to {}", begin, end - 1);
}

}  // namespace

void Messages::report(Violation violation) {
  if (verdict_.violations.size() < kMostViolations) verdict_.violations.push_back(std::move(violation));
  else ++verdict_.more;
}

void Messages::sent(const Channel& channel, Sent message, bool ordered) {
  Queue& queue = channels_[channel];
  queue.unordered |= !ordered;
  queue.sent.push_back(std::move(message));
  match(channel, queue, false);
}

void Messages::received(const Channel& channel, Received message, bool ordered) {
  Queue& queue = channels_[channel];
  queue.unordered |= !ordered;
  queue.received.push_back(std::move(message));
  match(channel, queue, false);
}

void Messages::unsent(const Channel& channel, std::uint64_t post) {
  Queue& queue = channels_[channel];
  std::erase_if(queue.sent, [&](const Sent& one) { return one.post == post; });
}

bool Messages::is_same(const Sent& sent, const Received& received) const {
  const LoggedBlock* const from = given(*sent.part.shape);
  const LoggedBlock* const to = taken(*received.part.shape);
  if (!is_known(from) || !is_known(to)) return true;  // nobody can say
  if (bytes_of(from) != received.told.bytes) return false;
  if (received.told.bytes == 0) return true;
  return sent.digest && received.digest && sent.digest->size() >= 8 && received.digest->size() >= 8 &&
         std::memcmp(sent.digest->data(), received.digest->data(), 8) == 0;
}

// One message more or less on one side (the status of another one was wrong) must not make all that follow look wrong:
// where two differ it is seen first whether one of them is out of place.
void Messages::match(const Channel& channel, Queue& queue, bool finishing) {
  if (queue.unordered) return match_any(queue);
  while (!queue.sent.empty() && !queue.received.empty()) {
    const bool same = is_same(queue.sent[0], queue.received[0]);
    if (!same) {
      const bool sees_both = queue.sent.size() > 1 && queue.received.size() > 1;
      if (!sees_both && !finishing) return;
      const bool next_is_right = sees_both && is_same(queue.sent[1], queue.received[1]);
      if (!next_is_right && queue.received.size() > 1 && is_same(queue.sent[0], queue.received[1])) {
        orphans_.push_back({channel, {}, std::move(queue.received[0]), false});
        queue.received.pop_front();
        continue;
      }
      if (!next_is_right && queue.sent.size() > 1 && is_same(queue.sent[1], queue.received[0])) {
        orphans_.push_back({channel, std::move(queue.sent[0]), {}, true});
        queue.sent.pop_front();
        continue;
      }
    }
    compare(queue.sent[0], queue.received[0]);
    queue.sent.pop_front();
    queue.received.pop_front();
  }
}

// Several threads send or receive: which message is which nobody knows, but each must be one that was sent.
void Messages::match_any(Queue& queue) {
  for (std::size_t i = 0; i < queue.received.size();) {
    const auto found = std::find_if(queue.sent.begin(), queue.sent.end(),
                                    [&](const Sent& one) { return is_same(one, queue.received[i]); });
    if (found == queue.sent.end()) {
      ++i;
      continue;
    }
    compare(*found, queue.received[i]);
    queue.sent.erase(found);
    queue.received.erase(queue.received.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Messages::compare(const Sent& sent, const Received& received) {
  const LoggedBlock* const from = given(*sent.part.shape);
  const LoggedBlock* const to = taken(*received.part.shape);
  if (!is_known(from) || !is_known(to)) {
    ++verdict_.unchecked["a datatype cannot be taken apart"];
    return;
  }
  ++verdict_.messages;
  for (const auto& [kind, words] : received.wrong) {
    Violation violation;
    violation.kind = kind;
    violation.words = words;
    violation.path = violation.members = {sent.part, received.part};
    report(std::move(violation));
  }
  if (is_same(sent, received)) return;
  Violation violation;
  violation.path = {sent.part, received.part};
  violation.members = violation.path;
  violation.post = sent.post;
  const std::uint64_t bytes = bytes_of(from);
  if (received.overlaps) violation.excuse = "two receives had the same memory at the same time";
  if (bytes != received.told.bytes) {
    violation.kind = Violation::Kind::Count;
    violation.words = fmt::format("{} bytes were sent, the status says {}", bytes, received.told.bytes);
    return report(std::move(violation));
  }
  const std::uint64_t most = sent.part.shape->group->most_pieces();
  const bool readable = sent.digest && received.digest && sent.digest->size() == trace::digest_bytes(bytes, most) &&
                        received.digest->size() == sent.digest->size();
  const auto where = readable ? difference(sent.digest->data(), received.digest->data(), bytes, most) : Difference{0, bytes};
  if (violation.excuse.empty() && disagree(*from, *to, bytes)) violation.excuse = kTypesDisagree;
  const Unit unit = unit_at(*from, *to, bytes, where->begin);
  const std::uint64_t begin = where->begin - std::min(where->begin, unit.begins);
  const std::uint64_t end = std::min(where->end - unit.begins, unit.size);
  violation.words = fmt::format("unit {}{}: rank {} [buf{:+}, {} B] -> rank {} [buf{:+}, {} B]: {}", unit.number,
                                unit.of ? fmt::format(" of {}", unit.of) : "", sent.part.rank, unit.from, unit.size,
                                received.part.rank, unit.to, unit.size, span_text(begin, std::max(end, begin + 1)));
  report(std::move(violation));
}

void Messages::finish(const std::vector<bool>& cut_off) {
  for (auto& [channel, queue] : channels_) {
    match(channel, queue, true);
    for (Sent& one : queue.sent) orphans_.push_back({channel, std::move(one), {}, true});
    for (Received& one : queue.received) orphans_.push_back({channel, {}, std::move(one), false});
  }
  pair_orphans(cut_off);
  channels_.clear();
}

int Messages::alike(const Orphan& one, const Orphan& other) {
  return one.channel == other.channel ? 2 : one.channel.tag == other.channel.tag ? 1 : 0;
}

// A message that was received from nowhere, and one with the same bytes that did not arrive: the status was wrong.
void Messages::pair_orphans(const std::vector<bool>& cut_off) {
  std::vector<bool> used(orphans_.size());
  for (std::size_t i = 0; i < orphans_.size(); ++i) {
    const Orphan& taken_one = orphans_[i];
    if (taken_one.is_sent) continue;
    std::size_t best = orphans_.size();
    for (std::size_t j = 0; j < orphans_.size(); ++j) {
      const Orphan& sent_one = orphans_[j];
      if (!sent_one.is_sent || used[j] || sent_one.channel.comm != taken_one.channel.comm ||
          sent_one.channel.to != taken_one.channel.to || !is_same(sent_one.sent, taken_one.received))
        continue;
      if (best == orphans_.size() || alike(sent_one, taken_one) > alike(orphans_[best], taken_one)) best = j;
    }
    Violation violation;
    if (best < orphans_.size()) {
      used[best] = true;
      ++verdict_.messages;
      const Channel& really = orphans_[best].channel;
      // Threads: what was sent by the second one before its first call was logged has been taken for out of place.
      if (really == taken_one.channel && channels_[really].unordered) continue;
      const bool source = really.from != taken_one.channel.from;
      violation.kind = source ? Violation::Kind::Source : Violation::Kind::Tag;
      violation.words = source ? fmt::format("the status names rank {} as the source, the message is rank {}'s",
                                             taken_one.received.told.source, orphans_[best].sent.part.rank)
                               : fmt::format("the status says tag {}, the message has tag {}", taken_one.channel.tag, really.tag);
      if (really == taken_one.channel) {
        violation.kind = Violation::Kind::Overtaken;
        violation.words = fmt::format("messages with tag {} from rank {} to rank {} were not received in the order in which they were sent", really.tag,
                                      really.from, really.to);
      }
      violation.path = {orphans_[best].sent.part, taken_one.received.part};
      violation.members = violation.path;
      report(std::move(violation));
      continue;
    }
    if (taken_one.channel.from >= cut_off.size() || cut_off[taken_one.channel.from]) {
      ++verdict_.unchecked["the log of the sender ends before"];
      continue;
    }
    // With a datatype that nobody can take apart, or threads, it may be any of them.
    ++verdict_.messages;
    violation.kind = Violation::Kind::Invented;
    violation.words = fmt::format("a message of {} bytes from rank {} with tag {}, who sent no such message",
                                  taken_one.received.told.bytes, taken_one.channel.from, taken_one.channel.tag);
    violation.path = {taken_one.received.part};
    violation.members = violation.path;
    report(std::move(violation));
  }
  for (std::size_t j = 0; j < orphans_.size(); ++j)
    if (orphans_[j].is_sent && !used[j]) ++verdict_.unchecked["sent, but not received"];
}

}  // namespace reprise::flow
