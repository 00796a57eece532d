// Reads one thread's log of a rank: closed blocks from rank-N.log, then the open chunk, in order, one chunk in memory at a time.
//
// Used by the preload library in replay and by the commands; it never throws. Every error names file and offset.
// Files are opened relative to the trace's directory and never through a symbolic link (O_NOFOLLOW).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "trace/chunk_codec.hpp"
#include "trace/chunk_writer.hpp"
#include "trace/format.hpp"
#include "trace/records.hpp"

namespace reprise::trace {

class RankReader {
 public:
  // `stream`: 0 is the main thread's.
  static Result<RankReader> open(int dir_fd, std::uint32_t rank, std::uint64_t trace_id, std::uint32_t stream = 0);
  RankReader(RankReader&&) noexcept;
  RankReader& operator=(RankReader&&) noexcept;
  ~RankReader();

  const Info& info() const;
  std::string_view info(std::string_view key) const;  // empty when absent

  // The next record of the stream; a PAUSE only if it carries hits. nullopt at the end of the log. The payload is valid
  // until the next call. After an error, the same error again.
  Result<std::optional<Record>> next();

  // The last record makes no sense to whoever reads it: the error that says so, with file and offset (of the block; in an
  // open file, behind the record).
  Error damaged_record(std::string_view what) const;

  // The outcome of wildcard receive `ordinal`, whose slot was still pending when its chunk was closed. Searches
  // forward from the current chunk through the late columns only, with a bounded cache; kPending if nobody ever knew.
  // Meant to be asked when the receive's WILDCARD record has just been read; the order of asking should be rising.
  Result<LateOutcome> late(std::uint64_t ordinal);

  // Was this post (numbered from 0 through the log) cancelled in time? Asked when the post is made, in rising order.
  Result<bool> cancelled(std::uint64_t post);

  // How the log ends. Known at once (read from the END block or the open file's live words).
  const End& end() const;
  // Calls in the whole log, predicted or not. Known at once.
  std::uint64_t total_events() const;
  // True when the log has no END block: the rank was cut off (or runs) and the log has not been sealed.
  bool unsealed() const;

 private:
  struct State;
  explicit RankReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Turns what a killed rank left (rank-N.open) into a last CHUNK block and an END block, so that everything in the log
// is covered by checksums. Does nothing for a log that is closed already. The owner must be dead.
Result<void> seal(int dir_fd, std::uint32_t rank, std::uint64_t trace_id, std::uint32_t stream = 0);

// The streams of this rank that have a log, rising; 0 is the main thread's.
std::vector<std::uint32_t> streams_of(int dir_fd, std::uint32_t rank);
// Of a log that cannot be read: was its process killed while it made the log's files, before anything could be in them?
bool never_begun(int dir_fd, std::uint32_t rank, std::uint32_t stream);
// Is there such a log at all? Of what lies beside the logs of threads (trace/format.hpp).
bool has_log(int dir_fd, std::uint32_t rank, std::uint32_t stream);

}  // namespace reprise::trace
