// The values that reached a rank: what its calls brought besides the decisions in its log.
//
// With them a rank can run again alone (DR-MCAPI, section 3.2: data-replay). They lie in a log of their own beside the
// thread's, with the same chunks, commits and checksums, as a sequence of entries. An entry is what one call brought:
// a few numbers (its fields) and the bytes of the buffers that it wrote (its parts).
//
// Entries follow each other as the program got them. So most calls just take the next one. Only completions of
// operations with a request carry a number (of the post), because while recording such an operation is sometimes seen
// complete earlier than the program asks.
//
// A part whose bytes were logged not long ago is only referred to. Both sides keep the same list of what "not long ago"
// was, the writer as digests, the reader as bytes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "trace/chunk_writer.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::engine {

enum class DataKind : std::uint8_t {
  Call = 1,        // a call that has returned
  Completion = 2,  // an operation with a request; the first field is its number
  Partition = 3,   // one partition of such an operation; fields: its number, the partition
  World = 4,       // the first entry of a rank: what it is told about the world
  Failure = 5,     // a call that brings nothing else has failed; the first field says which
  Sent = 7,        // what the rank sends with the call that follows; fields: bytes, digest, and where to if it is an access
  Seen = 8,        // what others wrote to this rank's memory, as it saw it (seen_memory.hpp); fields: when, which, the call
  Loaded = 9,      // the same, seen by a load of the program (--fidelity access); fields: after which look, which, the call, the load
  Stopped = 6,     // the last entry: there is no more room (--max-size), although the run goes on
};

inline constexpr std::size_t kMaxDataFields = 64;
inline constexpr std::size_t kMaxDataParts = std::size_t{1} << 22;
inline constexpr std::uint64_t kMaxDataPart = std::uint64_t{1} << 40;

// Shorter parts cost less than looking for them.
inline constexpr std::size_t kSmallestRepeated = 128;
inline constexpr std::size_t kLargestRepeated = 4u << 20;
inline constexpr std::size_t kRepeatWindow = 32u << 20;

// Some bytes of the program's memory that belong to one part, in order.
struct DataRun {
  const void* from = nullptr;
  std::size_t size = 0;
};

// Of all these bytes, one after the other.
std::uint32_t digest_of(std::span<const DataRun> runs);

class DataRecorder {
 public:
  // `limit`: bytes of data after which the recording of data stops.
  Result<void> open(int dir_fd, const trace::LogIdentity& identity, const trace::Info& info, bool plain,
                    std::uint64_t limit);
  bool is_open() const { return open_; }

  // One entry. `parts` are the sizes of its parts, `runs` the bytes of all of them, one after the other.
  void add(DataKind kind, std::span<const std::int64_t> fields, std::span<const std::uint64_t> parts,
           std::span<const DataRun> runs);
  void finish(const trace::End& end);
  // After finish().
  void release() { writer_.release(); }
  void disown() {
    open_ = false;
    writer_.disown();
  }

 private:
  struct Digest {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Digest&) const = default;
  };
  struct Known {
    Digest digest;
    std::uint64_t number = 0;  // of the part among those that could be repeated
    std::uint64_t behind = 0;  // bytes of such parts up to and with this one
  };

  std::uint64_t look_for_repetition(std::span<const DataRun> runs, std::uint64_t size);
  void put(const void* from, std::size_t size);
  void begin_entry(std::uint64_t size);

  trace::ChunkWriter writer_;
  bool open_ = false;
  std::uint64_t limit_ = 0;
  std::uint64_t logged_ = 0;
  std::uint64_t left_ = 0;      // of the entry that is being written
  std::uint8_t* at_ = nullptr;  // in its current record
  std::size_t room_ = 0;
  std::uint64_t repeatables_ = 0;
  std::uint64_t repeatable_bytes_ = 0;
  std::vector<Known> known_;  // by digest
};

// Shared with those that it repeats, and that repeat it.
using DataPart = std::shared_ptr<const std::vector<std::uint8_t>>;

struct DataEntry {
  DataKind kind = DataKind::Call;
  std::vector<std::int64_t> fields;
  std::vector<DataPart> parts;

  std::int64_t field(std::size_t index) const { return index < fields.size() ? fields[index] : 0; }
};

class DataReader {
 public:
  static Result<DataReader> open(int dir_fd, const trace::LogIdentity& identity);

  // nullopt at the end: the run was cut off here, or logged no more.
  Result<std::optional<DataEntry>> next();
  bool stopped() const { return stopped_; }  // by --max-size

 private:
  explicit DataReader(trace::RankReader reader) : reader_(std::move(reader)) {}
  // The bytes of the next record into piece_; they stay until the next one is read. False at the end.
  Result<bool> read_piece();
  bool more();
  std::uint64_t take_varint();
  void take(std::vector<std::uint8_t>& into, std::uint64_t size);
  const char* read_entry(DataEntry& entry);
  Error damaged(const char* what) const;

  trace::RankReader reader_;
  std::string name_;
  std::span<const std::uint8_t> piece_;  // what is left of the current record
  bool last_piece_ = true;               // of its entry
  bool ok_ = true;                       // the entry has had all the bytes that were asked for
  bool cut_off_ = false;                 // the log ended in the middle of an entry
  std::optional<Error> trouble_;         // of the reader
  std::deque<DataPart> repeatable_;      // the last ones
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t entries_ = 0;
  bool stopped_ = false;
};

}  // namespace reprise::engine
