#include "engine/data_replayer.hpp"

namespace reprise::engine {

void DataReplayer::lay_aside(DataEntry entry) {
  const auto post = static_cast<std::uint64_t>(entry.field(0));
  if (freed_.erase(post) > 0) arrived_.push_back(std::move(entry));
  else early_[post] = std::move(entry);
}

DataReplayer::Got DataReplayer::step(DataEntry& out, bool& aside) {
  if (next_) {
    out = std::move(*next_);
    next_.reset();
    aside = false;
    return Got::Entry;
  }
  auto entry = reader_.next();
  if (!entry) {
    why_ = entry.error().what;
    return Got::Damaged;
  }
  if (!*entry) return Got::End;
  aside = (*entry)->kind == DataKind::Completion;
  if (aside) lay_aside(std::move(**entry));
  else out = std::move(**entry);
  return Got::Entry;
}

DataReplayer::Got DataReplayer::next(DataKind kind, DataEntry& out) {
  for (bool aside = true;;) {
    const Got got = step(out, aside);
    if (got != Got::Entry) return got;
    if (aside) continue;
    if (out.kind == kind) return Got::Entry;
    why_ = "the recorded values that come next are those of another call";
    return Got::Wrong;
  }
}

DataReplayer::Got DataReplayer::completion(std::uint64_t post, DataEntry& out) {
  for (bool aside = true;;) {
    const auto found = early_.find(post);
    if (found != early_.end()) {
      out = std::move(found->second);
      early_.erase(found);
      return Got::Entry;
    }
    const Got got = step(out, aside);
    if (got != Got::Entry) return got;
    if (aside) continue;
    why_ = "the recorded values that come next are not those of operation " + std::to_string(post);
    return Got::Wrong;
  }
}

DataReplayer::Got DataReplayer::partition(std::uint64_t post, std::int64_t partition, DataEntry& out) {
  const Got got = next(DataKind::Partition, out);
  if (got != Got::Entry || (out.field(0) == static_cast<std::int64_t>(post) && out.field(1) == partition)) return got;
  why_ = "the recorded values that come next are those of another partition";
  return Got::Wrong;
}

bool DataReplayer::numbered(DataKind kind, std::int64_t number, DataEntry& out) {
  for (bool aside = true; aside;)
    if (step(out, aside) != Got::Entry) return false;  // whoever needs an entry will find out
  if (out.kind == kind && out.field(0) == number) return true;
  next_ = std::move(out);
  return false;
}

bool DataReplayer::freed(std::uint64_t post, DataEntry& out) {
  const auto found = early_.find(post);
  if (found == early_.end()) {
    freed_.insert(post);
    return false;
  }
  out = std::move(found->second);
  early_.erase(found);
  return true;
}

}  // namespace reprise::engine
