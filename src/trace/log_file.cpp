#include "trace/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "trace/records.hpp"

namespace reprise::trace {
namespace {

Error unreadable(const std::string& file, int error) {
  return Error{file + ": cannot be read: " + std::strerror(error)};
}

}  // namespace

// A rank that is still at work may close its chunk, or end, while we look; then what we saw first does not fit what we
// saw last, and we look again. Whole blocks never change, so each look goes on where the one before it stopped: it
// takes microseconds, however long the log is, and a rank takes hundreds of them to fill a chunk.
Result<LogFile> LogFile::open(int dir_fd, const LogIdentity& identity) {
  constexpr int kLooks = 1000;
  LogFile log;
  for (int look = 1;; ++look) {
    const auto seen = log.look(dir_fd, identity);
    if (log.moved() && look < kLooks) continue;
    if (!seen) return seen.error();
    return log;
  }
}

Result<void> LogFile::look(int dir_fd, const LogIdentity& identity) {
  if (chunks_begin_ == 0)
    if (auto done = start(dir_fd, identity); !done) return done.error();
  torn_.clear();
  open_number_.reset();
  open_records_.clear();
  open_counts_ = {};
  if (auto done = read_size(); !done) return done.error();
  if (auto done = scan(); !done) return done.error();
  if (!sealed_)
    if (auto done = read_open(dir_fd, identity); !done) return done.error();
  return {};
}

Result<void> LogFile::start(int dir_fd, const LogIdentity& identity) {
  name_ = file_name(FileKind::Log, identity).data();
  open_name_ = file_name(FileKind::Open, identity).data();
  const int fd = open_file(dir_fd, name_.c_str(), O_RDONLY);
  if (fd < 0) return unreadable(name_, -fd);
  log_ = Fd(fd);
  if (auto done = read_size(); !done) return done.error();
  return read_start(identity);
}

Result<void> LogFile::read_size() {
  struct stat facts;
  if (::fstat(log_.get(), &facts) != 0) return unreadable(name_, errno);
  size_ = static_cast<std::uint64_t>(facts.st_size);
  return {};
}

// Has the rank closed a chunk since we began to look?
bool LogFile::moved() const {
  struct stat facts;
  if (log_.get() < 0 || sealed_ || ::fstat(log_.get(), &facts) != 0) return false;
  if (static_cast<std::uint64_t>(facts.st_size) != size_) return true;
  std::uint8_t word[sizeof(std::uint64_t)];
  if (!open_number_ || read_all(open_.get(), word, sizeof word, kLiveOffset) != sizeof word) return false;
  return get_fixed<std::uint64_t>(word) != *open_number_;
}

Result<void> LogFile::read_start(const LogIdentity& identity) {
  std::array<std::uint8_t, kFileHeaderSize> bytes;
  const std::int64_t got = read_all(log_.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return unreadable(name_, static_cast<int>(-got));
  if (auto done = check_file_header({bytes.data(), static_cast<std::size_t>(got)}, FileKind::Log, identity, name_);
      !done)
    return done.error();
  const auto header = header_at(kFileHeaderSize);
  if (!header) return header.error();
  if (header->kind != BlockKind::Info) return damaged(name_, kFileHeaderSize, "the first block is not an INFO block");
  std::vector<std::uint8_t> payload;
  if (auto done = read_payload(kFileHeaderSize, *header, payload); !done) return done.error();
  if (const char* wrong = decode_info(payload, info_)) return damaged(name_, kFileHeaderSize, wrong);
  chunks_begin_ = chunks_end_ = kFileHeaderSize + kBlockHeaderSize + header->payload_size;
  return {};
}

Result<BlockHeader> LogFile::header_at(std::uint64_t offset) const {
  if (offset == size_) return damaged(name_, offset, "the log is cut off here");
  std::array<std::uint8_t, kBlockHeaderSize> bytes;
  const std::int64_t got = read_all(log_.get(), bytes.data(), bytes.size(), offset);
  if (got < 0) return unreadable(name_, static_cast<int>(-got));
  if (static_cast<std::size_t>(got) < bytes.size())
    return damaged(name_, offset, "the log is cut off within this block's header");
  BlockHeader header;
  if (const char* wrong = decode_block_header(bytes, header)) return damaged(name_, offset, wrong);
  if (header.payload_size > size_ - offset - kBlockHeaderSize)
    return damaged(name_, offset, "the log is cut off within this block");
  return header;
}

Result<void> LogFile::read_payload(std::uint64_t offset, const BlockHeader& header,
                                   std::vector<std::uint8_t>& out) const {
  out.resize(header.payload_size);
  const std::int64_t got = read_all(log_.get(), out.data(), out.size(), offset + kBlockHeaderSize);
  if (got < 0) return unreadable(name_, static_cast<int>(-got));
  if (static_cast<std::size_t>(got) < out.size()) return damaged(name_, offset, "the log is cut off within this block");
  if (!payload_matches(header, out)) return damaged(name_, offset, "the block's checksum is wrong");
  return {};
}

// Hops over the chunk blocks to END, or to where the log stops making sense.
Result<void> LogFile::scan() {
  while (chunks_end_ != size_) {
    const auto header = header_at(chunks_end_);
    if (!header) {
      torn_ = header.error().what;
      return {};
    }
    if (header->kind == BlockKind::End) return read_end(chunks_end_, *header);
    if (auto done = check_chunk(chunks_end_, *header); !done) {
      torn_ = done.error().what;
      return {};
    }
    last_chunk_ = chunks_end_;
    chunks_end_ += kBlockHeaderSize + header->payload_size;
    ++chunks_;
    events_ += header->events;
    wildcards_ += header->wildcards;
    cancels_ += header->cancels;
  }
  return {};
}

Result<void> LogFile::check_chunk(std::uint64_t offset, const BlockHeader& header) const {
  if (header.kind != BlockKind::Chunk) return damaged(name_, offset, "a second INFO block");
  if (header.number != chunks_) return damaged(name_, offset, "the chunk's number is not the next one");
  if (header.first_event != events_ || header.first_wildcard != wildcards_)
    return damaged(name_, offset, "the chunk does not start where the one before it ends");
  // No chunk can hold more records than bytes, nor more hits per record than 32 bits count.
  if (header.events > std::uint64_t{kChunkCapacity} << 32 || events_ + header.events < events_)
    return damaged(name_, offset, "the chunk claims more events than fit");
  return {};
}

Result<void> LogFile::read_end(std::uint64_t offset, const BlockHeader& header) {
  std::vector<std::uint8_t> payload;
  if (auto done = read_payload(offset, header, payload); !done) return done.error();
  if (const char* wrong = decode_end(payload, end_)) return damaged(name_, offset, wrong);
  if (header.number != chunks_ || header.first_event != events_ || header.first_wildcard != wildcards_)
    return damaged(name_, offset, "the END block does not fit the chunks before it");
  const std::uint64_t behind = offset + kBlockHeaderSize + header.payload_size;
  if (behind != size_) return damaged(name_, behind, "there are bytes behind the END block");
  sealed_ = true;
  return {};
}

Result<void> LogFile::read_open(int dir_fd, const LogIdentity& identity) {
  const int fd = open_file(dir_fd, open_name_.c_str(), O_RDONLY);
  if (fd == -ENOENT) {
    if (!torn_.empty()) return Error{torn_};
    return damaged(name_, size_, "the log is cut off here, and there is no " + open_name_);
  }
  if (fd < 0) return unreadable(open_name_, -fd);
  open_ = Fd(fd);
  std::array<std::uint8_t, kLiveOffset + sizeof(LiveWords)> bytes;
  const std::int64_t got = read_all(fd, bytes.data(), bytes.size(), 0);
  if (got < 0) return unreadable(open_name_, static_cast<int>(-got));
  const std::span<const std::uint8_t> start(bytes.data(), static_cast<std::size_t>(got));
  if (auto done = check_file_header(start, FileKind::Open, identity, open_name_); !done) return done.error();
  if (start.size() < bytes.size()) return damaged(open_name_, start.size(), "the live words are cut off");
  const auto word = [&](std::size_t offset) { return get_fixed<std::uint64_t>(bytes.data() + kLiveOffset + offset); };
  const std::uint64_t end = word(offsetof(LiveWords, end));
  if ((end & UINT32_MAX) > static_cast<std::uint64_t>(EndKind::Stopped))
    return damaged(open_name_, kLiveOffset + offsetof(LiveWords, end), "unknown kind of end");
  end_.kind = static_cast<EndKind>(end & UINT32_MAX);
  end_.value = static_cast<std::int32_t>(end >> 32);
  end_.in_call = word(offsetof(LiveWords, in_call)) != 0;
  open_number_ = word(offsetof(LiveWords, chunk_number));
  return choose_open_chunk(*open_number_, word(offsetof(LiveWords, commit)));
}

Result<void> LogFile::choose_open_chunk(std::uint64_t number, std::uint64_t commit) {
  if (number == chunks_) return read_open_records(commit);
  if (chunks_ == 0 || number != chunks_ - 1) {
    if (!torn_.empty()) return Error{torn_};
    return damaged(open_name_, kLiveOffset,
                   "it holds chunk " + std::to_string(number) + ", but " + name_ + " holds " + std::to_string(chunks_) +
                       " chunks");
  }
  // Killed while this chunk was closed or sealed; a torn END block may follow. The block is whole by its length;
  // whether by its content, the checksum says.
  const auto header = header_at(last_chunk_);
  if (!header) return header.error();
  std::vector<std::uint8_t> payload;
  const auto whole = read_payload(last_chunk_, *header, payload);
  if (whole) return {};
  if (commit == 0) return whole.error();
  chunks_end_ = last_chunk_;
  --chunks_;
  events_ -= header->events;
  wildcards_ -= header->wildcards;
  cancels_ -= header->cancels;
  return read_open_records(commit);
}

Result<void> LogFile::read_open_records(std::uint64_t commit) {
  const std::uint64_t size = commit & UINT32_MAX;
  const auto hits = static_cast<std::uint32_t>(commit >> 32);
  if (size > kChunkCapacity)
    return damaged(open_name_, kLiveOffset + offsetof(LiveWords, commit), "more bytes are committed than fit");
  open_records_.resize(size);
  const std::int64_t got = read_all(open_.get(), open_records_.data(), size, kRecordsOffset);
  if (got < 0) return unreadable(open_name_, static_cast<int>(-got));
  if (static_cast<std::uint64_t>(got) < size)
    return damaged(open_name_, kRecordsOffset + static_cast<std::uint64_t>(got), "the committed records are cut off");
  if (hits > 0) {
    constexpr unsigned kHead = static_cast<unsigned>(Kind::Pause) << 4;
    std::uint8_t pause[1 + kMaxVarint] = {static_cast<std::uint8_t>(kHead | std::min(hits, 15u))};
    std::uint8_t* const pause_end = hits >= 15 ? put_varint(pause + 1, hits - 15) : pause + 1;
    open_records_.insert(open_records_.end(), pause, pause_end);
  }
  auto counts = count_records(open_records_, open_name_, kRecordsOffset);
  if (!counts) return counts.error();
  open_counts_ = *counts;
  return {};
}

Result<ChunkCounts> count_records(std::span<const std::uint8_t> records, const std::string& file,
                                  std::uint64_t offset) {
  ChunkCounts counts;
  ByteReader in(records);
  Record record;
  std::size_t start = 0;
  while (read_record(in, record)) {
    counts.events += record.hits + (record.kind == Kind::Event ? 1 : 0);
    counts.wildcards += record.kind == Kind::Wildcard ? 1 : 0;
    if (record.kind == Kind::Late) count_late(record.payload, counts);
    start = in.offset();
  }
  if (!in.ok()) return damaged(file, offset + start, "this record is not well formed");
  return counts;
}

}  // namespace reprise::trace
