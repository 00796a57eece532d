// Solo replay: gives a thread the values that reached it in the recorded run, in the order in which it asks.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/data_log.hpp"

namespace reprise::engine {

class DataReplayer {
 public:
  enum class Got {
    Entry,
    End,      // the recorded run was cut off before it got this, or its data was no longer logged
    Wrong,    // why() says what is there in its place
    Damaged,  // why() says where
  };

  explicit DataReplayer(DataReader reader) : reader_(std::move(reader)) {}

  // What the call that is being made brought.
  Got call(DataEntry& out) { return next(DataKind::Call, out); }
  Got world(DataEntry& out) { return next(DataKind::World, out); }
  // What the operation with this number brought. It may have been logged before the program asked for it.
  Got completion(std::uint64_t post, DataEntry& out);
  Got partition(std::uint64_t post, std::int64_t partition, DataEntry& out);
  // What the call that is being made sent then.
  Got sent(DataEntry& out) { return next(DataKind::Sent, out); }
  // Did the call with this number fail? Asked of calls that bring nothing else.
  bool failure(std::int64_t number, DataEntry& out) { return numbered(DataKind::Failure, number, out); }
  // What the rank saw of its memory at that moment, if there was something new.
  bool seen(std::int64_t when, DataEntry& out) { return numbered(DataKind::Seen, when, out); }
  // What the first load behind that moment to show something new showed, if the next entry is that.
  bool loaded(std::int64_t when, DataEntry& out) { return numbered(DataKind::Loaded, when, out); }
  // The program will not ask for it any more: its outcome, if that was passed already.
  bool freed(std::uint64_t post, DataEntry& out);
  // Outcomes of such operations that were passed since this was asked last.
  std::vector<DataEntry> take_arrived() { return std::exchange(arrived_, {}); }

  bool stopped() const { return reader_.stopped(); }
  const std::string& why() const { return why_; }

 private:
  Got next(DataKind kind, DataEntry& out);
  // Only if it is of this kind, and its first field is this.
  bool numbered(DataKind kind, std::int64_t number, DataEntry& out);
  // Reads one entry, and lays it aside if it is a completion.
  Got step(DataEntry& out, bool& aside);
  void lay_aside(DataEntry entry);

  DataReader reader_;
  std::unordered_map<std::uint64_t, DataEntry> early_;
  std::unordered_set<std::uint64_t> freed_;
  std::vector<DataEntry> arrived_;
  std::optional<DataEntry> next_;  // was looked at, but is for another call
  std::string why_;
};

}  // namespace reprise::engine
