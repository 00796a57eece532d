#include "engine/recorder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sched.h>

namespace reprise::engine {

using trace::Definition;
using trace::Kind;

bool Recorder::begin(const FunctionTable& functions) {
  functions_ = functions;
  if (functions.count > kEventFunction || !writer_.begin_private()) return false;
  define_module(LoadedModule{});  // module 0 is "unknown"
  return modules_.size() == 1;
}

// Definitions carry their length, so that a reader can skip kinds that it does not know.
void Recorder::define(Definition kind, std::span<const std::uint8_t> content) {
  std::uint8_t* out = writer_.reserve(Kind::Define, content.size() + 1 + kMaxVarint);
  out = put_varint(out, content.size() + 1);
  *out++ = static_cast<std::uint8_t>(kind);
  writer_.commit(put_bytes(out, content.data(), content.size()));
}

namespace {

// Definitions are rare: build the text first, so that the length in front of it is exact.
struct DefinitionText {
  std::uint8_t bytes[2 * PATH_MAX];
  std::uint8_t* end = bytes;

  void number(std::uint64_t value) { end = put_varint(end, value); }
  void text(std::string_view value) { end = put_string(end, value.substr(0, PATH_MAX - 1)); }
  std::span<const std::uint8_t> content() const { return {bytes, static_cast<std::size_t>(end - bytes)}; }
};

}  // namespace

std::uint32_t Recorder::define_function(FunctionId function) {
  if (function_numbers_[function] != 0) return function_numbers_[function] - 1u;
  DefinitionText text;
  text.text(functions_.name(function));
  text.number(functions_.flags_of(function) & kBlocking);
  define(Definition::Function, text.content());
  function_numbers_[function] = ++functions_defined_;
  return functions_defined_ - 1u;
}

std::uint32_t Recorder::define_module(const LoadedModule& module) {
  for (std::uint32_t i = 1; i < modules_.size(); ++i)
    if (modules_[i].base == module.base && std::strcmp(modules_[i].build_id, module.build_id) == 0) return i;
  Module* added = modules_.add();
  if (!added) return 0;
  added->base = module.base;
  std::memcpy(added->build_id, module.build_id, sizeof added->build_id);
  DefinitionText text;
  text.text(module.path);
  text.text(module.build_id);
  define(Definition::Module, text.content());
  return modules_.size() - 1;
}

std::uint32_t Recorder::find_or_define(FunctionId function, const void* caller) {
  const std::uint32_t known = sites_index_.find(function, caller);
  if (known != kNoSite) return known;
  const std::uint32_t number = sites_.size();
  LoadedModule module;
  const bool found = find_module_of(caller, module);
  Site* site = sites_.add();
  if (!site || !sites_index_.insert(function, caller, number)) {
    define_note("not-replayable", "more call sites than Reprise can number");
    return 0;
  }
  site->address = caller;
  site->function = function;
  site->module = found ? define_module(module) : 0;
  site->offset = found ? reinterpret_cast<std::uintptr_t>(caller) - module.base : 0;
  DefinitionText text;
  text.number(define_function(function));
  text.number(site->module);
  text.number(site->offset);
  define(Definition::Site, text.content());
  return number;
}

// Not the same as last time: predicted by another rule, or written down.
void Recorder::call_differs(std::uint8_t flags, std::uint32_t number, Site& site, const Arguments& arguments) {
  const std::int64_t source = model_.last_source();
  const Arguments predicted = site.history.predict(source);
  for (unsigned i = 0; i < trace::kArguments; ++i)
    if (predicted[i] != arguments[i]) flags |= trace::argument_follows(i);
  if (flags == 0) {
    writer_.hit();
  } else {
    std::uint8_t* out = writer_.reserve(Kind::Event, 1 + kMaxVarint * (1 + trace::kArguments));
    *out++ = flags;
    if (flags & trace::kSiteFollows) out = put_varint(out, number);
    for (unsigned i = 0; i < trace::kArguments; ++i) {
      if (!(flags & trace::argument_follows(i))) continue;
      const auto difference =
          static_cast<std::uint64_t>(arguments[i]) - static_cast<std::uint64_t>(site.history.last()[i]);
      out = put_signed(out, static_cast<std::int64_t>(difference));
    }
    writer_.commit(out);
  }
  site.history.learn(arguments, source);
}

void Recorder::resolve(const WildcardSlot& slot, std::uint32_t code, std::int32_t tag) {
  const Guard guard(*slot.owner);
  slot.owner->settle(slot, code, tag);
  if (code != trace::kAmbiguous) --slot.owner->unresolved_;
}

void Recorder::suspect(const WildcardSlot& slot) {
  const Guard guard(*slot.owner);
  if (slot.chunk == slot.owner->writer_.chunk_number()) slot.owner->settle(slot, trace::kAmbiguous, 0);
}

void Recorder::finish(const trace::End& end, bool process_ends) {
  // Not for ever: exit() may have been called by a signal handler that has interrupted who holds the lock.
  constexpr int kTries = 100'000;
  bool held = false;
  for (int tries = 0; shared_ && !held && tries < kTries; ++tries) {
    held = !lock_.test_and_set(std::memory_order_acquire);
    if (!held) sched_yield();
  }
  if (writer_.attached() && (unresolved_ == 0 || process_ends)) {
    writer_.finish(end);
    closed_ = true;
  } else {
    writer_.set_in_call(end.in_call);
    writer_.set_end(end.kind, end.value);
  }
  if (held) lock_.clear(std::memory_order_release);
}

void Recorder::release() {
  writer_.release();
  sites_.clear();
  sites_index_.clear();
  modules_.clear();
}

void Recorder::settle(const WildcardSlot& slot, std::uint32_t code, std::int32_t tag) {
  if (slot.chunk == writer_.chunk_number()) [[likely]] {
    put_fixed(slot.at + 4, tag);
    std::atomic_signal_fence(std::memory_order_release);  // the code commits the tag
    put_fixed(slot.at, code);
    writer_.touched(slot.at, trace::kWildcardBytes);
    return;
  }
  late(slot.ordinal, code, tag);
}

void Recorder::cancelled(std::uint64_t post) {
  const Guard guard(*this);
  late(post, trace::kCancelledPost, 0);
}

void Recorder::late(std::uint64_t ordinal, std::uint32_t code, std::int32_t tag) {
  std::uint8_t* out = writer_.reserve(Kind::Late, 3 * kMaxVarint);
  out = put_varint(out, ordinal);
  out = put_varint(out, code);
  out = put_signed(out, tag);
  writer_.commit(out);
}

void Recorder::poll_end(Site& site, bool absorbed, bool success) {
  const Guard guard(*this);
  PollSeries& series = site.poll;
  if (absorbed && series.chunk == writer_.chunk_number()) {
    const auto count = get_fixed<std::uint64_t>(series.slot) + (success ? 1 : 2);
    put_fixed(series.slot, count);
    writer_.touched(series.slot, trace::kPollBytes);
    series.open = !success;
    return;
  }
  std::uint8_t* at = writer_.reserve(Kind::Poll, trace::kPollBytes);
  put_fixed<std::uint64_t>(at, success ? 1 : 2);
  writer_.commit(at + trace::kPollBytes);
  series = {.open = !success, .slot = at, .chunk = writer_.chunk_number()};
}

void Recorder::time(double value) {
  const Guard guard(*this);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  std::uint8_t* out = writer_.reserve(Kind::Time, kMaxVarint);
  out = put_signed(out, static_cast<std::int64_t>(bits - last_time_));
  writer_.commit(out);
  last_time_ = bits;
}

void Recorder::numbers(std::span<const std::int64_t> values) {
  const Guard guard(*this);
  const Site& site = sites_[model_.previous_site()];
  const std::uint32_t function = function_numbers_[site.function] - 1u;
  const std::int64_t tag = site.history.last()[kTag];
  std::uint8_t* out = writer_.reserve(Kind::Numbers, kMaxVarint * (values.size() + 1));
  out = put_varint(out, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t& last = lanes_[trace::lane_of(function, tag, i)];
    const auto value = static_cast<std::uint64_t>(values[i]);
    out = put_signed(out, static_cast<std::int64_t>(value - last));
    last = value;
  }
  writer_.commit(out);
}

void Recorder::bytes(std::span<const std::uint8_t> content) {
  const Guard guard(*this);
  for (;;) {
    const auto part = content.first(std::min<std::size_t>(content.size(), trace::kMaxByteString));
    std::uint8_t* out = writer_.reserve(Kind::Bytes, kMaxVarint + part.size());
    out = put_varint(out, part.size() + 1);
    writer_.commit(put_bytes(out, part.data(), part.size()));
    if (part.size() < trace::kMaxByteString) return;
    content = content.subspan(part.size());
  }
}

void Recorder::failure(Kind kind, int error) {
  const Guard guard(*this);
  std::uint8_t* out = writer_.reserve(kind, 2 * kMaxVarint);
  out = put_varint(out, 0);
  out = put_varint(out, static_cast<std::uint32_t>(error));
  writer_.commit(out);
}

void Recorder::named_event(const char* name, const void* caller) {
  const Guard guard(*this);
  const std::string_view text = event_name(name);
  std::int64_t number = names_.find(text);
  if (number == EventNames::kUnknown && (number = names_.add(text)) != EventNames::kUnknown) {
    DefinitionText definition;
    definition.text(text);
    define(Definition::Name, definition.content());
  }
  log_event(kEventFunction, caller, event_arguments(number));
}

void Recorder::define_communicator(const CommunicatorDefinition& definition) {
  const Guard guard(*this);
  // The members as ranges with a stride: one range for most communicators, however many ranks there are.
  constexpr std::size_t kPerRange = 3 * kMaxVarint;
  const std::size_t limit =
      256 + kPerRange * (1 + std::min<std::size_t>(definition.members.size(), trace::kMaxRecord / kPerRange / 2));
  std::uint8_t* const record = writer_.reserve(Kind::Define, limit + kMaxVarint);
  std::uint8_t* const content = record + 5;  // room for the length, which is known only at the end
  std::uint8_t* out = content;
  *out++ = static_cast<std::uint8_t>(Definition::Communicator);
  out = put_signed(out, definition.parent);
  out = put_fixed(out, definition.uid);
  out = put_string(out, definition.how);
  out = put_varint(out, definition.counter);
  out = put_varint(out, definition.my_rank);
  out = put_varint(out, definition.members.size());
  const std::span<const int> members = definition.members;
  std::uint8_t* const count_at = out;
  std::uint64_t ranges = 0;
  for (int pass = 0; pass < 2; ++pass) {  // count first, then write: the count stands in front
    if (pass == 1) out = put_varint(count_at, ranges);
    ranges = 0;
    for (std::size_t i = 0; i < members.size();) {
      std::size_t next = i + 1;
      const int stride = next < members.size() ? members[next] - members[i] : 1;
      while (next < members.size() && members[next] - members[next - 1] == stride) ++next;
      if (kPerRange * (ranges + 2) > limit - 256) break;  // a hopeless list is cut; the uid still names it
      if (pass == 1) {
        out = put_varint(out, static_cast<std::uint32_t>(members[i]));
        out = put_signed(out, stride);
        out = put_varint(out, next - i);
      }
      ++ranges;
      i = next;
    }
  }
  out = put_varint(out, definition.remote);
  out = put_varint(out, definition.number.value_or(communicators_));
  ++communicators_;
  const auto size = static_cast<std::size_t>(out - content);
  std::uint8_t* const placed = put_varint(record, size);
  std::memmove(placed, content, size);
  writer_.commit(placed + size);
}

void Recorder::note(std::string_view key, std::string_view text) {
  const Guard guard(*this);
  define_note(key, text);
}

void Recorder::define_note(std::string_view key, std::string_view text) {
  DefinitionText definition;
  definition.text(key);
  definition.text(text);
  define(Definition::Note, definition.content());
}

}  // namespace reprise::engine
