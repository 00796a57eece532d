// Accesses to other PEs' memory, and when they are complete.
#include <algorithm>
#include <set>

#include "base/spin.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/mirrors.hpp"
#include "frontends/shmem/bodies.hpp"
#include "frontends/shmem/memory.hpp"
#include "frontends/shmem/pending.hpp"

namespace reprise::shmem {

using engine::SeenMemory;

namespace {

constexpr std::size_t kMostRuns = 64;  // of one access that are told one by one

// Whichever way the program names the default context, it is none.
const void* context_of(const void* context) {
  static void* const* const known = static_cast<void* const*>(mpi::find_variable("oshmem_ctx_default"));
  return known && context == *known ? nullptr : context;
}

struct Accesses {
  std::atomic_flag lock;
  std::vector<Pending> pending;
  std::set<const void*> unquiet;  // contexts with accesses that may not be complete
};
Accesses& accesses() {
  static auto* const one = new Accesses();
  return *one;
}

Elements elements_of(const bodies::Far& far, const bodies::Near& near) {
  return {const_cast<void*>(near.address), far.element, near.address ? far.count : 0, near.stride};
}

mpi::Call call_of(const bodies::Far& far) {
  mpi::Call call;
  call.peer(far.pe);
  call.count(far.bytes());
  return call;
}

// Before the library knows of it. Its place, for the log.
Destination tell(const bodies::Far& far) {
  Destination where{mpi::begin_access(), far.pe, 0};
  mpi::BorderWindow* const window = memory().window();
  if (!window || far.pe < 0 || static_cast<std::size_t>(far.pe) >= window->peers.size() || far.count == 0) return where;
  const Spin spin(&window->lock);
  const auto name = memory().name(far.address);
  if (!name) {
    mpi::not_solo("static data of a library, which other PEs write to");
    return where;
  }
  const std::uint64_t begin = SeenMemory::name(name->object, name->offset);
  where.place = begin;
  mpi::BorderWindow::Peer& peer = window->peers[static_cast<std::size_t>(far.pe)];
  if (!peer.queue) return where;
  {
    const Spin of_accesses(&accesses().lock);
    accesses().unquiet.insert(context_of(far.context));
  }
  const bool solid = far.stride == 1 || far.count == 1;
  const std::uint64_t step = static_cast<std::uint64_t>(far.stride) * far.element;
  if (!solid && far.count <= kMostRuns) {
    for (std::size_t i = 0; i < far.count; ++i) mpi::BorderWindow::tell(peer, where.access, begin + i * step, far.element);
  } else {
    mpi::BorderWindow::tell(peer, where.access, begin, solid ? far.bytes() : (far.count - 1) * step + far.element);
  }
  return where;
}

}  // namespace

std::vector<Elements> take_pending(const void* context) {
  std::vector<Elements> all;
  const Spin spin(&accesses().lock);
  std::erase_if(accesses().pending, [&](const Pending& one) {
    if (one.context != context) return false;
    all.push_back(one.elements);
    return true;
  });
  return all;
}

void tell_completion(const void* context) {
  mpi::BorderWindow* const window = memory().window();
  if (!window) return;
  {
    const Spin spin(&accesses().lock);
    accesses().unquiet.erase(context);
    // What is told is that all accesses of this PE up to one are complete.
    if (!accesses().unquiet.empty()) return;
  }
  const Spin spin(&window->lock);
  for (mpi::BorderWindow::Peer& peer : window->peers)
    if (peer.told != 0) mpi::BorderWindow::tell_completion(peer);
}

namespace bodies {

void publish_all() {
  if (mpi::BorderWindow* const window = memory().window(); window && !window->mirrors.empty()) {
    const Spin spin(&window->lock);
    mpi::publish_unhooked(*window);
  }
}

// To itself it is seen at once.
void put(Entry& entry, const Far& far, const Near& near, Real real) {
  if (far.pe != static_cast<int>(engine::Session::get().rank())) entry.shows_nothing();
  entry.begin(call_of(far));
  if (is_solo()) {
    mpi::begin_access();
    compare_sent(elements_of(far, near));
  } else {
    const Destination where = tell(far);
    if (records()) log_sent(elements_of(far, near), where);
    real();
  }
  entry.end();
}

void get(Entry& entry, const Far& far, const Near& near, Real real) {
  entry.begin(call_of(far));
  mpi::begin_access();
  if (is_solo()) {
    bring_again(elements_of(far, near));
  } else {
    real();
    log_brought(elements_of(far, near));
  }
  entry.end();
}

void get_later(Entry& entry, const Far& far, const Near& near, Real real) {
  entry.begin(call_of(far));
  mpi::begin_access();
  if (!is_solo()) real();
  if ((is_solo() || records()) && far.bytes() > 0) {
    const Spin spin(&accesses().lock);
    accesses().pending.push_back({context_of(far.context), elements_of(far, near)});
  }
  entry.end();
}

void exchange(Entry& entry, const Far& far, const Near& operand, void* result, Real real) {
  entry.begin(call_of(far));
  const Elements before{result, far.element, 1, 1};
  if (is_solo()) {
    mpi::begin_access();
    compare_sent(elements_of(far, operand));
    bring_again(before);
  } else {
    const Destination where = tell(far);
    if (records()) log_sent(elements_of(far, operand), where);
    real();
    log_brought(before);
  }
  entry.end();
}

void complete(Entry& entry, const void* context, Real real) {
  entry.begin(mpi::Call());
  context = context_of(context);
  const std::vector<Elements> got = take_pending(context);
  if (is_solo()) {
    bring_again(got);
  } else {
    publish_all();
    real();
    log_brought(got);
    tell_completion(context);
  }
  entry.end();
}

void order(Entry& entry, Real real) {
  entry.begin(mpi::Call());
  if (!is_solo()) {
    publish_all();
    real();
  }
  entry.end();
}

int create_context(Entry& entry, void** context, FunctionRef<int()> real) {
  entry.begin(mpi::Call());
  std::int64_t rc = 0;
  if (is_solo()) {
    static std::atomic<std::uintptr_t> made{0};
    mpi::answer_number(rc);
    if (rc == 0) *context = reinterpret_cast<void*>(++made);
  } else {
    rc = real();
    if (records()) mpi::log_number(0, rc);
  }
  entry.end();
  return static_cast<int>(rc);
}

void destroy_context(Entry& entry, const void* context, Real real) { complete(entry, context, real); }

}  // namespace bodies
}  // namespace reprise::shmem
