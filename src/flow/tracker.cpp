#include "flow/tracker.hpp"

#include <algorithm>

#include "flow/units.hpp"

namespace reprise::flow {

using trace::IntentionForm;
using trace::IntentionRecord;

namespace {

constexpr std::size_t kRecent = 64;
constexpr std::size_t kMostOperations = 1u << 17;

std::string reversed(const std::string& stream) {
  const std::size_t space = stream.find(' ');
  return stream.substr(space + 1) + ' ' + stream.substr(0, space);
}

bool leaves_machine(const std::string& stream) {
  const std::size_t space = stream.find(' ');
  if (space == std::string::npos) return false;
  const auto host = [](std::string_view end) { return end.substr(0, end.rfind(':')); };
  return host(std::string_view(stream).substr(0, space)) != host(std::string_view(stream).substr(space + 1));
}

}  // namespace

std::optional<std::size_t> given_block(const LoggedShape& giver, const LoggedShape& taker, std::size_t number) {
  if (giver.form != IntentionForm::Collective) return giver.gives.empty() ? std::nullopt : std::optional<std::size_t>(0);
  const LoggedBlock& to = taker.takes[number];
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < giver.gives.size(); ++i) {
    const bool counts = !to.by_edge || giver.gives[i].peer == taker.group->me;
    if (counts && seen++ == to.number) return i;
  }
  return std::nullopt;
}

Labels& Tracker::labels(const Place& place) { return const_cast<Labels&>(std::as_const(*this).labels(place)); }

const Labels& Tracker::labels(const Place& place) const {
  switch (place.kind) {
    case Place::Kind::Shared: return segments_[place.number];
    case Place::Kind::Stream: return streams_[place.number].labels;
    default: return ranks_[place.number].memory;
  }
}

Tracker::Pieces Tracker::pieces(std::uint32_t rank, std::uint64_t address, std::uint64_t bytes) const {
  Pieces all;
  const auto& mappings = ranks_[rank].mappings;
  auto one = std::upper_bound(mappings.begin(), mappings.end(), address, [](std::uint64_t at, const Mapping& other) { return at < other.to; });
  while (bytes > 0) {
    Piece piece{{Place::Kind::Private, rank, address}, bytes};
    if (one != mappings.end() && one->from <= address) {
      piece = {{Place::Kind::Shared, one->segment, one->offset + (address - one->from)}, std::min(bytes, one->to - address)};
      ++one;
    } else if (one != mappings.end()) {
      piece.bytes = std::min(bytes, one->from - address);
    }
    all.push_back(piece);
    address += piece.bytes;
    bytes -= piece.bytes;
  }
  return all;
}

void Tracker::find_labels(std::uint32_t rank, std::uint64_t address, std::uint64_t bytes, std::vector<Labelled>& found) const {
  std::uint64_t counted = 0;
  const Pieces all = pieces(rank, address, bytes);
  for (std::size_t i = 0; i < all.size(); ++i) {
    labels(all[i].place).find(all[i].place.address, all[i].bytes, found, counted);
    counted += all[i].bytes;
  }
}

std::vector<Labelled> Tracker::labels_at(std::uint32_t rank, std::uint64_t address, std::uint64_t bytes) const {
  std::vector<Labelled> found;
  find_labels(rank, address, bytes, found);
  return found;
}

Hop& Tracker::new_hop(std::uint32_t rank, IntentionRecord kind, const std::string* site) {
  hop_.rank = rank;
  hop_.kind = kind;
  hop_.site = site;
  hop_.wrong = 0;
  hop_.inferred = false;
  hop_.behind.reset();
  return hop_;
}

bool Tracker::are_aliases(std::uint32_t one, std::uint32_t other) const {
  if (one == other) return true;
  if (!is_known(one) || !is_known(other)) return false;
  const TrackedOperation& first = operation(one);
  const TrackedOperation& second = operation(other);
  return first.rank == second.rank && first.begun < second.ended && second.begun < first.ended;
}

std::uint32_t Tracker::stream(const std::string& name, bool reads) {
  const auto [found, is_new] = stream_numbers_.try_emplace(reads ? reversed(name) : name, static_cast<std::uint32_t>(streams_.size()));
  if (is_new) streams_.emplace_back();
  return found->second;
}

std::optional<std::uint32_t> Tracker::rank_of(std::uint32_t asking, std::int64_t process) const {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].process == process && ranks_[rank].machine == ranks_[asking].machine) return rank;
  return std::nullopt;
}

// On one machine the clock says what was first.
bool Tracker::is_ready(const Event& event) const {
  if (event.kind != IntentionRecord::Heard || !leaves_machine(*event.movement.stream)) return true;
  const auto found = stream_numbers_.find(reversed(*event.movement.stream));
  return found != stream_numbers_.end() && streams_[found->second].written >= event.movement.offset + event.movement.bytes;
}

void Tracker::add(std::uint32_t rank, const Event& event) {
  Rank& state = ranks_[rank];
  ++events_;
  switch (event.kind) {
    case IntentionRecord::Begin: return begin(rank, event);
    case IntentionRecord::End: return end(rank, event);
    case IntentionRecord::Whole:
    case IntentionRecord::Access: ++state.calls; return;
    case IntentionRecord::Process:
      state.process = event.movement.process;
      state.machine = event.movement.device * 31 + event.movement.file;
      return;
    case IntentionRecord::Mapped: return mapped(rank, event.movement);
    case IntentionRecord::Unmapped: return unmapped(rank, event.movement);
    case IntentionRecord::Packed:
    case IntentionRecord::Unpacked: return by_callback(rank, event);
    case IntentionRecord::Held: return by_value(rank, event);
    default:
      if (trace::is_movement(event.kind)) move(rank, event);
  }
}

void Tracker::mapped(std::uint32_t rank, const Movement& moved) {
  unmapped(rank, moved);
  auto& mappings = ranks_[rank].mappings;
  const auto [found, is_new] = segment_numbers_.try_emplace({ranks_[rank].machine, moved.device, moved.file}, static_cast<std::uint32_t>(segments_.size()));
  if (is_new) segments_.emplace_back();
  const Mapping one{moved.to, moved.to + moved.bytes, found->second, moved.offset};
  mappings.insert(std::upper_bound(mappings.begin(), mappings.end(), one.from, [](std::uint64_t at, const Mapping& other) { return at < other.from; }), one);
}

void Tracker::unmapped(std::uint32_t rank, const Movement& moved) {
  std::erase_if(ranks_[rank].mappings, [&](const Mapping& one) { return one.from < moved.to + moved.bytes && moved.to < one.to; });
}

void Tracker::begin(std::uint32_t rank, const Event& event) {
  Rank& state = ranks_[rank];
  const auto number = forgotten_ + static_cast<std::uint32_t>(operations_.size());
  if (operations_.size() >= kMostOperations) {
    operations_.pop_front();
    ++forgotten_;
  }
  operations_.push_back({rank, ++state.calls, event.shape, event.given_from, event.address, events_});
  operations_.back().order = number;
  if (event.shape->form == IntentionForm::Collective) operations_.back().number = ++state.collectives[event.shape->group->uid];
  const TrackedOperation& made = operations_.back();
  state.open[event.post] = number;
  if (watcher_) watcher_->begins(number, made);
  if (event.shape->gives.empty()) return;
  if (state.recent.size() >= kRecent) state.recent.erase(state.recent.begin());
  state.recent.push_back(number);
  for (std::size_t i = 0; i < event.shape->gives.size(); ++i) {
    if (event.shape->gives[i].bytes() == 0 || !event.shape->gives[i].type->flat.known) continue;
    const auto [first, last] = event.shape->gives[i].bounds();
    const std::uint64_t address = made.given_at(i) + static_cast<std::uint64_t>(first);
    std::uint64_t at = address;
    const Pieces all = pieces(rank, address, static_cast<std::uint64_t>(last - first));
    for (std::size_t k = 0; k < all.size(); ++k) {
      labels(all[k].place).set(all[k].place.address, all[k].bytes, {number, kNoHop, at});
      at += all[k].bytes;
    }
  }
  if (!held_) return;
  if (const auto held = held_->find({rank, event.post}); held != held_->end())
    for (const HeldBlock& one : held->second) was_packed(rank, made, one);
}

void Tracker::end(std::uint32_t rank, const Event& event) {
  Rank& state = ranks_[rank];
  const auto found = state.open.find(event.post);
  if (found == state.open.end()) return;
  const std::uint32_t number = found->second;
  state.open.erase(found);
  kept_own_.erase(kept_own_.lower_bound({number, 0}), kept_own_.lower_bound({number + 1, 0}));
  if (!is_known(number)) return;
  TrackedOperation& one = operation(number);
  one.ended = events_;
  one.bytes = event.told.bytes;
  if (event.shape) {  // a matched receive, of which only the probe was known
    one.shape = event.shape;
    one.taken_to = event.address;
  }
  if (watcher_) watcher_->ends(number, one, *this);
  if (event.told.error != 0 || event.told.cancelled) return;
  // The bytes of a reduction come from arithmetic.
  for (std::size_t i = 0; i < one.shape->takes.size(); ++i) look_at_taken(one, i);
}

// Which operation it should be that these labels are of: the one, or one that was under way together with it.
std::optional<std::uint32_t> Tracker::giver_of(const TrackedOperation& taker, std::size_t block, std::uint32_t labelled) const {
  const LoggedShape& shape = *taker.shape;
  const auto& peers = shape.group->peers();
  if (!is_known(labelled)) return std::nullopt;
  const auto fits = [&](std::uint32_t number) {
    if (!is_known(number)) return false;
    const TrackedOperation& one = operation(number);
    if (shape.form == IntentionForm::Collective) {
      const int peer = shape.takes[block].peer;
      return one.is_together_with(taker) && peer >= 0 && static_cast<std::size_t>(peer) < peers.size() &&
             static_cast<std::uint32_t>(peers[static_cast<std::size_t>(peer)]) == one.rank;
    }
    const auto& theirs = one.shape->group->peers();
    return one.shape->sends() && one.shape->dest >= 0 && static_cast<std::size_t>(one.shape->dest) < theirs.size() &&
           static_cast<std::uint32_t>(theirs[static_cast<std::size_t>(one.shape->dest)]) == taker.rank && !one.shape->gives.empty() && !one.delivered;
  };
  if (fits(labelled)) return labelled;
  const auto& recent = ranks_[operation(labelled).rank].recent;
  for (auto one = recent.rbegin(); one != recent.rend(); ++one)
    if (fits(*one) && are_aliases(*one, labelled)) return *one;
  return std::nullopt;
}

void Tracker::look_at_taken(const TrackedOperation& taker, std::size_t block) {
  const LoggedBlock& to = taker.shape->takes[block];
  const bool whole = taker.shape->form == IntentionForm::Collective;
  const std::uint64_t bytes = whole ? to.bytes() : std::min(taker.bytes, to.bytes());
  if (bytes == 0 || !to.type->flat.known) return;
  FollowedBytes& sum = followed_[taker.shape->call()];
  ++sum.blocks;
  sum.bytes += bytes;
  const auto bounds = to.bounds();
  const auto first = bounds.begin;  // not a structured binding: older clangs do not let lambdas have those
  const auto last = bounds.end;
  const std::uint64_t base = taker.taken_at(block);
  const std::vector<Labelled> there = labels_at(taker.rank, base + static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last - first));
  std::optional<std::uint32_t> giver;
  for (std::size_t i = 0; i < there.size() && !giver && i < kRecent; ++i) giver = giver_of(taker, block, there[i].label.operation);
  // What a rank gives to itself is often copied by loads and stores; whether it is right, its digest says.
  const auto& peers = taker.shape->group->peers();
  const bool own = whole && !taker.shape->group->inter() && to.peer == taker.shape->group->me && static_cast<std::size_t>(to.peer) < peers.size();
  if (!giver && own) {
    sum.followed += bytes;
    sum.inferred += bytes;
  }
  if (!giver) return;
  const TrackedOperation& from = operation(*giver);
  const auto given = given_block(*from.shape, *taker.shape, block);
  if (!given || from.shape->gives[*given].bytes() == 0) return;
  const LoggedBlock& gives = from.shape->gives[*given];
  const std::uint64_t source = from.given_at(*given);
  auto piece = there.begin();
  std::uint64_t followed = 0;
  std::uint64_t inferred = 0;
  each_unit(gives, to, bytes, [&](const Unit& unit) {
    const auto begin = static_cast<std::uint64_t>(unit.to - to.place - first);
    if (piece != there.begin() && (piece == there.end() || piece->at > begin))
      piece = std::lower_bound(there.begin(), there.end(), begin, [](const Labelled& one, std::uint64_t at) { return one.at + one.bytes <= at; });
    while (piece != there.end() && piece->at + piece->bytes <= begin) ++piece;
    for (auto one = piece; one != there.end() && one->at < begin + unit.size; ++one) {
      const std::uint64_t from_byte = std::max(one->at, begin);
      const std::uint64_t to_byte = std::min(one->at + one->bytes, begin + unit.size);
      const std::uint64_t wanted = source + static_cast<std::uint64_t>(unit.from - gives.place) + (from_byte - begin);
      if (one->label.address + (from_byte - one->at) != wanted || !are_aliases(one->label.operation, *giver)) continue;
      followed += to_byte - from_byte;
      if (one->label.inferred) inferred += to_byte - from_byte;
    }
  });
  if (own && followed == 0) followed = inferred = bytes;
  if (!whole && followed == bytes) operation(*giver).delivered = true;  // a message is received once
  if (!whole && followed > 0) operation(*giver).received = true;
  sum.followed += followed;
  sum.inferred += inferred;
  if (delivered_)
    delivered_({from.rank, from.call, *given, taker.rank, taker.call, block}, from, taker, bytes, followed);
}

void Tracker::move(std::uint32_t rank, const Event& event) {
  ++movements_;
  const Movement& moved = event.movement;
  Hop& hop = new_hop(rank, event.kind, moved.site);
  std::uint32_t reads = rank;
  std::uint32_t writes = rank;
  switch (event.kind) {
    case IntentionRecord::Sent:
    case IntentionRecord::Heard: {
      const bool hears = event.kind == IntentionRecord::Heard;
      if (moved.stream->empty()) {  // to the launcher, perhaps
        if (hears) transfer(hop, {}, pieces(rank, moved.to, moved.bytes));
        else if (!labels_at(rank, moved.from, moved.bytes).empty()) ++troubles_["a socket that is not one of TCP"];
        return;
      }
      const std::uint32_t number = stream(*moved.stream, hears);
      if (hears) return hear(hop, number, moved);
      transfer(hop, pieces(rank, moved.from, moved.bytes), Pieces(Piece{{Place::Kind::Stream, number, moved.offset}, moved.bytes}));
      streams_[number].written = std::max(streams_[number].written, moved.offset + moved.bytes);
      return;
    }
    case IntentionRecord::Pulled:
    case IntentionRecord::Pushed: {
      const auto other = rank_of(rank, moved.process);
      if (!other) {
        ++troubles_["the memory of a process that is no rank"];
        if (event.kind == IntentionRecord::Pulled) transfer(hop, {}, pieces(rank, moved.to, moved.bytes));
        return;
      }
      (event.kind == IntentionRecord::Pulled ? reads : writes) = *other;
      break;
    }
    default: break;
  }
  transfer(hop, pieces(reads, moved.from, moved.bytes), pieces(writes, moved.to, moved.bytes));
}

void Tracker::hear(Hop& hop, std::uint32_t stream, const Movement& moved) {
  StreamState& state = streams_[stream];
  if (moved.offset > 0 && state.read == moved.offset) hop.behind = state.read_to;
  transfer(hop, Pieces(Piece{{Place::Kind::Stream, stream, moved.offset}, moved.bytes}), pieces(hop.rank, moved.to, moved.bytes));
  state.labels.erase(moved.offset, moved.bytes);
  state.read = moved.offset + moved.bytes;
  state.read_to = moved.to + moved.bytes;
}

// Nothing to read from: bytes that nobody knows.
void Tracker::transfer(Hop& hop, const Pieces& from, const Pieces& to) {
  std::size_t reads = 0;
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Piece& target = to[i];
    for (std::uint64_t done = 0; done < target.bytes;) {
      if (reads >= from.size()) {
        labels(target.place).erase(target.place.address + done, target.bytes - done);
        break;
      }
      hop.bytes = std::min(target.bytes - done, from[reads].bytes - used);
      hop.from = from[reads].place;
      hop.from.address += used;
      hop.to = target.place;
      hop.to.address += done;
      hop.labels.clear();
      hop.overwritten.clear();
      labels(hop.from).find(hop.from.address, hop.bytes, hop.labels, 0);
      transfer_piece(hop);
      done += hop.bytes;
      used += hop.bytes;
      if (used == from[reads].bytes) ++reads, used = 0;
      hop.behind.reset();
    }
  }
}

void Tracker::transfer_piece(Hop& hop) {
  Labels& target = labels(hop.to);
  std::uint32_t number = kNoHop;
  if (watcher_) {
    target.find(hop.to.address, hop.bytes, hop.overwritten, 0);
    number = watcher_->moved(hop);
  }
  const bool covers_all = hop.labels.size() == 1 && hop.labels[0].bytes == hop.bytes;
  if (!covers_all) target.erase(hop.to.address, hop.bytes);
  for (const Labelled& one : hop.labels) {
    Label label = one.label;
    if (number != kNoHop) label.hop = number;
    label.inferred = label.inferred || hop.inferred;
    target.set(hop.to.address + one.at, one.bytes, label);
  }
}

}  // namespace reprise::flow
