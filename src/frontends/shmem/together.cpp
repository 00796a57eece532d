// What several PEs do together, and waiting for what others do.
#include <cstring>

#include "base/bytes.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/causality.hpp"
#include "frontends/mpi/border/mirrors.hpp"
#include "frontends/mpi/poll.hpp"
#include "frontends/shmem/bodies.hpp"
#include "frontends/shmem/memory.hpp"
#include "frontends/shmem/pending.hpp"

namespace reprise::shmem::bodies {

using engine::Session;

namespace {

int rank() { return is_solo() ? mpi::trace_provider().rank() : static_cast<int>(Session::get().rank()); }
int ranks() { return mpi::trace_provider().ranks(); }

// Solo replay: PEs that are replayed side by side come together here as well.
void meet(const ActiveSet& set) {
  virtual_world::Companions* const others = mpi::companions();
  if (!others) return;
  const auto part = [](int value, unsigned shift) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(value)) << shift; };
  const std::uint64_t key = std::uint64_t{1} << 63 | (part(set.first, 0) ^ part(set.stride_log, 24) ^ part(set.size, 32));
  const std::uint32_t number = others->enters(key, rank());
  const int size = set.size > 0 ? set.size : ranks();
  for (int i = 0; i < size; ++i) others->awaits(key, set.first + (i << set.stride_log), number);
}

// How much of it a call has written whose result has no known size.
class Changed {
 public:
  explicit Changed(const Result& result) : begin_(static_cast<std::uint8_t*>(result.address)) {
    if (records()) before_.assign(begin_, begin_ + memory().bytes_from(begin_));
  }
  Elements elements() const {
    std::size_t size = before_.size();
    while (size > 0 && before_[size - 1] == begin_[size - 1]) --size;
    return {begin_, 1, size, 1};
  }

 private:
  std::uint8_t* begin_;
  std::vector<std::uint8_t> before_;
};

mpi::Call call_of(const ActiveSet& set, const Result& result) {
  mpi::Call call;
  if (set.size > 0) call.peer(set.first);
  if (result.count != kWhatChanges) call.count(result.count * result.element);
  return call;
}

void log_what_changed(const Result& result, Real real) {
  if (records() && memory().bytes_from(result.address) == 0) mpi::not_solo("a collective into static data of a library");
  const Changed changed(result);
  real();
  if (!records()) return;
  mpi::show_real_bytes(result.address, memory().bytes_from(result.address));
  const Elements elements = changed.elements();
  mpi::log_number(0, static_cast<std::int64_t>(elements.count));
  log_brought(elements);
}

void show_what_changed(const Result& result) {
  std::int64_t size = 0;
  mpi::answer_number(size);
  if (size > 0) bring_again(Elements{result.address, 1, static_cast<std::size_t>(size), 1});
}

int poll(Entry& entry, int yes, FunctionRef<int()> real) {
  mpi::bodies::Poll poll(entry, mpi::Call());
  int answer = !yes;
  if (poll.must_succeed()) {
    answer = yes;
    while (!is_solo() && (real() != 0) != (yes != 0)) sched_yield();
  } else if (!poll.must_fail()) {
    answer = real();
    poll.answered((answer != 0) == (yes != 0));
  }
  entry.end();
  return answer;
}

}  // namespace

bool is_root(const ActiveSet& set, int index) { return set.first + (index << set.stride_log) == rank(); }

void together(Entry& entry, const ActiveSet& set, const Result& result, Real real) {
  entry.begin(call_of(set, result));
  const Elements elements{result.address, result.element, result.count, result.stride};
  if (is_solo()) {
    meet(set);
    if (result.count == kWhatChanges) show_what_changed(result);
    else bring_again(elements);
  } else if (result.count == kWhatChanges) {
    publish_all();
    log_what_changed(result, real);
  } else {
    publish_all();
    real();
    elements.visit([](const std::uint8_t* at, std::size_t size) { mpi::show_real_bytes(at, size); });
    log_brought(elements);
  }
  entry.end();
}

void complete_together(Entry& entry, const ActiveSet& set, Real real) {
  entry.begin(call_of(set, Result{}));
  const std::vector<Elements> got = take_pending(nullptr);
  if (is_solo()) {
    meet(set);
    bring_again(got);
  } else {
    publish_all();
    real();
    log_brought(got);
    tell_completion(nullptr);
  }
  entry.end();
}

void await(Entry& entry, std::size_t bytes, Real real) {
  mpi::Call call;
  call.count(bytes);
  entry.begin(call);
  if (!is_solo()) real();
  entry.end();
}

int test(Entry& entry, FunctionRef<int()> real) { return poll(entry, 1, real); }
int test_lock(Entry& entry, FunctionRef<int()> real) { return poll(entry, 0, real); }

}  // namespace reprise::shmem::bodies
