#include "flow/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "flow/reductions.hpp"
#include "flow/units.hpp"

namespace reprise::flow {

using trace::IntentionForm;
using trace::IntentionRecord;

namespace {

constexpr std::size_t kMostAccesses = 1u << 20;  // of one rank, that can still be named

const char* why_unseen(std::uint64_t why) {
  switch (static_cast<trace::Unseen>(why)) {
    case trace::Unseen::SharedLock: return "an access under a lock that others may share";
    case trace::Unseen::LargeWindow: return "an accumulate on a window of more than 4 MiB";
    case trace::Unseen::Overlapping: return "an access that overlaps another one";
    case trace::Unseen::Unusual: return "an access of another kind";
  }
  return "an access";
}

}  // namespace

const char* name_of(Violation::Kind kind) {
  switch (kind) {
    case Violation::Kind::Bytes: return "other bytes";
    case Violation::Kind::Source: return "wrong source";
    case Violation::Kind::Tag: return "wrong tag";
    case Violation::Kind::Count: return "wrong count";
    case Violation::Kind::Overtaken: return "overtaken";
    case Violation::Kind::Invented: return "message from nowhere";
    case Violation::Kind::Reduction: return "wrong reduction";
    case Violation::Kind::WrittenBehind: return "written behind the buffer";
    case Violation::Kind::WrittenBetween: return "written between the elements";
    case Violation::Kind::Type: return "wrong datatype";
  }
  return "";
}

void Checker::add(std::uint32_t rank, Event event) {
  if (event.kind >= IntentionRecord::Process) return;  // the tracker's business
  ++verdict_.events;
  Rank& state = ranks_[rank];
  switch (event.kind) {
    case IntentionRecord::Begin: return begin(rank, event);
    case IntentionRecord::Whole: return whole(rank, event);
    case IntentionRecord::End: return end(rank, event);
    case IntentionRecord::Remark: return remark(rank, event);
    case IntentionRecord::Access:
      ++verdict_.accesses;
      state.accesses.push_back({rank, ++state.calls, event.shape});
      if (state.accesses.size() > kMostAccesses) {
        state.accesses.pop_front();
        ++state.accesses_before;
      }
      return;
    case IntentionRecord::Accumulated: return accumulated(rank, event);
    case IntentionRecord::Unordered: state.ordered = false; return;
    case IntentionRecord::Freed: {
      const auto found = state.open.find(event.post);
      if (found == state.open.end()) return;
      state.ordered = false;  // what it takes nobody will know
      event.told.cancelled = true;
      if (!found->second.part.shape->takes.empty()) ++verdict_.unchecked["a request that was freed before it was complete"];
      if (found->second.receive) hear(rank, *found->second.part.shape, found->second.receive, found->second.part, event, false);
      state.open.erase(found);
      return;
    }
    default: return;
  }
}

Messages::Channel Checker::channel_to(std::uint32_t rank, const LoggedShape& shape) const {
  return {shape.group->uid, rank, static_cast<std::uint32_t>(shape.group->peers()[static_cast<std::size_t>(shape.dest)]),
          shape.send_tag};
}

void Checker::send(std::uint32_t rank, const Part& part, const Event& event, std::optional<std::uint64_t> post) {
  // There may be no such rank; then the call has failed.
  const auto peers = static_cast<int>(part.shape->group->peers().size());
  if (part.shape->gives.empty() || part.shape->dest < 0 || part.shape->dest >= peers) return;
  messages_.sent(channel_to(rank, *part.shape), {part, event.given, post}, ranks_[rank].ordered);
}

// Does it take to memory that another one takes to?
bool Checker::overlaps(Rank& state, const LoggedShape& shape, std::uint64_t address) {
  bool any = false;
  if (shape.takes.empty() || shape.takes[0].count == 0 || shape.operation != 0) return false;
  for (auto& [post, other] : state.open) {
    const LoggedShape& there = *other.part.shape;
    if (there.takes.empty() || there.takes[0].count == 0 || there.operation != 0) continue;
    for (const LoggedBlock& one : shape.takes)
      for (const LoggedBlock& two : there.takes) {
        if (one.count == 0 || two.count == 0) continue;
        const auto moved = [](const LoggedBlock& block, const LoggedShape& whole, std::uint64_t first) {
          return first + static_cast<std::uint64_t>(block.place - whole.takes[0].place);
        };
        if (!may_overlap(one, moved(one, shape, address), two, moved(two, there, other.address))) continue;
        other.overlaps = any = true;
      }
  }
  return any;
}

std::uint64_t Checker::post_receive(Rank& state, const Part& part) {
  const std::uint64_t id = ++state.receives;
  Posted posted;
  posted.id = id;
  posted.source = part.shape->source;
  posted.tag = part.shape->receive_tag;
  state.posted[part.shape->group->uid].push_back(std::move(posted));
  return id;
}

// `posted`: the shape of the call that has found the message; its communicator counts.
void Checker::hear(std::uint32_t rank, const LoggedShape& posted, std::uint64_t id, const Part& part, Event& event,
                   bool overlaps) {
  auto& queue = ranks_[rank].posted[posted.group->uid];
  const auto found = std::find_if(queue.begin(), queue.end(), [&](const Posted& one) { return one.id == id; });
  if (found == queue.end()) return;
  const auto& peers = posted.group->peers();
  if (event.told.cancelled || event.told.error != 0) {
    found->is_dropped = true;
    if (event.told.error != 0) {
      ++verdict_.unchecked["a call that returned an error"];
      ranks_[rank].ordered = false;  // which message it was nobody knows
    }
  } else {
    Told told = event.told;
    // Whom it named and did not hear, it heard all the same.
    Messages::Received received{part, told, event.taken, overlaps, {}};
    const auto wrong = [&](Violation::Kind kind, const char* what, int asked, int said) {
      received.wrong.emplace_back(kind, fmt::format("{} {} was asked for, the status says {}", what, asked, said));
    };
    if (posted.source >= 0 && told.source != posted.source) {
      wrong(Violation::Kind::Source, "source", posted.source, told.source);
      told.source = posted.source;
    }
    if (posted.receive_tag >= 0 && told.tag != posted.receive_tag) {
      wrong(Violation::Kind::Tag, "tag", posted.receive_tag, told.tag);
      told.tag = posted.receive_tag;
    }
    if (told.source < 0 || static_cast<std::size_t>(told.source) >= peers.size()) {
      Violation violation;
      violation.kind = Violation::Kind::Source;
      violation.words = fmt::format("the status names rank {}, which there is not", told.source);
      violation.path = violation.members = {part};
      verdict_.violations.push_back(std::move(violation));
      found->is_dropped = true;
    } else {
      found->channel = {posted.group->uid, static_cast<std::uint32_t>(peers[static_cast<std::size_t>(told.source)]), rank,
                        told.tag};
      received.told = told;
      found->received = std::move(received);
    }
  }
  found->is_known = true;
  drain(rank, queue, false);
}

// In the order of posts, but for those that cannot take a message from one another.
void Checker::drain(std::uint32_t rank, std::deque<Posted>& queue, bool all) {
  const bool ordered = ranks_[rank].ordered;
  std::vector<std::pair<int, int>> waiting;  // source and tag of those that are still open
  for (auto one = queue.begin(); one != queue.end();) {
    if (!one->is_known) {
      if (one->source < 0 && one->tag < 0 && !all) return;
      if (!all) waiting.emplace_back(one->source, one->tag);
      if (waiting.size() > 256) return;
      ++one;
      continue;
    }
    const Told& told = one->received.told;
    const bool must_wait =
        !one->is_dropped && std::any_of(waiting.begin(), waiting.end(), [&](const std::pair<int, int>& other) {
          return (other.first < 0 || other.first == told.source) && (other.second < 0 || other.second == told.tag);
        });
    if (must_wait) {
      ++one;
      continue;
    }
    if (!one->is_dropped) messages_.received(one->channel, std::move(one->received), ordered);
    one = queue.erase(one);
  }
}

void Checker::begin(std::uint32_t rank, Event& event) {
  Rank& state = ranks_[rank];
  const Part part{rank, ++state.calls, event.shape};
  Open open{part, event.address, std::nullopt, 0, overlaps(state, *event.shape, event.address)};
  if (event.shape->form == IntentionForm::Collective) {
    Share share;
    share.part = part;
    share.given = event.given;
    share.contribution = event.contribution;
    share.post = event.post;
    open.collective = collectives_.begins(std::move(share));
  }
  if (event.shape->sends()) send(rank, part, event, event.post);
  if (event.shape->receives() && (event.shape->form == IntentionForm::Probe || !event.shape->takes.empty()))
    open.receive = post_receive(state, part);
  // A send says no more, unless it is cancelled.
  state.open[event.post] = std::move(open);
  if (!event.shape->receives() && event.shape->sends() && state.open.size() > 65536) state.open.erase(event.post);
  state.last = part;
  state.last_post = event.post;
}

void Checker::whole(std::uint32_t rank, Event& event) {
  Rank& state = ranks_[rank];
  const Part part{rank, ++state.calls, event.shape};
  state.last = part;
  state.last_post.reset();
  if (event.shape->form == IntentionForm::Collective) {
    Share share;
    share.part = part;
    share.given = event.given;
    share.taken = event.taken;
    share.contribution = event.contribution;
    share.result = event.result;
    share.expected = event.expected;
    share.is_over = true;
    share.failed = event.told.error != 0;
    share.overlaps = overlaps(state, *event.shape, event.address);
    collectives_.begins(std::move(share));
    return;
  }
  if (event.shape->sends()) {
    if (event.told.error == 0) send(rank, part, event, std::nullopt);
    else ++verdict_.unchecked["a call that returned an error"];
  }
  if (event.shape->receives() && !event.shape->takes.empty()) {
    const bool overlapping = overlaps(state, *event.shape, event.address);
    hear(rank, *event.shape, post_receive(state, part), part, event, overlapping);
  }
}

void Checker::end(std::uint32_t rank, Event& event) {
  Rank& state = ranks_[rank];
  const auto found = state.open.find(event.post);
  state.last_post = event.post;
  if (found == state.open.end()) return;
  const Open open = found->second;
  Part part = open.part;
  state.last = part;
  if (event.shape) part.shape = event.shape;
  if (open.collective) {
    Share share;
    share.taken = event.taken;
    share.result = event.result;
    share.expected = event.expected;
    share.failed = event.told.error != 0;
    collectives_.ends(*open.collective, rank, std::move(share));
  } else if (open.receive) {
    hear(rank, *open.part.shape, open.receive, part, event, open.overlaps);
  }
  const bool sent_nothing = event.told.error != 0 || (event.told.cancelled && !open.receive);
  if (sent_nothing && open.part.shape->sends() && !open.part.shape->gives.empty()) {
    const auto peers = static_cast<int>(open.part.shape->group->peers().size());
    if (open.part.shape->dest >= 0 && open.part.shape->dest < peers) messages_.unsent(channel_to(rank, *open.part.shape), event.post);
    if (event.told.error != 0 && !open.receive) ++verdict_.unchecked["a call that returned an error"];
  }
  state.open.erase(event.post);
}

void Checker::remark(std::uint32_t rank, const Event& event) {
  const Rank& state = ranks_[rank];
  if (event.seen == trace::Seen::ProgramChangedSent) {
    if (state.last_post) changed_.emplace(rank, *state.last_post);
    return;
  }
  if (event.seen == trace::Seen::NotSeen) {
    verdict_.unchecked[why_unseen(event.block)] += event.more;
    if (event.side == 0) verdict_.accesses -= std::min(verdict_.accesses, event.more);  // others were never counted
    return;
  }
  if (event.seen == trace::Seen::WrongAccess) {
    wrong_accesses_.push_back({rank, static_cast<std::uint32_t>(event.block), event.more, Violation::Kind::Bytes,
                               fmt::format("what was {} the window of rank {} is not what is there: bytes differ from {} on",
                                           event.side == 0 ? "put to" : "got from", rank, event.offset)});
    return;
  }
  Violation violation;
  switch (event.seen) {
    case trace::Seen::WrittenBehind:
      violation.kind = Violation::Kind::WrittenBehind;
      violation.words = fmt::format("rank {}: byte {} behind the start of {} was changed, which is behind its end", rank,
                                    event.offset, event.block == 0 ? "the buffer" : fmt::format("block {}", event.block));
      break;
    case trace::Seen::WrittenBetween:
      violation.kind = Violation::Kind::WrittenBetween;
      violation.words = fmt::format("rank {}: byte {} from the start of {} was changed, which was not to be written", rank,
                                    event.offset, event.block == 0 ? "the buffer" : fmt::format("block {}", event.block));
      break;
    case trace::Seen::WrongType:
      violation.kind = Violation::Kind::Type;
      violation.type = {rank, event.more};
      violation.words = fmt::format("rank {}: MPI_Pack takes other bytes than datatype {} describes", rank, event.more);
      break;
    default: return;
  }
  if (state.last.shape && event.seen != trace::Seen::WrongType) {
    violation.path = violation.members = {state.last};
    violation.taken = event.block;
    violation.written = event.offset;
  }
  if (verdict_.violations.size() < kMostViolations) verdict_.violations.push_back(std::move(violation));
  else ++verdict_.more;
}

// Each element was combined once with each contribution, in any order.
void Checker::accumulated(std::uint32_t rank, const Event& event) {
  const std::string type(event.given->begin(), event.given->end());
  const std::uint64_t size = event.block;
  ByteReader in(*event.taken);
  while (in.left() > 0 && in.ok() && size > 0) {
    const std::uint64_t count = in.varint();
    if (count == 0 || count > in.left()) return;
    std::uint64_t origin = 0;
    std::uint64_t access = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      origin = in.varint();
      access = in.varint();
    }
    const auto values = in.bytes((count + 2) * size);
    if (!in.ok() || values.size() != (count + 2) * size) return;
    std::vector<const std::uint8_t*> contributions{values.data()};
    for (std::uint64_t i = 0; i < count; ++i) contributions.push_back(values.data() + (i + 2) * size);
    const std::uint8_t* const after = values.data() + size;
    ReductionCheck checked;
    if (event.more == 2 + static_cast<std::uint64_t>(trace::Operation::Replace)) {
      const bool one = std::any_of(contributions.begin() + 1, contributions.end(), [&](const std::uint8_t* from) {
        return std::memcmp(from, after, size) == 0;
      });
      if (!one) checked.words = "is none of those that were put there";
    } else {
      checked = check_element(type, size, event.more, contributions, after);
    }
    if (!checked.can) {
      ++verdict_.unchecked["an accumulate of a type that is not known"];
      return;
    }
    if (checked.words.empty()) continue;
    wrong_accesses_.push_back({rank, static_cast<std::uint32_t>(origin), access, Violation::Kind::Reduction,
                               fmt::format("an element in the window of rank {} {}", rank, checked.words)});
    return;  // the others of this access will be wrong, too
  }
}

void Checker::resolve_accesses() {
  for (WrongAccess& wrong : wrong_accesses_) {
    Violation violation;
    violation.kind = wrong.kind;
    violation.words = std::move(wrong.words);
    if (wrong.origin < ranks_.size()) {
      const Rank& state = ranks_[wrong.origin];
      const std::uint64_t at = wrong.access - state.accesses_before;
      if (wrong.access >= state.accesses_before && at < state.accesses.size()) violation.path = {state.accesses[at]};
    }
    violation.members = violation.path;
    if (verdict_.violations.size() < kMostViolations) verdict_.violations.push_back(std::move(violation));
    else ++verdict_.more;
  }
}

Verdict Checker::finish(const std::vector<bool>& cut_off) {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    for (auto& [comm, queue] : ranks_[rank].posted) drain(rank, queue, true);
  messages_.finish(cut_off);
  resolve_accesses();
  collectives_.finish(std::find(cut_off.begin(), cut_off.end(), true) != cut_off.end());
  for (Violation& violation : verdict_.violations)
    if (violation.excuse.empty() && violation.post && !violation.path.empty() &&
        changed_.contains({violation.path[0].rank, *violation.post}))
      violation.excuse = kProgramChangedSent;
  return std::move(verdict_);
}

}  // namespace reprise::flow
