#define XXH_INLINE_ALL
#include "frontends/mpi/flow/log.hpp"

#include <xxhash.h>

#include <sched.h>

#include <array>
#include <cstring>
#include <map>
#include <unordered_map>

#include "base/bytes.hpp"
#include "base/machine_ticks.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/check/report.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/flow/movements.hpp"

namespace reprise::mpi::flow {
namespace {

using engine::DataKind;
using engine::DataRun;
using trace::IntentionRecord;

engine::DataRecorder& file() { return engine::Session::get().messages(); }

thread_local bool t_logs __attribute__((tls_model("initial-exec"))) = false;

struct Log {
  std::atomic_flag lock;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> places;
  std::unordered_map<std::uint64_t, std::uint32_t> shapes;  // by digest
  std::uint32_t types = 0;
  std::uint32_t groups = 0;
  std::uint64_t posts = 0;
  const engine::ThreadStream* caller = nullptr;
  bool unordered = false;
  std::uint64_t time = 0;
};
Log& log() {
  static auto* const one = new Log();  // never destroyed: the program may call MPI while it ends
  return *one;
}

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

// An array of numbers as a part.
class Numbers {
 public:
  void add(std::int64_t value) {
    std::uint8_t room[kMaxVarint];
    bytes_.insert(bytes_.end(), room, put_signed(room, value));
  }
  template <class Range>
  void add_all(const Range& values) {
    for (const auto value : values) add(value);
  }
  Bytes bytes() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Called within the lock of the types or groups, never within ours.
std::uint32_t number_type(const Type& type) {
  const LogLock lock;
  const Bytes tree{type.tree.data(), type.tree.size()};
  put(IntentionRecord::Type, {}, {&tree, 1});
  if (type.packed_otherwise) {
    const std::int64_t fields[] = {static_cast<std::int64_t>(trace::Seen::WrongType), 0, 0, 0, log().types};
    put(IntentionRecord::Remark, fields, {});
  }
  return log().types++;
}

std::uint32_t number_group(const Group& group) {
  Numbers local, remote, first, second;
  std::int64_t kind = 0;
  local.add_all(group.local);
  remote.add_all(group.remote);
  if (const auto* grid = std::get_if<virtual_world::Cartesian>(&group.topology)) {
    kind = 1;
    first.add_all(grid->dims);
    second.add_all(grid->periodic);
  } else if (const auto* graph = std::get_if<virtual_world::Graph>(&group.topology)) {
    kind = 2;
    first.add_all(graph->index);
    second.add_all(graph->edges);
  } else if (const auto* free = std::get_if<virtual_world::DistributedGraph>(&group.topology)) {
    kind = 3;
    first.add_all(free->sources);
    second.add_all(free->destinations);
  }
  const std::int64_t fields[] = {number(group.uid), group.me, static_cast<std::int64_t>(group.local.size()),
                                 static_cast<std::int64_t>(group.remote.size()), kind};
  const Bytes parts[] = {local.bytes(), remote.bytes(), first.bytes(), second.bytes()};
  const LogLock lock;
  put(IntentionRecord::Group, fields, parts);
  return log().groups++;
}

// All of the following within the lock.

std::uint32_t this_place() {
  const check::Where where = check::here();
  const auto [found, is_new] =
      log().places.try_emplace({where.site, where.function}, static_cast<std::uint32_t>(log().places.size()));
  if (is_new) {
    const std::string text = check::place_fields(where);
    const Bytes part{text.data(), text.size()};
    put(IntentionRecord::Place, {}, {&part, 1});
  }
  return found->second;
}

// With several threads nobody knows in which order the library sees their calls.
void note_caller() {
  if (log().caller == engine::t_stream || log().unordered) return;
  if (!log().caller) {
    log().caller = engine::t_stream;
    return;
  }
  log().unordered = true;
  put(IntentionRecord::Unordered, {}, {});
}

std::int64_t offset(const void* from, const void* base) {
  return static_cast<const char*>(from) - static_cast<const char*>(base);
}

void write_shape(const Shape& shape, std::uint32_t place) {
  Numbers gives, takes;
  for (const Block& block : std::span(shape.gives, shape.gives_count)) {
    gives.add(offset(block.region.buffer, shape.given_base));
    gives.add(number(block.region.count));
    gives.add(block.region.type ? block.region.type->number : 0);
    gives.add(block.peer);
  }
  for (const Block& block : std::span(shape.takes, shape.takes_count)) {
    takes.add(offset(block.region.buffer, shape.taken_base));
    takes.add(number(block.region.count));
    takes.add(block.region.type ? block.region.type->number : 0);
    takes.add(block.peer);
    takes.add(number(block.number));
    takes.add(block.by_edge);
  }
  const std::int64_t fields[trace::kShapeFields] = {place,
                                                    shape.group->number,
                                                    static_cast<std::int64_t>(shape.form),
                                                    shape.root,
                                                    shape.dest,
                                                    shape.send_tag,
                                                    shape.source,
                                                    shape.receive_tag,
                                                    number(shape.operation),
                                                    shape.combines,
                                                    number(shape.all),
                                                    number(shape.first),
                                                    number(shape.count),
                                                    shape.element ? shape.element->number : -1,
                                                    shape.flags};
  const Bytes parts[] = {gives.bytes(), takes.bytes()};
  put(IntentionRecord::Shape, fields, parts);
}

void mix(XXH3_state_t& state, const Block* blocks, std::size_t count, const void* base) {
  for (const Block& block : std::span(blocks, count)) {
    const std::uint64_t words[] = {static_cast<std::uint64_t>(offset(block.region.buffer, base)),
                                   block.region.count,
                                   block.region.type ? block.region.type->number : 0,
                                   static_cast<std::uint64_t>(block.peer),
                                   block.number << 1 | (block.by_edge ? 1 : 0)};
    XXH3_64bits_update(&state, words, sizeof words);
  }
}

// 64 bits, among the shapes of one process: that two of them have the same digest will not happen.
std::uint64_t digest_of(const Shape& shape) {
  const check::Where where = check::here();
  const std::uint64_t words[] = {where.site,
                                 where.function,
                                 shape.group->number,
                                 static_cast<std::uint64_t>(shape.form) | static_cast<std::uint64_t>(shape.flags) << 8,
                                 static_cast<std::uint64_t>(shape.root),
                                 static_cast<std::uint64_t>(shape.dest),
                                 static_cast<std::uint64_t>(shape.send_tag),
                                 static_cast<std::uint64_t>(shape.source),
                                 static_cast<std::uint64_t>(shape.receive_tag),
                                 shape.operation,
                                 static_cast<std::uint64_t>(shape.combines),
                                 shape.all,
                                 shape.first,
                                 shape.count,
                                 shape.element ? shape.element->number + 1u : 0u,
                                 shape.gives_count};
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, words, sizeof words);
  mix(state, shape.gives, shape.gives_count, shape.given_base);
  mix(state, shape.takes, shape.takes_count, shape.taken_base);
  return XXH3_64bits_digest(&state);
}

}  // namespace

void open_log() {
  number_types_with(&number_type);
  number_groups_with(&number_group);
  engine::Session::get().open_messages();
}

void put(trace::IntentionRecord kind, std::span<const std::int64_t> fields, std::span<const Bytes> parts) {
  std::array<std::uint64_t, 8> sizes{};
  std::array<DataRun, 8> runs{};
  std::size_t used = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sizes[i] = parts[i].size;
    if (parts[i].size > 0) runs[used++] = {parts[i].from, parts[i].size};
  }
  file().add(static_cast<DataKind>(kind), fields, {sizes.data(), parts.size()}, {runs.data(), used});
}

LogLock::LogLock() {
  t_logs = true;  // first: a signal handler may copy something
  while (log().lock.test_and_set(std::memory_order_acquire)) sched_yield();
}
LogLock::~LogLock() {
  log().lock.clear(std::memory_order_release);
  t_logs = false;
}
bool this_thread_logs() { return t_logs; }

std::int64_t time_step() { return time_step(machine_ticks()); }
std::int64_t time_step(std::uint64_t until) { return number(until - std::exchange(log().time, until)); }

bool is_logging() { return file().is_open(); }
bool uses_messages() { return engine::Session::get().configuration().flow_messages; }

std::uint32_t number_of(const Shape& shape) {
  const std::uint64_t digest = digest_of(shape);
  const LogLock lock;
  const auto [found, is_new] = log().shapes.try_emplace(digest, static_cast<std::uint32_t>(log().shapes.size()));
  if (is_new) {
    const std::uint32_t place = this_place();
    write_shape(shape, place);
  }
  return found->second;
}

std::uint64_t log_begin(std::uint32_t shape, const void* address, const void* given_from, Bytes given, Bytes contribution) {
  const LogLock lock;
  note_caller();
  const bool timed = follows_movements();
  const std::int64_t fields[] = {shape, number(reinterpret_cast<std::uintptr_t>(address)),
                                 number(reinterpret_cast<std::uintptr_t>(given_from)), timed ? time_step() : 0};
  const Bytes parts[] = {given, contribution};
  put(IntentionRecord::Begin, {fields, timed ? 4u : 2u}, {parts, contribution.size > 0 ? 2u : 1u});
  return log().posts++;
}

void log_end(std::uint64_t post, std::optional<std::uint32_t> shape, const Told& told, Bytes taken, Bytes result, Bytes expected,
             const void* address) {
  const LogLock lock;
  const bool timed = follows_movements();
  // Where a matched receive takes to was not known when its probe began.
  const std::int64_t fields[] = {number(post),
                                 shape ? *shape + std::int64_t{1} : 0,
                                 told.error,
                                 told.source,
                                 told.tag,
                                 number(told.bytes),
                                 told.cancelled,
                                 timed ? time_step() : 0,
                                 shape ? number(reinterpret_cast<std::uintptr_t>(address)) : 0};
  const Bytes parts[] = {taken, result, expected};
  put(IntentionRecord::End, {fields, !timed ? 7u : shape ? 9u : 8u}, {parts, expected.size > 0 ? 3u : result.size > 0 ? 2u : 1u});
}

void log_whole(std::uint32_t shape, const void* address, const Told& told, Bytes given, Bytes taken, Bytes contribution,
               Bytes result, Bytes expected) {
  const LogLock lock;
  note_caller();
  const std::int64_t fields[] = {shape,         number(reinterpret_cast<std::uintptr_t>(address)),
                                 told.error,    told.source,
                                 told.tag,      number(told.bytes),
                                 told.cancelled};
  const Bytes parts[] = {given, taken, contribution, result, expected};
  put(IntentionRecord::Whole, fields, {parts, expected.size > 0 ? 5u : contribution.size + result.size > 0 ? 4u : 2u});
}

void log_freed(std::uint64_t post) {
  const LogLock lock;
  const std::int64_t fields[] = {number(post)};
  put(IntentionRecord::Freed, fields, {});
}

void log_access(std::uint32_t shape) {
  const LogLock lock;
  const std::int64_t fields[] = {shape};
  put(IntentionRecord::Access, fields, {});
}

void log_accumulated(std::uint64_t operation, std::uint64_t element, const char* type, Bytes elements) {
  const LogLock lock;
  const std::int64_t fields[] = {number(operation), number(element)};
  const Bytes parts[] = {{type, std::strlen(type)}, elements};
  put(IntentionRecord::Accumulated, fields, parts);
}

void log_remark(trace::Seen seen, int side, std::uint64_t block, std::uint64_t offset, std::uint64_t more) {
  const LogLock lock;
  const std::int64_t fields[] = {static_cast<std::int64_t>(seen), side, number(block), number(offset), number(more)};
  put(IntentionRecord::Remark, fields, {});
}

}  // namespace reprise::mpi::flow
