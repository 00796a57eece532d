// Sealing appends; it changes nothing that is there, except that it cuts off a torn block, whose chunk the open file
// holds. Killed half-way it leaves a log that reads as before and can be sealed again. If the disk is full, what was
// appended is taken back and the open file stays.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "trace/log_file.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::trace {
namespace {

// A CHUNK block (if there are records) and an END block, as they will stand in the log. Empty on an internal error.
std::vector<std::uint8_t> closing_blocks(const LogFile& log) {
  std::vector<std::uint8_t> blocks;
  BlockHeader header;
  header.number = log.chunks();
  header.first_event = log.chunk_events();
  header.first_wildcard = log.chunk_wildcards();
  const auto add = [&](BlockKind kind, std::span<const std::uint8_t> payload) {
    header.kind = kind;
    header.payload_size = static_cast<std::uint32_t>(payload.size());
    header.payload_checksum = checksum(payload);
    const auto bytes = encode_block_header(header);
    blocks.insert(blocks.end(), bytes.begin(), bytes.end());
    blocks.insert(blocks.end(), payload.begin(), payload.end());
  };
  if (!log.open_records().empty()) {
    // Not a vector: most of it is never touched, and zeroing would touch it.
    const std::unique_ptr<std::uint8_t[]> scratch(new std::uint8_t[encode_scratch_size()]);
    ChunkCounts counts;
    const auto payload = encode_chunk(log.open_records(), {scratch.get(), encode_scratch_size()}, counts);
    if (payload.empty()) return {};
    header.events = counts.events;
    header.wildcards = counts.wildcards;
    header.lates = counts.lates;
    header.cancels = counts.cancels;
    add(BlockKind::Chunk, payload);
    header.number += 1;
    header.first_event += counts.events;
    header.first_wildcard += counts.wildcards;
    header.events = header.wildcards = header.lates = header.cancels = 0;
  }
  add(BlockKind::End, encode_end(log.end()));
  return blocks;
}

int append(int fd, std::uint64_t offset, std::span<const std::uint8_t> blocks) {
  if (::ftruncate(fd, static_cast<off_t>(offset)) != 0) return errno;
  int error = check_size_limit(offset + blocks.size());
  if (error == 0) error = write_all(fd, blocks.data(), blocks.size(), offset);
  if (error == 0 && ::fsync(fd) != 0) error = errno;
  if (error != 0 && ::ftruncate(fd, static_cast<off_t>(offset)) != 0) return errno;
  return error;
}

}  // namespace

Result<void> seal(int dir_fd, std::uint32_t rank, std::uint64_t trace_id, std::uint32_t stream) {
  const auto log = LogFile::open(dir_fd, {trace_id, rank, stream});
  if (!log) return log.error();
  if (!log->sealed()) {
    const auto blocks = closing_blocks(*log);
    if (blocks.empty()) return Error{log->open_name() + ": its records cannot be encoded"};
    const Fd fd(open_file(dir_fd, log->name().c_str(), O_RDWR));
    const int error = fd.get() < 0 ? -fd.get() : append(fd.get(), log->chunks_end(), blocks);
    if (error != 0) return Error{log->name() + ": cannot be sealed: " + std::strerror(error)};
  }
  if (!remove_file(dir_fd, log->open_name().c_str()) && errno != ENOENT)
    return Error{log->open_name() + ": cannot be removed: " + std::strerror(errno)};
  return {};
}

}  // namespace reprise::trace
