// The order of writes is what this file is about. To close chunk n: PAUSE into the open file, block n into the log,
// commit word to 0, chunk number to n + 1. Killed between any two of them, a reader finds either a torn block n beside
// an open file that still holds chunk n, or a whole block n, which it believes whatever the open file says.
#include "trace/chunk_writer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

#include "base/no_cancellation.hpp"
#include "trace/blocks.hpp"
#include "trace/chunk_codec.hpp"

namespace reprise::trace {

static_assert(offsetof(LiveWords, chunk_number) == 0 && offsetof(LiveWords, commit) == 8 &&
              offsetof(LiveWords, in_call) == 16 && offsetof(LiveWords, end) == 24 && sizeof(LiveWords) == 32);

namespace {

// Compressed chunks that a program may pile up before MPI_Init.
constexpr std::size_t kMaxKept = 64u << 20;

std::uint8_t* map_private(std::size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(memory);
}

LiveWords* live_of(std::uint8_t* memory) { return reinterpret_cast<LiveWords*>(memory + kLiveOffset); }

void store(std::uint64_t& word, std::uint64_t value) { std::atomic_ref(word).store(value, std::memory_order_release); }

}  // namespace

bool ChunkWriter::begin_private() {
  memory_ = map_private(kOpenFileSize);
  spare_ = map_private(kOpenFileSize);
  scratch_ = map_private(encode_scratch_size());
  if (memory_ == nullptr || spare_ == nullptr || scratch_ == nullptr) return false;
  records_ = memory_ + kRecordsOffset;
  live_ = live_of(memory_);
  return true;
}

void ChunkWriter::put_pause() {
  std::uint8_t* out = records_ + cursor_;
  *out++ = static_cast<std::uint8_t>(static_cast<unsigned>(Kind::Pause) << 4 | std::min(hits_, 15u));
  if (hits_ >= 15) out = put_varint(out, hits_ - 15);
  commit(out);
}

// The file grows until a chunk is as large as it may be. Where the disk is too full for that, chunks are smaller.
void ChunkWriter::make_room(std::size_t size) {
  const NoCancellation not_here;
  if (cursor_ + size <= kChunkCapacity && room_ < kChunkCapacity && reserve_more(cursor_ + size) == 0) return;
  close_chunk();
  if (size <= room_) return;
  if (const int error = reserve_more(size)) stop(error);
}

int ChunkWriter::reserve_more(std::size_t size) {
  constexpr std::size_t kTimes = 4;
  const std::size_t room = std::min<std::size_t>(kChunkCapacity, std::max(size, kTimes * room_));
  if (file_id(dir_fd_) != dir_id_) return EBADF;
  const int fd = open_file(dir_fd_, file_name(FileKind::Open, identity_).data(), O_RDWR);
  if (fd < 0) return -fd;
  const int error = reserve_space(fd, kRecordsOffset + room);
  ::close(fd);
  if (error == 0) room_ = static_cast<std::uint32_t>(room);
  return error;
}

void ChunkWriter::close_chunk() {
  const NoCancellation not_here;
  put_pause();
  if (stopped_ == 0) {
    if (const int error = append_chunk()) {
      stop(error);
      return;
    }
  }
  next_chunk();
}

void ChunkWriter::next_chunk() {
  cursor_ = 0;
  hits_ = 0;
  flushed_ = 0;
  store(live_->commit, 0);
  if (plain_) write_word(&live_->commit);
  store(live_->chunk_number, ++number_);
  if (plain_) write_word(&live_->chunk_number);
  // Who reads a running rank's log must not see records of the new chunk under the old number.
  std::atomic_thread_fence(std::memory_order_release);
}

int ChunkWriter::append_chunk() {
  ChunkCounts counts;
  const auto payload = encode_chunk({records_, cursor_}, {scratch_, encode_scratch_size()}, counts);
  if (payload.empty()) return EBADMSG;
  BlockHeader header;
  header.kind = BlockKind::Chunk;
  header.number = number_;
  header.first_event = first_event_;
  header.events = counts.events;
  header.first_wildcard = first_wildcard_;
  header.wildcards = counts.wildcards;
  header.lates = counts.lates;
  header.cancels = counts.cancels;
  header.payload_size = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = checksum(payload);
  const auto bytes = encode_block_header(header);
  if (const int error = attached() ? append(bytes, payload) : keep(bytes, payload)) return error;
  first_event_ += counts.events;
  first_wildcard_ += counts.wildcards;
  return 0;
}

int ChunkWriter::append_end(const End& end) {
  const auto payload = encode_end(end);
  BlockHeader header;
  header.kind = BlockKind::End;
  header.number = number_;
  header.first_event = first_event_;
  header.first_wildcard = first_wildcard_;
  header.payload_size = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = checksum(payload);
  return append(encode_block_header(header), payload);
}

int ChunkWriter::append(std::span<const std::uint8_t> header, std::span<const std::uint8_t> payload) {
  const std::uint64_t size = header.size() + payload.size();
  if (file_id(log_fd_) != log_id_) return EBADF;
  int error = check_size_limit(log_size_ + size);
  if (error == 0) error = write_all(log_fd_, header.data(), header.size(), log_size_);
  if (error == 0) error = write_all(log_fd_, payload.data(), payload.size(), log_size_ + header.size());
  if (error == 0) {
    log_size_ += size;
    return 0;
  }
  // Best effort: a torn block that stays is recognised by readers.
  [[maybe_unused]] const int cut = ::ftruncate(log_fd_, static_cast<off_t>(log_size_));
  return error;
}

int ChunkWriter::keep(std::span<const std::uint8_t> header, std::span<const std::uint8_t> payload) {
  const std::size_t size = header.size() + payload.size();
  if (kept_bytes_ + size > kMaxKept) return ENOBUFS;
  std::uint8_t* memory = map_private(sizeof(KeptBlock) + size);
  if (memory == nullptr) return ENOMEM;
  auto* block = new (memory) KeptBlock{nullptr, size};
  std::uint8_t* out = memory + sizeof(KeptBlock);
  std::memcpy(out, header.data(), header.size());
  std::memcpy(out + header.size(), payload.data(), payload.size());
  (kept_last_ != nullptr ? kept_last_->next : kept_) = block;
  kept_last_ = block;
  kept_bytes_ += size;
  return 0;
}

// The open file keeps the chunk that could not be appended, and the reason.
void ChunkWriter::stop(int error) {
  stopped_ = error;
  store(live_->end, end_word(EndKind::Stopped, error));
  if (plain_ && file_id(open_fd_) == open_id_)
    write_all(open_fd_, &live_->end, sizeof live_->end, kLiveOffset + offsetof(LiveWords, end));
  go_private();
}

void ChunkWriter::go_private() {
  plain_ = false;
  room_ = kChunkCapacity;
  live_ = live_of(spare_);
  records_ = spare_ + kRecordsOffset;
  next_chunk();
}

void ChunkWriter::close_files() {
  if (log_fd_ >= 0 && file_id(log_fd_) == log_id_) ::close(log_fd_);
  if (open_fd_ >= 0 && file_id(open_fd_) == open_id_) ::close(open_fd_);
  if (dir_fd_ >= 0 && file_id(dir_fd_) == dir_id_) ::close(dir_fd_);
  log_fd_ = open_fd_ = dir_fd_ = -1;
}

void ChunkWriter::finish(End end) {
  const NoCancellation not_here;
  if (!attached()) return;
  if (stopped_ == 0) set_in_call(end.in_call);
  if (stopped_ == 0) set_end(end.kind, end.value);
  if (stopped_ == 0 && (cursor_ > 0 || hits_ > 0)) put_pause();
  // Any of these may have stopped the recording by itself (in plain mode).
  if (stopped_ == 0) {
    int error = 0;
    if (cursor_ > 0) {
      error = append_chunk();
      if (error == 0) next_chunk();
    }
    if (error == 0 && stopped_ == 0) error = append_end(end);
    if (error == 0 && stopped_ == 0 && file_id(dir_fd_) == dir_id_)
      remove_file(dir_fd_, file_name(FileKind::Open, identity_).data());
    stopped_ = error != 0 ? error : ESHUTDOWN;
    go_private();
  }
  close_files();
}

void ChunkWriter::release() {
  if (memory_) ::munmap(memory_, kOpenFileSize);
  if (spare_) ::munmap(spare_, kOpenFileSize);
  if (scratch_) ::munmap(scratch_, encode_scratch_size());
  memory_ = spare_ = scratch_ = records_ = nullptr;
  live_ = nullptr;
}

void ChunkWriter::disown() {
  if (!attached()) return;
  stopped_ = ECHILD;
  go_private();
  close_files();
}

void ChunkWriter::write_open(const void* data, std::size_t size, std::uint64_t offset) {
  if (file_id(open_fd_) != open_id_) return stop(EBADF);
  int error = check_size_limit(offset + size);
  if (error == 0) error = write_all(open_fd_, data, size, offset);
  if (error != 0) stop(error);
}

void ChunkWriter::write_commit() {
  if (cursor_ > flushed_) {
    const std::uint32_t from = flushed_;
    flushed_ = cursor_;
    write_open(records_ + from, cursor_ - from, kRecordsOffset + from);
  }
  if (plain_) write_word(&live_->commit);
}

void ChunkWriter::write_word(const std::uint64_t* word) {
  write_open(word, sizeof *word, static_cast<std::uint64_t>(reinterpret_cast<const std::uint8_t*>(word) - memory_));
}

void ChunkWriter::write_through(const std::uint8_t* at, std::size_t size) {
  const auto offset = static_cast<std::size_t>(at - records_);
  if (offset < flushed_) write_open(at, std::min<std::size_t>(size, flushed_ - offset), kRecordsOffset + offset);
}

}  // namespace reprise::trace
