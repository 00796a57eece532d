#include "frontends/mpi/flow/moving_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace reprise::mpi::flow {
namespace {

Span span_of(const Region& region) {
  if (region.count == 0 || !region.type || region.bytes() == 0) return {};
  const auto buffer = reinterpret_cast<std::uintptr_t>(region.buffer);
  const engine::Bounds bounds = engine::bounds_of(region.type->flat, region.count);
  return {buffer + static_cast<std::uintptr_t>(bounds.begin), buffer + static_cast<std::uintptr_t>(bounds.end)};
}

void join(Span& span, const Span& other) {
  if (other.from == other.to) return;
  span = span.from == span.to ? other : Span{std::min(span.from, other.from), std::max(span.to, other.to)};
}

}  // namespace

void OperationMemory::add(std::uint64_t post, std::span<const Block> gives, std::span<const Block> takes) {
  if (operations_.size() >= kMost) operations_.erase(operations_.begin());
  Operation& one = operations_.emplace_back();
  one.post = post;
  for (const Block& block : gives) {
    one.gives.push_back(block);
    join(one.given, span_of(block.region));
  }
  for (const Block& block : takes) {
    one.takes.push_back(block);
    join(one.taken, span_of(block.region));
  }
  join(all_, one.given);
  join(all_, one.taken);
}

void OperationMemory::remove(std::uint64_t post) {
  const auto found = std::find_if(operations_.rbegin(), operations_.rend(), [&](const Operation& one) { return one.post == post; });
  if (found == operations_.rend()) return;
  if (found != operations_.rbegin()) std::swap(*found, operations_.back());
  operations_.pop_back();
  if (operations_.size() > kFew) return;  // what it has been will do
  all_ = {};
  for (const Operation& other : operations_) {
    join(all_, other.given);
    join(all_, other.taken);
  }
}

void SharedMemory::look(std::vector<Segment>& come, std::vector<Segment>& gone) {
  std::vector<Segment> now;
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::vector<char> text;
  std::size_t used = 0;
  for (;;) {
    if (text.size() - used < 65536) text.resize(text.size() + 262144);
    const ssize_t got = ::read(fd, text.data() + used, text.size() - used - 1);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  ::close(fd);
  text[used] = '\0';
  for (char* line = text.data(); line && *line;) {
    char* const next = std::strchr(line, '\n');
    if (next) *next = '\0';
    Segment one;
    char access[8] = "";
    std::uint64_t major = 0;
    std::uint64_t minor = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %" SCNx64 " %" SCNx64 ":%" SCNx64 " %" SCNu64, &one.span.from, &one.span.to,
                    access, &one.offset, &major, &minor, &one.file) == 7 &&
        access[3] == 's') {
      one.device = major << 20 | minor;
      now.push_back(one);
    }
    line = next ? next + 1 : nullptr;
  }
  for (const Segment& one : now)
    if (std::find(segments_.begin(), segments_.end(), one) == segments_.end()) come.push_back(one);
  for (const Segment& one : segments_)
    if (std::find(now.begin(), now.end(), one) == now.end()) gone.push_back(one);
  segments_ = std::move(now);
  all_ = {};
  for (const Segment& one : segments_) join(all_, one.span);
}

}  // namespace reprise::mpi::flow
