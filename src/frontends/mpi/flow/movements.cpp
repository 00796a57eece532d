#include "frontends/mpi/flow/movements.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "base/site_text.hpp"
#include "base/spin.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/flow/moving_memory.hpp"
#include "frontends/movements/hooks.hpp"

// The first and the last byte of this library.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char _end[];

namespace reprise::mpi::flow {
namespace {

using movements::Pieces;
using movements::Stream;
using trace::IntentionRecord;

bool g_follows = false;
std::atomic<bool> g_maps_are_old{true};
thread_local bool t_busy __attribute__((tls_model("initial-exec"))) = false;

struct Followed {
  std::atomic_flag lock;
  OperationMemory operations;
  CarriedMemory carried;
  SharedMemory shared;
  std::unordered_map<const void*, std::uint32_t> sites;
  struct KnownStream {
    std::uint32_t generation = 0;
    std::int64_t number = -1;
    bool leaves_machine = false;
  };
  std::unordered_map<int, KnownStream> streams;
  std::int64_t streams_seen = 0;
  std::uintptr_t last_to = 0, last_from = 0;
};
Followed& followed() {
  static auto* const one = new Followed();  // never destroyed: the program may call MPI while it ends
  return *one;
}

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::int64_t number(const void* address) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address)); }

// What this thread does while it lives is our own business, and changes nothing that the program can see.
class Busy {
 public:
  Busy() : error_(errno) { t_busy = true; }
  ~Busy() {
    t_busy = false;
    errno = error_;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  int error_;
};

bool is_ours(const void* caller) { return caller >= __ehdr_start && caller < _end; }
bool counts(const void* caller) { return frontends::t_inside && !t_busy && !is_ours(caller) && !this_thread_logs() && is_logging(); }

// Within our lock: memory that is shared may have come or gone.
void look_at_maps() {
  if (!g_maps_are_old.exchange(false, std::memory_order_relaxed)) return;
  std::vector<SharedMemory::Segment> come, gone;
  followed().shared.look(come, gone);
  const LogLock lock;
  for (const auto& one : gone) {
    const std::int64_t fields[] = {number(one.span.from), number(one.span.to - one.span.from)};
    put(IntentionRecord::Unmapped, fields);
  }
  for (const auto& one : come) {
    const std::int64_t fields[] = {number(one.span.from), number(one.span.to - one.span.from), number(one.device), number(one.file),
                                   number(one.offset)};
    put(IntentionRecord::Mapped, fields);
  }
}

// Where bytes are moved. The module is looked up without the lock of the log: the loader has one of its own.
std::int64_t site_of(const void* caller) {
  auto& sites = followed().sites;
  if (const auto found = sites.find(caller); found != sites.end()) return found->second;
  static LoadedModule room;
  const std::string text = site_text(reinterpret_cast<std::uint64_t>(caller), room);
  const auto made = static_cast<std::uint32_t>(sites.size());
  sites.emplace(caller, made);
  const LogLock lock;
  const Bytes part{text.data(), text.size()};
  put(IntentionRecord::Site, {}, {&part, 1});
  return made;
}

bool may_have_some(const void* at, std::size_t bytes) {
  const Followed& all = followed();
  return all.operations.has(at, bytes) || all.shared.has(at, bytes) || all.carried.has(at, bytes);
}

// Bytes of operations may be there now.
void carries(const void* to, std::size_t bytes) {
  Followed& all = followed();
  if (!all.shared.has(to, bytes)) all.carried.add(to, bytes);
}

void copies(void* to, const void* from, std::size_t bytes, const void* caller) {
  if (bytes == 0 || !counts(caller)) return;
  const Busy busy;
  Followed& all = followed();
  const Spin spin(&all.lock);
  look_at_maps();
  const bool brings = may_have_some(from, bytes) || all.operations.has(to, bytes) || all.shared.has(to, bytes);
  // What is put over such bytes matters, too: they are no longer there.
  if (!brings && !all.carried.has(to, bytes)) return;
  const std::int64_t site = site_of(caller);
  if (brings) carries(to, bytes);
  const auto to_address = reinterpret_cast<std::uintptr_t>(to);
  const auto from_address = reinterpret_cast<std::uintptr_t>(from);
  const LogLock lock;
  const std::int64_t fields[] = {time_step(), site, number(to_address - all.last_to), number(from_address - all.last_from), number(bytes)};
  all.last_to = to_address;
  all.last_from = from_address;
  put(IntentionRecord::Copied, fields);
}

// "10.0.0.1:4711"; empty if it is no such address.
std::string end_of(int fd, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (ask(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
    return std::string(text) + ':' + std::to_string(ntohs(four.sin_port));
  }
  if (address.ss_family != AF_INET6) return {};
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
  const char* const plain = std::strncmp(text, "::ffff:", 7) == 0 ? text + 7 : text;
  return std::string(plain) + ':' + std::to_string(ntohs(six.sin6_port));
}

std::string_view host_of(std::string_view end) { return end.substr(0, end.rfind(':')); }

// Its number is -1 if it is no socket.
const Followed::KnownStream& known(const Stream& stream) {
  const auto [found, is_new] = followed().streams.try_emplace(stream.fd);
  if (!is_new && found->second.generation == stream.generation) return found->second;
  found->second = {stream.generation};
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(stream.fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return found->second;
  const std::string own = type == SOCK_STREAM ? end_of(stream.fd, &getsockname) : "";
  const std::string other = own.empty() ? "" : end_of(stream.fd, &getpeername);
  const std::string text = other.empty() ? "" : own + ' ' + other;
  found->second.number = followed().streams_seen++;
  found->second.leaves_machine = host_of(own) != host_of(other);
  const LogLock lock;
  const Bytes part{text.data(), text.size()};
  put(IntentionRecord::Stream, {}, {&part, 1});
  return found->second;
}

void transferred(IntentionRecord kind, const Stream& stream, Pieces pieces, std::size_t bytes, const void* caller) {
  if (!counts(caller)) return;
  const Busy busy;
  const Spin spin(&followed().lock);
  const Followed::KnownStream& which = known(stream);
  if (which.number < 0) return;
  look_at_maps();
  std::uint64_t offset = stream.offset;
  for (std::size_t i = 0; i < pieces.count && bytes > 0; ++i) {
    const std::size_t now = std::min(bytes, pieces.first[i].iov_len);
    const void* const at = pieces.first[i].iov_base;
    bytes -= now;
    offset += now;
    // Clocks of two machines do not agree: then everything is logged, so that it is known what was written before it is read.
    if (now == 0 || (kind == IntentionRecord::Sent && !which.leaves_machine && !may_have_some(at, now))) continue;
    if (kind == IntentionRecord::Heard) carries(at, now);
    const std::int64_t site = site_of(caller);
    const LogLock lock;
    const std::int64_t time = kind == IntentionRecord::Sent ? time_step(stream.began) : time_step();
    const std::int64_t fields[] = {time, site, number(at), number(now), which.number, number(offset - now)};
    put(kind, fields);
  }
}

void sent(const Stream& stream, Pieces pieces, std::size_t bytes, const void* caller) {
  transferred(IntentionRecord::Sent, stream, pieces, bytes, caller);
}

void heard(const Stream& stream, Pieces pieces, std::size_t bytes, const void* caller) {
  transferred(IntentionRecord::Heard, stream, pieces, bytes, caller);
}

// Both lists of pieces at once.
void across(IntentionRecord kind, pid_t process, Pieces own, Pieces theirs, std::size_t bytes, const void* caller) {
  if (!counts(caller)) return;
  const Busy busy;
  const Spin spin(&followed().lock);
  look_at_maps();
  const std::int64_t site = site_of(caller);
  std::size_t one = 0, other = 0, in_one = 0, in_other = 0;
  while (bytes > 0 && one < own.count && other < theirs.count) {
    const std::size_t now = std::min({bytes, own.first[one].iov_len - in_one, theirs.first[other].iov_len - in_other});
    const char* const here = static_cast<const char*>(own.first[one].iov_base) + in_one;
    const char* const there = static_cast<const char*>(theirs.first[other].iov_base) + in_other;
    if (now > 0) {
      if (kind == IntentionRecord::Pulled) carries(here, now);
      const LogLock lock;
      const bool pulls = kind == IntentionRecord::Pulled;
      const std::int64_t fields[] = {time_step(), site, number(pulls ? here : there), number(pulls ? there : here), number(now), process};
      put(kind, fields);
    }
    bytes -= now;
    if ((in_one += now) == own.first[one].iov_len) ++one, in_one = 0;
    if ((in_other += now) == theirs.first[other].iov_len) ++other, in_other = 0;
  }
}

void pulled(pid_t process, Pieces own, Pieces theirs, std::size_t bytes, const void* caller) {
  across(IntentionRecord::Pulled, process, own, theirs, bytes, caller);
}

void pushed(pid_t process, Pieces own, Pieces theirs, std::size_t bytes, const void* caller) {
  across(IntentionRecord::Pushed, process, own, theirs, bytes, caller);
}

void mapped(const void* address, std::size_t bytes, bool shared) {
  if (t_busy) return;
  if (!shared) {
    const Busy busy;
    const Spin spin(&followed().lock);
    if (bytes > 0 && !followed().shared.has(address, bytes)) return;
  }
  g_maps_are_old.store(true, std::memory_order_relaxed);
}

// The first byte that differs from what the datatype says, counted from 1; 0 if there is none.
std::uint64_t compare(const Region& region, std::uint64_t offset, const std::uint8_t* packed, std::uint64_t bytes) {
  const Type& type = *region.type;
  const engine::FlatType& flat = type.flat;
  if (bytes == 0 || flat.size == 0) return 0;
  const auto differs = [&](const std::uint8_t* piece, std::uint64_t at, std::uint64_t size) -> std::uint64_t {
    if (std::memcmp(piece, packed + at, size) == 0) return 0;
    while (*piece == packed[at]) ++piece, ++at;
    return at + 1;
  };
  if (flat.solid) return differs(region.buffer + offset, 0, bytes);
  const std::uint8_t* base = region.buffer + static_cast<std::ptrdiff_t>(offset / flat.size) * flat.extent;
  std::size_t run = engine::run_of(type.begins, offset % flat.size);
  std::uint64_t skip = offset % flat.size - type.begins[run];
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t size = std::min(flat.runs[run].size - skip, bytes - at);
    if (const std::uint64_t wrong = differs(base + flat.runs[run].offset + skip, at, size)) return wrong;
    at += size;
    skip = 0;
    if (++run == flat.runs.size()) {
      run = 0;
      base += flat.extent;
    }
  }
  return 0;
}

void by_callback(IntentionRecord kind, const void* buffer, std::size_t elements, std::size_t offset, const void* packed, std::size_t bytes,
                 const void* function) {
  if (bytes == 0 || !counts(function)) return;
  const Busy busy;
  Followed& all = followed();
  const Spin spin(&all.lock);
  look_at_maps();
  const bool packs = kind == IntentionRecord::Packed;
  // Which operation it is for: the newest one with this buffer. In collectives, the elements may be those of several blocks.
  const auto& operations = all.operations.operations();
  const auto block_of = [&](const Blocks& blocks) {
    std::size_t first = 0;
    while (first < blocks.size() && blocks.data()[first].region.buffer != buffer) ++first;
    return first;
  };
  for (auto one = operations.rbegin(); one != operations.rend(); ++one) {
    const bool passes_on = packs && block_of(one->gives) == one->gives.size();
    const Blocks& blocks = packs && !passes_on ? one->gives : one->takes;
    const std::size_t first = block_of(blocks);
    if (first == blocks.size()) continue;
    const auto* expected = static_cast<const std::uint8_t*>(buffer);
    std::uint64_t begin = 0;  // of the block
    for (std::size_t i = first; i < blocks.size() && elements > 0 && begin < offset + bytes; ++i) {
      const Region& region = blocks.data()[i].region;
      if (region.buffer != expected || !region.known() || region.count == 0) break;
      const std::uint64_t from = std::max<std::uint64_t>(begin, offset);
      const std::uint64_t to = std::min<std::uint64_t>(begin + region.bytes(), offset + bytes);
      if (from < to) {
        const auto* const at = static_cast<const std::uint8_t*>(packed) + (from - offset);
        const std::uint64_t wrong = compare(region, from - begin, at, to - from);
        const std::int64_t site = site_of(static_cast<const char*>(function) + 1);  // a site is behind a call
        if (packs) carries(at, to - from);
        const LogLock lock;
        const std::int64_t fields[] = {time_step(), site,       number(one->post), number(i),    number(from - begin),
                                       number(at),  number(to - from), number(wrong),     passes_on ? 1 : 0};
        put(kind, fields);
      }
      begin += region.bytes();
      expected += static_cast<std::ptrdiff_t>(region.count) * region.type->flat.extent;
      elements -= std::min<std::size_t>(elements, region.count);
    }
    return;
  }
}

void packed(const void* buffer, std::size_t elements, std::size_t offset, const void* to, std::size_t bytes, const void* function) {
  by_callback(IntentionRecord::Packed, buffer, elements, offset, to, bytes, function);
}

void unpacked(const void* buffer, std::size_t elements, std::size_t offset, const void* from, std::size_t bytes, const void* function) {
  by_callback(IntentionRecord::Unpacked, buffer, elements, offset, from, bytes, function);
}

// Where blocks are small, libraries move them by loads and stores. But what they pack, or unpack, has the same bytes.
bool holds(const Region& region, const std::uint8_t* packed) {
  const engine::FlatType& flat = region.type->flat;
  if (flat.runs.empty()) return false;
  const auto& first = flat.runs[0];
  if (std::memcmp(region.buffer + first.offset, packed, first.size) != 0) return false;
  return compare(region, 0, packed, region.bytes()) == 0;
}

constexpr std::size_t kMostLooks = 256;  // at places of one block of memory, for blocks of operations

void frees(const void* block, const void* caller) {
  if (!counts(caller)) return;
  const Busy busy;
  Followed& all = followed();
  const Spin spin(&all.lock);
  const auto& operations = all.operations.operations();
  if (operations.empty() || all.operations.has(block, 1)) return;
  std::size_t room = 0;
  std::size_t looked_at = 0;
  for (auto one = operations.rbegin(); one != operations.rend(); ++one) {
    for (const int side : {0, 1}) {
      const Blocks& blocks = side == 0 ? one->gives : one->takes;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const Region& region = blocks.data()[i].region;
        if (!region.known() || region.type->flat.solid || region.bytes() == 0) continue;
        if (room == 0) room = malloc_usable_size(const_cast<void*>(block));
        for (std::size_t k = 0; (k + 1) * region.bytes() <= room; ++k) {
          if (looked_at++ == kMostLooks) return;
          const std::uint8_t* const packed = static_cast<const std::uint8_t*>(block) + k * region.bytes();
          if (!holds(region, packed)) continue;
          const std::int64_t site = site_of(caller);
          const LogLock lock;
          const std::int64_t fields[] = {time_step(), site, number(one->post), side, number(i), number(packed)};
          put(IntentionRecord::Held, fields);
          break;
        }
      }
    }
  }
}

constexpr movements::Hooks kHooks{&copies, &sent, &heard, &pulled, &pushed, &mapped, &packed, &unpacked, &frees};

// Two numbers for the machine, and for its time since it was started: what its clock counts from.
std::pair<std::uint64_t, std::uint64_t> machine() {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  char text[64] = "";
  if (FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    const std::size_t size = std::fread(text, 1, sizeof text - 1, file);
    for (std::size_t i = 0; i < size; ++i) (i % 2 ? second : first) = (i % 2 ? second : first) * 31 + static_cast<unsigned char>(text[i]);
    std::fclose(file);
  }
  return {first, second};
}

}  // namespace

bool follows_movements() { return g_follows; }

void follow_movements() {
  const auto attach = reinterpret_cast<movements::Attach>(dlsym(RTLD_DEFAULT, movements::kAttachName));
  if (!attach) return;
  followed();
  {
    const auto [first, second] = machine();
    const LogLock lock;
    const std::int64_t fields[] = {getpid(), number(first), number(second)};
    put(IntentionRecord::Process, fields);
  }
  g_follows = true;
  g_active_calls = attach(&kHooks);
  g_active_calls->fetch_add(1, std::memory_order_relaxed);  // MPI_Init, which we are in
}

void begins_to_move(std::uint64_t post, std::span<const Block> gives, std::span<const Block> takes) {
  if (!g_follows) return;
  const Busy busy;
  const Spin spin(&followed().lock);
  followed().operations.add(post, gives, takes);
}

void is_moved(std::uint64_t post) {
  if (!g_follows) return;
  const Busy busy;
  const Spin spin(&followed().lock);
  followed().operations.remove(post);
}

}  // namespace reprise::mpi::flow
