// Record mode: obey nothing, log every call and every outcome.
//
// One Recorder per thread of the program. Others touch it only to say what a receive has heard that this thread posted,
// or to close it: once that may happen (share()), every verb takes a lock. Nothing here allocates from the program's
// heap after attach(), and nothing fails visibly: when recording has to stop, the writer goes on into memory that nobody
// reads, and the program never notices.
#pragma once

#include <atomic>
#include <optional>
#include <span>

#include "base/spin.hpp"
#include "engine/call_model.hpp"
#include "engine/event_names.hpp"
#include "engine/sites.hpp"
#include "trace/chunk_writer.hpp"

namespace reprise::engine {

class Recorder;

// Where the outcome of a wildcard receive goes once it is known.
struct WildcardSlot {
  Recorder* owner = nullptr;
  std::uint8_t* at = nullptr;
  std::uint64_t chunk = 0;
  std::uint64_t ordinal = 0;
};

// A communicator's name, computed alike by all its members (frontends/mpi/communicators.hpp).
struct CommunicatorDefinition {
  std::int64_t parent = kNoComm;
  std::uint64_t uid = 0;
  const char* how = "";
  std::uint64_t counter = 0;
  std::uint32_t my_rank = 0;
  std::span<const int> members;  // world ranks in order; of an intercommunicator, the local group's first
  std::size_t remote = 0;        // how many of them are in the remote group
  std::optional<std::uint64_t> number{};  // in this process; without it, in this log
};

class Recorder {
 public:
  bool begin(const FunctionTable& functions);
  Result<void> attach(int dir_fd, const trace::LogIdentity& identity, const trace::Info& info, bool plain) {
    const Guard guard(*this);
    return writer_.attach(dir_fd, identity, info, plain);
  }
  // From now on other threads may touch this log. Called by its own thread, or before that runs.
  void share() { shared_ = true; }
  // No more records: the thread has ended, or the process does. Receives may still be waiting for their senders; then
  // the log is only marked, unless it is the process that ends.
  void finish(const trace::End& end, bool process_ends);
  // Has finish() closed it? Then nobody will touch it any more, and its memory can be given back.
  bool is_closed() const { return closed_; }
  void release();

  // A call was entered. Committed before the call is made, so a rank that never returns shows where it is.
  void call(FunctionId function, const void* caller, const Arguments& arguments) {
    const Guard guard(*this);
    log_event(function, caller, arguments);
    writer_.set_in_call(true);
  }
  // A call that has returned already: nobody can be stuck in it.
  void event(FunctionId function, const void* caller, const Arguments& arguments) {
    const Guard guard(*this);
    log_event(function, caller, arguments);
  }
  void returned() { writer_.set_in_call(false); }
  // Calls so far.
  std::uint64_t events() const { return events_; }

 private:
  void log_event(FunctionId function, const void* caller, const Arguments& arguments) {
    ++events_;
    std::uint32_t number = model_.predicted_site();
    std::uint8_t flags = 0;
    Site* site = number == kNoSite ? nullptr : &sites_[number];
    if (!site || site->address != caller || site->function != function) [[unlikely]] {
      number = find_or_define(function, caller);
      site = &sites_[number];
      flags = trace::kSiteFollows;
    }
    if (site->history.repeats(arguments) && flags == 0) [[likely]]
      writer_.hit();
    else call_differs(flags, number, *site, arguments);
    model_.advance(number);
  }

 public:
  // A wildcard receive is about to be posted.
  WildcardSlot wildcard() {
    const Guard guard(*this);
    std::uint8_t* at = writer_.reserve(trace::Kind::Wildcard, trace::kWildcardBytes);
    put_fixed<std::uint64_t>(at, 0);
    writer_.commit(at + trace::kWildcardBytes);
    ++unresolved_;
    return {this, at, writer_.chunk_number(), wildcards_++};
  }
  // In the log of the thread that posted the receive, whoever knows the outcome.
  static void resolve(const WildcardSlot& slot, std::uint32_t code, std::int32_t tag);
  // It did match, as one can conclude, but the sender is not known yet.
  static void suspect(const WildcardSlot& slot);
  // The same, by a blocking call: the next arguments may be predicted from the source.
  void resolve_blocking(const WildcardSlot& slot, std::uint32_t code, std::int32_t tag) {
    resolve(slot, code, tag);
    if (code >= trace::kSourceBase) model_.set_last_source(code - trace::kSourceBase);
  }

  // A nonblocking probe has shown a message. If it continued an open series of polls, the last call in the log is another
  // one, to which a reader must believe that this outcome belongs: the model is told what it will conclude.
  void shown(std::uint32_t code, std::int32_t tag) {
    const WildcardSlot slot = wildcard();
    if (functions_.flags_of(sites_[model_.previous_site()].function) & kBlocking) resolve_blocking(slot, code, tag);
    else resolve(slot, code, tag);
  }

  // An operation with a request of its own was cancelled in time. Its number counts such operations from 0; they are
  // not logged one by one, since they can be counted again.
  void cancelled(std::uint64_t post);

  // A test is about to be made. The result says whether it continues an open series (then it is not logged as a call).
  Site& poll_begin(FunctionId function, const void* caller, const Arguments& arguments, bool& absorbed) {
    const Guard guard(*this);
    const std::uint32_t known = sites_index_.find(function, caller);
    absorbed = known != kNoSite && sites_[known].poll.open && sites_[known].poll.chunk == writer_.chunk_number();
    if (absorbed) return sites_[known];
    log_event(function, caller, arguments);
    writer_.set_in_call(true);
    return sites_[model_.previous_site()];
  }
  void poll_end(Site& site, bool absorbed, bool success);

  // Which requests were reported; `undefined` when there was no active request.
  template <class Index>
  void indices(std::span<const Index> list, bool undefined) {
    const Guard guard(*this);
    if (list.size() > kMaxIndices) {
      define_note("not-replayable", "one call reported more requests than a record holds");
      list = list.first(kMaxIndices);
    }
    std::uint8_t* out = writer_.reserve(trace::Kind::Indices, 5 * (list.size() + 1));
    out = put_varint(out, undefined ? 0 : list.size() + 1);
    for (const Index index : list) out = put_varint(out, static_cast<std::uint32_t>(index));
    writer_.commit(out);
  }

  void time(double value);
  // What the last call brought: at most kMaxNumbers numbers, any number of bytes, or a failure.
  void numbers(std::span<const std::int64_t> values);
  void bytes(std::span<const std::uint8_t> content);
  void failure(trace::Kind kind, int error);
  // reprise_event(name): a call like any other, whose argument is the number of the name.
  void named_event(const char* name, const void* caller);
  void define_communicator(const CommunicatorDefinition& definition);
  void note(std::string_view key, std::string_view text);

  trace::ChunkWriter& writer() { return writer_; }
  std::uint64_t wildcards() const { return wildcards_; }  // so far

 private:
  static constexpr std::size_t kMaxIndices = trace::kMaxRecord / 5 - 1;

  class Guard : Spin {
   public:
    explicit Guard(Recorder& recorder) : Spin(recorder.shared_ ? &recorder.lock_ : nullptr) {}
  };

  std::uint32_t find_or_define(FunctionId function, const void* caller);
  std::uint32_t define_function(FunctionId function);
  std::uint32_t define_module(const LoadedModule& module);
  void call_differs(std::uint8_t flags, std::uint32_t number, Site& site, const Arguments& arguments);
  void settle(const WildcardSlot& slot, std::uint32_t code, std::int32_t tag);
  void define_note(std::string_view key, std::string_view text);
  void late(std::uint64_t ordinal, std::uint32_t code, std::int32_t tag);
  void define(trace::Definition kind, std::span<const std::uint8_t> content);

  struct Module {
    char build_id[2 * 32 + 1];
    std::uintptr_t base;
  };

  trace::ChunkWriter writer_;
  CallModel model_;
  PagedArray<Site> sites_;
  SiteIndex sites_index_;
  PagedArray<Module, 64> modules_;
  FunctionTable functions_;
  std::uint64_t events_ = 0;
  std::uint16_t function_numbers_[kEventFunction + 1] = {};  // trace number + 1 by function id; 0: not defined yet
  std::uint16_t functions_defined_ = 0;
  std::uint64_t communicators_ = 0;
  std::uint64_t wildcards_ = 0;
  std::uint64_t unresolved_ = 0;  // of the wildcard receives
  bool shared_ = false;
  bool closed_ = false;
  std::atomic_flag lock_;
  std::uint64_t last_time_ = 0;
  std::uint64_t lanes_[trace::kLanes] = {};
  EventNames names_;
};

}  // namespace reprise::engine
