#include "flow/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "flow/leaves.hpp"
#include "flow/own_operations.hpp"
#include "flow/reductions.hpp"
#include "flow/units.hpp"

namespace reprise::flow {
namespace {

// The same for both widths of counts.
std::string kind_of(const LoggedShape& shape) {
  std::string call = shape.call();
  if (call.ends_with("_c")) call.resize(call.size() - 2);
  return call;
}

std::uint64_t digest_size(const LoggedBlock& block, std::uint64_t most) {
  return block.count > 0 && block.type->flat.known ? trace::digest_bytes(block.bytes(), most) : 0;
}

}  // namespace

void Collectives::report(Violation violation) {
  if (verdict_.violations.size() < kMostViolations) verdict_.violations.push_back(std::move(violation));
  else ++verdict_.more;
}

std::size_t Collectives::member(const Call& call, int world_rank) {
  return static_cast<std::size_t>(std::find(call.members.begin(), call.members.end(), world_rank) - call.members.begin());
}

Collectives::Name Collectives::begins(Share share) {
  const LoggedGroup& group = *share.part.shape->group;
  const Name name{group.uid, made_[group.uid][share.part.rank]++};
  Call& call = calls_[name];
  if (call.members.empty()) {
    call.members = group.local;
    call.members.insert(call.members.end(), group.remote.begin(), group.remote.end());
    call.shares.resize(call.members.size());
  }
  const std::size_t at = member(call, static_cast<int>(share.part.rank));
  if (at >= call.shares.size() || call.shares[at].part.shape) return name;
  ++call.come;
  if (share.is_over) ++call.over;
  call.shares[at] = std::move(share);
  if (call.over == call.members.size()) {
    look(name, call);
    calls_.erase(name);
  }
  return name;
}

void Collectives::ends(const Name& name, std::uint32_t rank, Share share) {
  const auto found = calls_.find(name);
  if (found == calls_.end()) return;
  Call& call = found->second;
  const std::size_t at = member(call, static_cast<int>(rank));
  if (at >= call.shares.size() || call.shares[at].is_over) return;
  Share& known = call.shares[at];
  known.taken = std::move(share.taken);
  known.result = std::move(share.result);
  known.expected = std::move(share.expected);
  known.failed = share.failed;
  known.is_over = true;
  if (++call.over < call.members.size()) return;
  look(name, call);
  calls_.erase(found);
}

std::vector<Part> Collectives::parts(const Call& call) const {
  std::vector<Part> all;
  for (const Share& share : call.shares)
    if (share.part.shape) all.push_back(share.part);
  return all;
}

// What the members must agree on; then the library owes them nothing.
std::string Collectives::mismatch(const Call& call) const {
  const Share* first = nullptr;
  for (const Share& share : call.shares) {
    if (!share.part.shape) continue;
    if (!first) first = &share;
    const LoggedShape& one = *first->part.shape;
    const LoggedShape& other = *share.part.shape;
    if (kind_of(one) != kind_of(other))
      return fmt::format("rank {} called {}, rank {} {}", first->part.rank, one.call(), share.part.rank, other.call());
    if (!one.group->inter() && one.root != other.root)
      return fmt::format("rank {} says that {} is the root, rank {} says {}", first->part.rank, one.root, share.part.rank,
                         other.root);
    if (one.operation != other.operation)
      return fmt::format("ranks {} and {} combine with different operations", first->part.rank, share.part.rank);
  }
  return {};
}

void Collectives::look(const Name&, Call& call) {
  if (std::any_of(call.shares.begin(), call.shares.end(), [](const Share& share) { return share.failed; })) {
    ++verdict_.unchecked["a call that returned an error"];
    return;
  }
  ++verdict_.collectives;
  if (std::string words = mismatch(call); !words.empty()) {
    Violation violation;
    violation.excuse = "the members do not call the same";
    violation.words = std::move(words);
    violation.path = violation.members = parts(call);
    return report(std::move(violation));
  }
  for (const Share& taker : call.shares) {
    if (!taker.is_over || !taker.part.shape) continue;
    std::uint64_t offset = 0;
    const std::uint64_t most = taker.part.shape->group->most_pieces();
    for (std::size_t i = 0; i < taker.part.shape->takes.size(); ++i) {
      compare(call, taker, i, offset);
      offset += digest_size(taker.part.shape->takes[i], most);
    }
    if (taker.part.shape->combines > 0) reduce(call, taker);
  }
}

void Collectives::compare(const Call& call, const Share& taker, std::size_t number, std::uint64_t offset) {
  const LoggedShape& shape = *taker.part.shape;
  const LoggedBlock& to = shape.takes[number];
  if (to.peer < 0 || static_cast<std::size_t>(to.peer) >= shape.group->peers().size()) return;
  const std::size_t at = member(call, shape.group->peers()[static_cast<std::size_t>(to.peer)]);
  if (at >= call.shares.size() || !call.shares[at].part.shape) return;  // it never came
  const Share& giver = call.shares[at];
  const LoggedShape& there = *giver.part.shape;
  // Which of its blocks.
  const std::uint64_t most = there.group->most_pieces();
  const LoggedBlock* from = nullptr;
  std::uint64_t begins = 0;
  std::uint64_t seen = 0;
  std::size_t block = 0;
  for (std::size_t i = 0; i < there.gives.size() && !from; ++i) {
    const bool counts = !to.by_edge || there.gives[i].peer == shape.group->me;
    if (counts && seen++ == to.number) {
      from = &there.gives[i];
      block = i;
    } else {
      begins += digest_size(there.gives[i], most);
    }
  }
  Violation violation;
  violation.path = {giver.part, taker.part};
  violation.given = block;
  violation.taken = number;
  violation.post = giver.post;
  const std::uint64_t bytes = to.bytes();
  const bool known = (to.count == 0 || to.type->flat.known) && (!from || from->count == 0 || from->type->flat.known);
  if (!known) {
    ++verdict_.unchecked["a datatype cannot be taken apart"];
    return;
  }
  if (!from || from->bytes() != bytes) {
    violation.members = parts(call);
    violation.excuse = "the members do not agree on how much is sent";
    violation.words = fmt::format("rank {} gives {} bytes, rank {} expects {}", giver.part.rank, from ? from->bytes() : 0,
                                  taker.part.rank, bytes);
    return report(std::move(violation));
  }
  const std::uint64_t size = trace::digest_bytes(bytes, most);
  if (bytes == 0 || !giver.given || !taker.taken || giver.given->size() < begins + size || taker.taken->size() < offset + size)
    return;
  const auto where = difference(giver.given->data() + begins, taker.taken->data() + offset, bytes, most);
  if (!where) return;
  violation.members = parts(call);
  if (taker.overlaps) violation.excuse = "two operations had the same memory at the same time";
  if (violation.excuse.empty() && disagree(*from, to, bytes)) violation.excuse = kTypesDisagree;
  const Unit unit = unit_at(*from, to, bytes, where->begin);
  const std::uint64_t first = where->begin - std::min(where->begin, unit.begins);
  const std::uint64_t last = std::max(std::min(where->end - unit.begins, unit.size), first + 1);
  violation.words =
      fmt::format("unit {}{}: rank {} [buf{:+}, {} B] -> rank {} [buf{:+}, {} B]: {}", unit.number,
                  unit.of ? fmt::format(" of {}", unit.of) : "", giver.part.rank, unit.from, unit.size, taker.part.rank, unit.to,
                  unit.size, last - first == 1 ? fmt::format("byte {} differs", first)
                                               : fmt::format("bytes differ within {} to {}", first, last - 1));
  report(std::move(violation));
}

// What one of those has tried that get what this one gets.
const std::vector<std::uint8_t>* Collectives::expected_by(const Call& call, const Share& taker) const {
  for (const int rank : taker.part.shape->group->local) {
    const std::size_t at = member(call, rank);
    if (at < call.shares.size() && call.shares[at].expected) return call.shares[at].expected.get();
  }
  return nullptr;
}

void Collectives::reduce(const Call& call, const Share& taker) {
  const LoggedShape& shape = *taker.part.shape;
  std::vector<const std::vector<std::uint8_t>*> contributions;
  for (std::int64_t i = 0; i < shape.combines; ++i) {
    const std::size_t at = member(call, shape.group->peers()[static_cast<std::size_t>(i)]);
    if (at >= call.shares.size() || !call.shares[at].part.shape) return;
    const Share& giver = call.shares[at];
    if (giver.part.shape->gives.empty() || giver.part.shape->gives[0].count != shape.all) {
      Violation violation;
      violation.excuse = "the members do not agree on how much is combined";
      violation.words = fmt::format("rank {} gives {} elements, rank {} expects {}", giver.part.rank,
                                    giver.part.shape->gives.empty() ? 0 : giver.part.shape->gives[0].count, taker.part.rank,
                                    shape.all);
      violation.path = {giver.part, taker.part};
      violation.members = parts(call);
      return report(std::move(violation));
    }
    if (!giver.contribution) break;
    contributions.push_back(giver.contribution.get());
  }
  if (shape.count == 0) return;
  const bool is_logged = taker.result && contributions.size() == static_cast<std::size_t>(shape.combines);
  if (!is_logged) {
    ++verdict_.unchecked["a reduction"];
    return;
  }
  const bool own = shape.operation < 2;
  const auto* const expected = own ? expected_by(call, taker) : nullptr;
  if (own && !expected) {
    ++verdict_.unchecked["a reduction with an operation of the program's own"];
    return;
  }
  const ReductionCheck checked = own ? check_own_reduction(shape, contributions, *expected, *taker.result)
                                     : check_reduction(shape, contributions, *taker.result);
  if (!checked.can) {
    ++verdict_.unchecked[own ? "a reduction whose operation gives something else in another order" : "a reduction of a type that is not known"];
    return;
  }
  if (checked.words.empty()) return;
  Violation violation;
  violation.kind = Violation::Kind::Reduction;
  violation.words = fmt::format("rank {}: {}", taker.part.rank, checked.words);
  violation.path = {taker.part};
  violation.members = parts(call);
  report(std::move(violation));
}

void Collectives::finish(bool cut_off) {
  for (auto& [name, call] : calls_) {
    if (call.come < call.members.size() && cut_off) ++verdict_.unchecked["a collective that some never came to"];
    look(name, call);
  }
  calls_.clear();
}

}  // namespace reprise::flow
