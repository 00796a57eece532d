// Which threads of a rank have a log of their own.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "trace/blocks.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::trace {

std::vector<std::uint32_t> streams_of(int dir_fd, std::uint32_t rank) {
  std::vector<std::uint32_t> streams;
  const int fd = ::openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const directory = fd >= 0 ? ::fdopendir(fd) : nullptr;
  if (!directory) return streams;
  const std::string thread = "rank-" + std::to_string(rank) + ".thread-";
  const std::string main_thread = file_name(FileKind::Log, {0, rank, 0}).data();
  while (const dirent* entry = ::readdir(directory)) {
    std::uint32_t stream = 0;
    const std::string_view name = entry->d_name;
    if (name.starts_with(thread)) std::from_chars(name.data() + thread.size(), name.data() + name.size(), stream);
    else if (name != main_thread) continue;
    if (name == file_name(FileKind::Log, {0, rank, stream}).data()) streams.push_back(stream);
  }
  ::closedir(directory);
  std::sort(streams.begin(), streams.end());
  return streams;
}

bool never_begun(int dir_fd, std::uint32_t rank, std::uint32_t stream) {
  constexpr off_t kDescription = 64 << 10;  // a log that holds no more than what the process is
  off_t size = 0;
  // The header of the open chunk is written last (ChunkWriter::attach).
  for (const FileKind kind : {FileKind::Log, FileKind::Open}) {
    const FileName name = file_name(kind, {0, rank, stream});
    const int fd = ::openat(dir_fd, name.data(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT && kind == FileKind::Open && size < kDescription;
    std::uint8_t header[kFileHeaderSize] = {};
    const ssize_t got = ::pread(fd, header, sizeof header, 0);
    if (kind == FileKind::Log) size = ::lseek(fd, 0, SEEK_END);
    ::close(fd);
    if (got < 0) return false;
    if (got < static_cast<ssize_t>(sizeof header)) return true;
    if (std::all_of(std::begin(header), std::end(header), [](std::uint8_t byte) { return byte == 0; })) return true;
  }
  return false;
}

bool has_log(int dir_fd, std::uint32_t rank, std::uint32_t stream) {
  return ::faccessat(dir_fd, file_name(FileKind::Log, {0, rank, stream}).data(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace reprise::trace
