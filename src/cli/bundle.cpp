#define XXH_INLINE_ALL
#include "cli/bundle.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "trace/blocks.hpp"
#include "trace/format.hpp"

namespace reprise::cli {
namespace {

// Each file: a line with its name, its size and the digest of its bytes, then the bytes. A line with "end" is the last.
constexpr std::string_view kFirstLine = "reprise bundle 1\n";
constexpr std::string_view kLastLine = "end\n";
constexpr std::size_t kLongestLine = 256;
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 44;
constexpr std::array<std::string_view, 4> kOfTheRun = {"manifest.json", "exits", "notes", "nodes"};
constexpr std::size_t kPiece = std::size_t{1} << 20;

// "rank-3.thread-2.log" -> 3
std::optional<std::uint32_t> rank_of_file(std::string_view name) {
  if (!name.starts_with("rank-")) return std::nullopt;
  const std::string_view rest = name.substr(5);
  const std::size_t dot = rest.find('.');
  const auto rank = parse_number(rest.substr(0, dot));
  if (dot == std::string_view::npos || !rank || *rank >= trace::kMaxRanks) return std::nullopt;
  return static_cast<std::uint32_t>(*rank);
}

// One of the names that logs have: "rank-3.log", "rank-3.thread-2.data", and those of open chunks.
bool is_name_of_log(std::string_view name) {
  const auto rank = rank_of_file(name);
  if (!rank) return false;
  std::uint32_t stream = 0;
  const std::string thread = fmt::format("rank-{}.thread-", *rank);
  if (name.starts_with(thread)) {
    const std::string_view rest = name.substr(thread.size());
    stream = static_cast<std::uint32_t>(parse_number(rest.substr(0, rest.find('.'))).value_or(0));
  }
  for (const std::uint32_t part : {0U, trace::kDataStream, trace::kMessageStream})
    for (const trace::FileKind kind : {trace::FileKind::Log, trace::FileKind::Open})
      if (name == trace::file_name(kind, {0, *rank, stream | part}).data()) return true;
  return false;
}

bool may_be_in_a_bundle(std::string_view name) {
  return std::find(kOfTheRun.begin(), kOfTheRun.end(), name) != kOfTheRun.end() || is_name_of_log(name);
}

void write_all(int fd, const void* from, std::size_t size, const std::string& path) {
  const auto* bytes = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t written = ::write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("cannot write {}: {}", printable(path), error_text(errno));
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

// As many bytes as there are, up to `size`.
std::size_t read_some(int fd, void* to, std::size_t size, const std::string& path) {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t now = ::read(fd, static_cast<char*>(to) + got, size - got);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) fail("cannot read {}: {}", printable(path), error_text(errno));
    if (now == 0) break;
    got += static_cast<std::size_t>(now);
  }
  return got;
}

// `size` bytes of the file with this name from one to the other; how many there were, and their digest with the name's.
struct Copied {
  std::uint64_t bytes = 0;
  std::uint64_t digest = 0;
};
Copied copy_bytes(std::string_view name, int from, int to, std::uint64_t size, const std::string& from_path,
                  const std::string& to_path) {
  std::vector<char> piece(kPiece);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, name.data(), name.size());
  Copied copied;
  while (copied.bytes < size) {
    const std::size_t got =
        read_some(from, piece.data(), std::min<std::uint64_t>(kPiece, size - copied.bytes), from_path);
    if (got == 0) break;
    XXH3_64bits_update(&state, piece.data(), got);
    if (to >= 0) write_all(to, piece.data(), got, to_path);
    copied.bytes += got;
  }
  copied.digest = XXH3_64bits_digest(&state);
  return copied;
}

// Up to and without the end of the line. nullopt: there is no such line.
std::optional<std::string> read_line(int fd, const std::string& path) {
  std::string line;
  for (char c; line.size() < kLongestLine && read_some(fd, &c, 1, path) == 1; line += c)
    if (c == '\n') return line;
  return std::nullopt;
}

void add_file(int bundle, int dir_fd, const std::string& name, const std::string& path) {
  const UniqueFd file(::openat(dir_fd, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    fail("cannot read {}: {}", printable(name), error_text(errno));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const Copied digested = copy_bytes(name, file.get(), -1, size, name, path);
  const std::string line = fmt::format("{} {} {}\n", name, size, hex(digested.digest));
  write_all(bundle, line.data(), line.size(), path);
  ::lseek(file.get(), 0, SEEK_SET);
  if (copy_bytes(name, file.get(), bundle, size, name, path).bytes != size)
    fail("{} became shorter while it was read: is the run still going on?", printable(name));
}

}  // namespace

std::uint64_t write_bundle(int dir_fd, const std::vector<std::uint32_t>& ranks, const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) fail("{} exists; choose another name with -o", printable(path));
  std::vector<std::string> names;
  for (const std::string& name : trace_files(dir_fd)) {
    const auto rank = rank_of_file(name);
    const bool of_the_run = std::find(kOfTheRun.begin(), kOfTheRun.end(), name) != kOfTheRun.end();
    if (of_the_run || (rank && std::find(ranks.begin(), ranks.end(), *rank) != ranks.end())) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  // Under another name until it is whole.
  const std::string unfinished = fmt::format("{}.{}", path, ::getpid());
  const UniqueFd bundle(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!bundle) fail("cannot make {}: {}", printable(unfinished), error_text(errno));
  try {
    write_all(bundle.get(), kFirstLine.data(), kFirstLine.size(), path);
    for (const std::string& name : names) add_file(bundle.get(), dir_fd, name, path);
    write_all(bundle.get(), kLastLine.data(), kLastLine.size(), path);
    if (::rename(unfinished.c_str(), path.c_str()) != 0) fail("cannot make {}: {}", printable(path), error_text(errno));
  } catch (...) {
    ::unlink(unfinished.c_str());
    throw;
  }
  return static_cast<std::uint64_t>(::lseek(bundle.get(), 0, SEEK_END));
}

bool is_bundle(const std::string& path) { return is_regular_file(path); }

TemporaryDirectory unpack_bundle(const std::string& path) {
  const UniqueFd bundle(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!bundle) fail("cannot open {}: {}", printable(path), error_text(errno));
  const auto damaged = [&](std::string_view what) {
    fail("{} is damaged at byte {}: {}", printable(path), ::lseek(bundle.get(), 0, SEEK_CUR), what);
  };
  std::string first(kFirstLine.size(), ' ');
  if (read_some(bundle.get(), first.data(), first.size(), path) != first.size() || first != kFirstLine)
    fail("{} is not a trace: neither a directory nor a bundle that reprise extract has made", printable(path));
  TemporaryDirectory directory;
  for (;;) {
    const auto line = read_line(bundle.get(), path);
    if (!line) damaged("it ends before its end");
    if (*line + '\n' == kLastLine) break;
    const auto words = split(*line, ' ');
    const auto size = words.size() == 3 ? parse_number(words[1]) : std::nullopt;
    if (!size || *size > kLargestFile || !may_be_in_a_bundle(words[0]))
      damaged("this is not the name of a file in a trace");
    const std::string target = directory.path() + '/' + words[0];
    const UniqueFd file(::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file && errno == EEXIST) damaged("a file is there twice");
    if (!file) fail("cannot make {}: {}", printable(target), error_text(errno));
    const Copied copied = copy_bytes(words[0], bundle.get(), file.get(), *size, path, target);
    if (copied.bytes != *size) damaged("it ends before its end");
    if (hex(copied.digest) != words[2]) damaged(fmt::format("{} does not have the bytes it had", words[0]));
  }
  return directory;
}

}  // namespace reprise::cli
