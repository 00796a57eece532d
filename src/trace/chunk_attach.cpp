// ChunkWriter::attach: from private memory to files. Apart from the rest because it runs once, may allocate, and can
// fail in many ways, all of which leave nothing behind.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/no_cancellation.hpp"
#include "trace/blocks.hpp"
#include "trace/chunk_writer.hpp"

namespace reprise::trace {

Result<void> ChunkWriter::attach(int dir_fd, const LogIdentity& identity, const Info& info, bool plain) {
  const NoCancellation not_here;
  if (attached()) return Error{"this process records already"};
  identity_ = identity;
  dir_fd_ = ::fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
  if (dir_fd_ < 0) return give_up(errno, "the trace's directory cannot be used");
  dir_fd_ = move_high(dir_fd_);
  dir_id_ = file_id(dir_fd_);
  if (const int error = create_log(info)) return give_up(error, "cannot be written");
  if (const int error = create_open_file(plain)) return give_up(error, "its open chunk cannot be made");
  return {};
}

// The log's name claims the rank: whoever creates it may go on.
int ChunkWriter::create_log(const Info& info) {
  const int fd = open_file(dir_fd_, file_name(FileKind::Log, identity_).data(), O_RDWR | O_CREAT | O_EXCL);
  if (fd < 0) return -fd;
  log_fd_ = fd;
  log_id_ = file_id(log_fd_);
  log_size_ = 0;
  if (const int error = append(encode_file_header(FileKind::Log, identity_), {})) return error;
  const auto payload = encode_info(info);
  BlockHeader header;
  header.kind = BlockKind::Info;
  header.payload_size = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = checksum(payload);
  if (const int error = append(encode_block_header(header), payload)) return error;
  for (const KeptBlock* block = kept_; block != nullptr; block = block->next)
    if (const int error = append(block->bytes(), {})) return error;
  drop_kept();
  return 0;
}

void ChunkWriter::drop_kept() {
  while (kept_ != nullptr) {
    KeptBlock* block = kept_;
    kept_ = block->next;
    ::munmap(block, sizeof(KeptBlock) + block->size);
  }
  kept_last_ = nullptr;
}

namespace {

constexpr std::uint32_t kFirstRoom = (64u << 10) - kRecordsOffset;

}  // namespace

int ChunkWriter::create_open_file(bool plain) {
  const int fd = open_file(dir_fd_, file_name(FileKind::Open, identity_).data(), O_RDWR | O_CREAT | O_EXCL);
  if (fd < 0) return -fd;
  open_fd_ = fd;
  open_id_ = file_id(fd);
  // Before the map: a page of a map that has no room on disk is a SIGBUS.
  const std::uint32_t room = plain ? kChunkCapacity : std::clamp<std::uint32_t>(cursor_ + 2 * kMaxHead, kFirstRoom, kChunkCapacity);
  if (const int error = reserve_space(fd, kRecordsOffset + room)) return error;
  const auto header = encode_file_header(FileKind::Open, identity_);
  std::memcpy(memory_, header.data(), header.size());
  // A recording that stopped before this holds its last chunk in memory_, and goes on elsewhere.
  const auto commit = get_fixed<std::uint64_t>(memory_ + kLiveOffset + offsetof(LiveWords, commit));
  if (const int error = write_all(fd, memory_ + kRecordsOffset, commit & UINT32_MAX, kRecordsOffset)) return error;
  if (const int error = write_all(fd, memory_, kLiveOffset + sizeof(LiveWords), 0)) return error;
  flushed_ = cursor_;
  if (stopped_ != 0) return 0;
  plain_ = true;
  if (!plain) use_map(fd, room);
  return 0;
}

// Puts the shared map in place of the private memory, at the same address. Where that cannot be done, plain writes
// stay in force.
//
// Not by mremap: UCX (MPICH's transport) replaces it by a function that drops the new address, and the map would end
// up somewhere else. A map at a fixed address that fails may leave a hole, so it is first tried at another place.
void ChunkWriter::use_map(int fd, std::uint32_t room) {
  void* trial = ::mmap(nullptr, kOpenFileSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (trial == MAP_FAILED) return;
  ::munmap(trial, kOpenFileSize);
  if (::mmap(memory_, kOpenFileSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != memory_) {
    std::uint8_t* const again = static_cast<std::uint8_t*>(
        ::mmap(memory_, kOpenFileSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    [[maybe_unused]] const ssize_t size = ::pread(fd, again, kOpenFileSize, 0);
    return;
  }
  ::madvise(memory_, kOpenFileSize, MADV_DONTFORK);
  room_ = room;
  plain_ = false;
  ::close(open_fd_);
  open_fd_ = -1;
}

Error ChunkWriter::give_up(int error, const char* what) {
  const FileName log = file_name(FileKind::Log, identity_);
  if (open_fd_ >= 0) remove_file(dir_fd_, file_name(FileKind::Open, identity_).data());
  if (log_fd_ >= 0) remove_file(dir_fd_, log.data());
  close_files();
  drop_kept();
  plain_ = false;
  if (stopped_ == 0) stop(error);
  return Error{std::string(log.data()) + ": " + what + ": " + std::strerror(error)};
}

}  // namespace reprise::trace
