// One rank's files as they lie on disk: finds out at once, from block headers alone, what is there and what to believe.
//
// The rules (docs/trace-format.md, "What a reader believes"): a log with an END block is complete and its open file, if
// one is left, is ignored. Without END there must be an open file. It holds the chunk after the last whole block (and a
// torn block behind that is ignored: the open file has its content), or the same chunk as the last whole block (killed
// while closing or sealing it), and then the block is believed. Everything else is damage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/blocks.hpp"
#include "trace/chunk_codec.hpp"
#include "trace/file_io.hpp"

namespace reprise::trace {

class LogFile {
 public:
  static Result<LogFile> open(int dir_fd, const LogIdentity& identity);

  const std::string& name() const { return name_; }
  const std::string& open_name() const { return open_name_; }
  const Info& info() const { return info_; }
  const End& end() const { return end_; }
  bool sealed() const { return sealed_; }

  // Whole chunk blocks: the first one's offset, their number, and the offset behind the last one.
  std::uint64_t chunks_begin() const { return chunks_begin_; }
  std::uint64_t chunks_end() const { return chunks_end_; }
  std::uint64_t chunks() const { return chunks_; }
  std::uint64_t chunk_events() const { return events_; }
  std::uint64_t chunk_wildcards() const { return wildcards_; }
  // Operations that were cancelled, in the whole log.
  std::uint64_t cancels() const { return cancels_ + open_counts_.cancels; }

  // The records of the open chunk, with a PAUSE for the hits behind the last one. Empty for a sealed log.
  const std::vector<std::uint8_t>& open_records() const { return open_records_; }
  const ChunkCounts& open_counts() const { return open_counts_; }

  // The block at `offset`, which must lie whole within the file.
  Result<BlockHeader> header_at(std::uint64_t offset) const;
  // Its payload, checked. Returned in `out` so that a caller can reuse the memory.
  Result<void> read_payload(std::uint64_t offset, const BlockHeader& header, std::vector<std::uint8_t>& out) const;

 private:
  LogFile() = default;

  Result<void> look(int dir_fd, const LogIdentity& identity);
  bool moved() const;
  Result<void> start(int dir_fd, const LogIdentity& identity);
  Result<void> read_size();
  Result<void> read_start(const LogIdentity& identity);
  Result<void> scan();
  Result<void> check_chunk(std::uint64_t offset, const BlockHeader& header) const;
  Result<void> read_end(std::uint64_t offset, const BlockHeader& header);
  Result<void> read_open(int dir_fd, const LogIdentity& identity);
  Result<void> choose_open_chunk(std::uint64_t number, std::uint64_t commit);
  Result<void> read_open_records(std::uint64_t commit);

  std::string name_;
  std::string open_name_;
  Fd log_;
  Fd open_;
  std::uint64_t size_ = 0;
  Info info_;
  End end_;
  bool sealed_ = false;
  std::string torn_;  // what is wrong behind the last whole block, if anything
  std::uint64_t chunks_begin_ = 0;
  std::uint64_t chunks_end_ = 0;
  std::optional<std::uint64_t> open_number_;  // the open file's chunk
  std::uint64_t last_chunk_ = 0;              // offset of the last whole block
  std::uint64_t chunks_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t wildcards_ = 0;
  std::uint64_t cancels_ = 0;
  std::vector<std::uint8_t> open_records_;
  ChunkCounts open_counts_;
};

// Events, wildcards and late outcomes in some records; the reason if they are not well formed, and where.
Result<ChunkCounts> count_records(std::span<const std::uint8_t> records, const std::string& file, std::uint64_t offset);

}  // namespace reprise::trace
