#include "flow/journey.hpp"

#include <algorithm>

#include "flow/units.hpp"

namespace reprise::flow {
namespace {

constexpr std::size_t kMostHops = 4u << 20;
constexpr std::size_t kMostLinks = 1000;

}  // namespace

bool meets(const LoggedBlock& block, std::uint64_t address, const Place& place, std::uint32_t rank, std::uint64_t bytes) {
  if (place.kind != Place::Kind::Private || place.number != rank || block.bytes() == 0) return false;
  const auto [begin, end] = block.bounds();
  return place.address < address + static_cast<std::uint64_t>(end) && address + static_cast<std::uint64_t>(begin) < place.address + bytes;
}

std::uint64_t Journey::bytes() const {
  return taker_.shape->form == trace::IntentionForm::Collective ? taken().bytes() : std::min(taker_.bytes, std::min(given().bytes(), taken().bytes()));
}

std::optional<std::uint64_t> Journey::carries(const Hop& hop, std::uint64_t source, std::uint32_t before) const {
  for (const Labelled& one : hop.labels)
    if (one.label.hop == before && source >= one.label.address && source - one.label.address < one.bytes && is_of_giver(one.label.operation))
      return one.at + (source - one.label.address);
  return std::nullopt;
}

const Labelled* Journey::first_label(const Hop& hop) const {
  const auto found = std::find_if(hop.labels.begin(), hop.labels.end(), [&](const Labelled& one) { return is_of_giver(one.label.operation); });
  return found == hop.labels.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> Journey::first_at(const Hop& hop) const {
  const auto [lowest, highest] = given().bounds();
  const std::uint64_t given_at = giver_.given_at(delivery_.given);
  const std::uint64_t begin = given_at + static_cast<std::uint64_t>(lowest);
  const std::uint64_t end = given_at + static_cast<std::uint64_t>(highest);
  for (const Labelled& one : hop.labels) {
    const std::uint64_t first = std::max(one.label.address, begin);
    if (is_of_giver(one.label.operation) && first < std::min(one.label.address + one.bytes, end)) return one.at + (first - one.label.address);
  }
  return std::nullopt;
}

// Whoever asks for one byte asks for the next one next.
const Labelled* Journey::label_of(std::uint32_t hop, std::uint64_t source) const {
  constexpr std::size_t kMany = 8;
  const auto& labels = (*hops_)[hop].labels;
  std::size_t* const last = labels.size() > kMany ? &last_labels_[hop] : nullptr;
  const std::size_t first = last ? *last : 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::size_t at = first + i < labels.size() ? first + i : first + i - labels.size();
    const Labelled& one = labels[at];
    if (source < one.label.address || source - one.label.address >= one.bytes || !is_of_giver(one.label.operation)) continue;
    if (last) *last = at;
    return &one;
  }
  return nullptr;
}

// What one movement has brought may have come to it in parts.
void Journey::add(Stretch stretch) {
  for (std::uint64_t left = stretch.bytes; left > 0; left -= stretch.bytes) {
    stretch.bytes = left;
    std::size_t links = 0;
    for (std::uint32_t hop = stretch.hop; hop != kNoHop && links < kMostLinks; ++links) {
      const Labelled* const found = label_of(hop, stretch.from);
      if (!found) break;
      stretch.bytes = std::min(stretch.bytes, found->label.address + found->bytes - stretch.from);
      hop = found->label.hop;
    }
    stretches_.push_back(stretch);
    stretch.offset += stretch.bytes;
    stretch.from += stretch.bytes;
    stretch.to += stretch.bytes;
  }
}

std::vector<Link> Journey::way(std::uint32_t last_hop, std::uint64_t source) const {
  std::vector<Link> links;
  for (std::uint32_t hop = last_hop; hop != kNoHop && links.size() < kMostLinks;) {
    const Labelled* const found = label_of(hop, source);
    if (!found) break;
    links.push_back({hop, found->at + (source - found->label.address)});
    hop = found->label.hop;
  }
  std::reverse(links.begin(), links.end());
  return links;
}

Trail::Trail(const std::set<Delivery>& wanted, const std::set<StrayWrite>& written) {
  for (const StrayWrite& one : written) written_[one];
  for (const Delivery& one : wanted) {
    Journey& journey = journeys_.emplace_back();
    journey.delivery_ = one;
    journey.hops_ = &hops_;
  }
}

void Trail::begins(std::uint32_t operation, const TrackedOperation& what) {
  for (Journey& one : journeys_) {
    const Delivery& wanted = one.delivery_;
    if (wanted.from == what.rank && wanted.given_by == what.call) {
      one.giver_number_ = operation;
      one.giver_ = what;
      one.hops_begin_ = static_cast<std::uint32_t>(hops_.size());
      one.aliases_ = open_[what.rank];
      one.aliases_.insert(operation);
    } else if (wanted.from == what.rank && one.giver_number_ && open_[what.rank].contains(*one.giver_number_)) {
      one.aliases_.insert(operation);
    }
    if (wanted.to == what.rank && wanted.taken_by == what.call) {
      one.taker_number_ = operation;
      one.taker_ = what;
    }
  }
  for (auto& [one, watched] : written_) {
    if (one.rank != what.rank || one.call != what.call || one.block >= what.shape->takes.size()) continue;
    watched.operation = operation;
    watched.address = what.taken_at(one.block) + static_cast<std::uint64_t>(one.offset);
  }
  open_[what.rank].insert(operation);
}

void Trail::look_for_writers(const Hop& hop) {
  for (auto& [one, watched] : written_) {
    const bool there = hop.to.kind == Place::Kind::Private && hop.to.number == one.rank && watched.address >= hop.to.address &&
                       watched.address - hop.to.address < hop.bytes;
    if (watched.operation && there && open_[one.rank].contains(*watched.operation)) watched.by = hop;
  }
}

const Hop* Trail::writer_of(const StrayWrite& written) const {
  const auto found = written_.find(written);
  return found == written_.end() || !found->second.by ? nullptr : &*found->second.by;
}

void Trail::ends(std::uint32_t operation, const TrackedOperation& what, const Tracker& tracker) {
  open_[what.rank].erase(operation);
  for (Journey& one : journeys_) {
    if (one.giver_number_ == operation) one.given_until_ = hops_.size();
    if (one.giver_number_ && what.is_together_with(one.giver_)) one.member_until_.emplace(what.rank, hops_.size());
    if (one.taker_number_ == operation && !one.complete_) arrive(one, what, tracker);
  }
}

void Trail::arrive(Journey& journey, const TrackedOperation& taker, const Tracker& tracker) {
  journey.taker_ = taker;
  const Delivery& wanted = journey.delivery_;
  if (!journey.giver_number_ || wanted.given >= journey.giver_.shape->gives.size() || wanted.taken >= taker.shape->takes.size()) return;
  const LoggedBlock& gives = journey.given();
  const LoggedBlock& takes = journey.taken();
  if (gives.bytes() == 0 || takes.bytes() == 0) return;
  journey.complete_ = true;
  journey.hops_end_ = hops_.size();
  const std::uint64_t from = journey.giver_.given_at(wanted.given);
  const std::uint64_t to = taker.taken_at(wanted.taken);
  each_unit(gives, takes, journey.bytes(), [&](const Unit& unit) {
    const std::uint64_t source = from + static_cast<std::uint64_t>(unit.from - gives.place);
    const std::uint64_t target = to + static_cast<std::uint64_t>(unit.to - takes.place);
    std::uint64_t done = 0;
    const auto add = [&](std::uint64_t until, bool arrived, std::uint32_t hop) {
      if (until <= done) return;
      journey.add({unit.begins + done, until - done, source + done, target + done, arrived, hop});
      done = until;
    };
    for (const Labelled& one : tracker.labels_at(taker.rank, target, unit.size)) {
      add(one.at, false, kNoHop);
      const bool right = journey.is_of_giver(one.label.operation) && one.label.address == source + one.at;
      add(one.at + one.bytes, right, right ? one.label.hop : kNoHop);
    }
    add(unit.size, false, kNoHop);
  });
}

bool Trail::matters(const Hop& hop) const {
  const auto is_open = [&](std::uint32_t rank, const std::optional<std::uint32_t>& number) {
    const auto found = open_.find(rank);
    return number && found != open_.end() && found->second.contains(*number);
  };
  for (const Journey& one : journeys_) {
    const auto is_its = [&](const Labelled& label) { return one.is_of_giver(label.label.operation); };
    if (std::any_of(hop.labels.begin(), hop.labels.end(), is_its)) return true;  // also afterwards: what was for others?
    if (one.complete_) continue;
    if (std::any_of(hop.overwritten.begin(), hop.overwritten.end(), is_its)) return true;
    const Delivery& wanted = one.delivery_;
    if (is_open(wanted.to, one.taker_number_) && wanted.taken < one.taker_.shape->takes.size() &&
        meets(one.taken(), one.taker_.taken_at(wanted.taken), hop.to, wanted.to, hop.bytes))
      return true;
    if (is_open(wanted.from, one.giver_number_) && wanted.given < one.giver_.shape->gives.size() &&
        meets(one.given(), one.giver_.given_at(wanted.given), hop.to, wanted.from, hop.bytes))
      return true;
  }
  return false;
}

std::uint32_t Trail::moved(const Hop& hop) {
  if (!written_.empty()) look_for_writers(hop);
  if (hops_.size() >= kMostHops || !matters(hop)) return kNoHop;
  hops_.push_back(hop);
  return static_cast<std::uint32_t>(hops_.size() - 1);
}

const Journey* Trail::find(const Delivery& delivery) const {
  const auto found = std::find_if(journeys_.begin(), journeys_.end(), [&](const Journey& one) { return one.delivery_ == delivery; });
  return found == journeys_.end() || !found->complete_ ? nullptr : &*found;
}

}  // namespace reprise::flow
