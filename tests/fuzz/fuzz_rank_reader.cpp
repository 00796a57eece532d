// Feeds arbitrary bytes to the reader as a rank's files. Input: u32 size of the log, the log, the open file (none if
// nothing is left). The trace layer must be compiled with FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION defined: checksums
// are not compared then (see blocks.cpp), so that the code behind them is reached. What is read from a log without END
// is sealed and read again, and must be the same.
//
// FUZZ_SEEDS=DIR makes the target write a few true traces there first, as a corpus to start from.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "trace/chunk_writer.hpp"
#include "trace/rank_reader.hpp"

namespace {

using namespace reprise;
using namespace reprise::trace;

constexpr std::uint64_t kTrace = 1;

class Directory {
 public:
  Directory() {
    std::string name = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz-reader-XXXXXX" : "fuzz-reader-XXXXXX";
    path_ = ::mkdtemp(name.data());
    fd_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  ~Directory() {
    clear();
    ::rmdir(path_.c_str());
  }
  void clear() const {
    ::unlinkat(fd_, "rank-0.log", 0);
    ::unlinkat(fd_, "rank-0.open", 0);
  }
  void write(const char* name, const std::uint8_t* data, std::size_t size) const {
    const int fd = ::openat(fd_, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (::write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
    ::close(fd);
  }
  std::vector<std::uint8_t> read(const char* name) const {
    std::vector<std::uint8_t> bytes;
    const int fd = ::openat(fd_, name, O_RDONLY);
    if (fd < 0) return bytes;
    bytes.resize(4u << 20);
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    ::close(fd);
    return bytes;
  }
  int fd() const { return fd_; }

 private:
  std::string path_;
  int fd_ = -1;
};

// Everything a reader can be asked; false if it refused. `sum` depends on all of it.
bool read_everything(int dir_fd, std::uint64_t& sum) {
  auto reader = RankReader::open(dir_fd, 0, kTrace);
  if (!reader) return false;
  std::uint64_t wildcards = 0;
  std::uint64_t events = 0;
  sum = 0;
  for (;;) {
    const auto record = reader->next();
    if (!record) return false;
    if (!*record) break;
    sum = sum * 31 + (*record)->hits + static_cast<std::uint64_t>((*record)->kind);
    for (const std::uint8_t byte : (*record)->payload) sum = sum * 31 + byte;
    events += (*record)->hits + ((*record)->kind == Kind::Event ? 1 : 0);
    if ((*record)->kind != Kind::Wildcard) continue;
    if (wildcards++ % 64 != 0) continue;
    const auto late = reader->late(wildcards - 1);
    if (late) sum = sum * 31 + late->code;
  }
  if (events != reader->total_events()) std::abort();
  return true;
}

void write_seed(const std::string& path, const Directory& dir) {
  const auto log = dir.read("rank-0.log");
  auto open = dir.read("rank-0.open");
  if (open.size() > kRecordsOffset + 4096) open.resize(kRecordsOffset + 4096);
  std::FILE* out = std::fopen(path.c_str(), "wb");
  if (out == nullptr) return;
  const auto size = static_cast<std::uint32_t>(log.size());
  std::fwrite(&size, sizeof size, 1, out);
  std::fwrite(log.data(), 1, log.size(), out);
  std::fwrite(open.data(), 1, open.size(), out);
  std::fclose(out);
}

void log_something(ChunkWriter& writer, std::mt19937_64& random, int records) {
  for (int i = 0; i < records; ++i) {
    for (auto hits = random() % 20; hits > 0; --hits) writer.hit();
    std::uint8_t* out;
    switch (random() % 9) {
      case 0:
        out = writer.reserve(Kind::Event, 16);
        *out++ = kSiteFollows | argument_follows(1);
        out = put_signed(put_varint(out, random() % 300), static_cast<int>(random() % 9) - 4);
        break;
      case 1:
        out = writer.reserve(Kind::Wildcard, kWildcardBytes);
        out = put_fixed<std::uint32_t>(out, random() % 6);
        out = put_fixed<std::uint32_t>(out, 7);
        break;
      case 2:
        out = writer.reserve(Kind::Poll, kPollBytes);
        out = put_fixed<std::uint64_t>(out, random() >> (random() % 64));
        break;
      case 3:
        out = writer.reserve(Kind::Indices, 16);
        out = put_varint(put_varint(put_varint(out, 3), random() % 8), random() % 300);
        break;
      case 4:
        out = writer.reserve(Kind::Time, kMaxVarint);
        out = put_varint(out, random() % 100000);
        break;
      case 6:
        out = writer.reserve(Kind::Numbers, 4 * kMaxVarint);
        out = put_varint(out, 1 + random() % 3);
        for (auto more = out[-1]; more > 0; --more) out = put_signed(out, static_cast<int>(random() % 999) - 99);
        break;
      case 7:
        out = writer.reserve(Kind::Bytes, 64);
        out = put_varint(out, 1 + random() % 60);
        for (auto more = out[-1]; more > 1; --more) *out++ = static_cast<std::uint8_t>(random());
        break;
      case 5:
        out = writer.reserve(Kind::Late, 3 * kMaxVarint);
        out = put_signed(put_varint(put_varint(out, random() % 30), 4), 7);
        break;
      default: out = writer.reserve(Kind::Define, 16); out = put_string(out, "\x01MPI_Recv");
    }
    writer.commit(out);
  }
}

void write_seeds(const std::string& folder) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 8; ++i) {
    Directory dir;
    ChunkWriter writer;
    if (!writer.begin_private()) return;
    log_something(writer, random, i * 20);
    if (!writer.attach(dir.fd(), {kTrace, 0, 0}, {{"exe", "/bin/app"}}, false)) return;
    log_something(writer, random, i * 30);
    if (i % 2 == 0) writer.finish({EndKind::Finalized, 0, false});
    write_seed(folder + "/seed-" + std::to_string(i), dir);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("FUZZ_SEEDS")) write_seeds(folder);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Directory dir;
  if (size < 4) return 0;
  std::uint32_t log_size = get_fixed<std::uint32_t>(data);
  data += 4;
  size -= 4;
  if (log_size > size) log_size = static_cast<std::uint32_t>(size);
  dir.clear();
  dir.write("rank-0.log", data, log_size);
  if (size > log_size) dir.write("rank-0.open", data + log_size, size - log_size);
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  if (!read_everything(dir.fd(), first)) return 0;
  if (!seal(dir.fd(), 0, kTrace)) return 0;
  if (!read_everything(dir.fd(), second) || first != second) std::abort();
  return 0;
}
