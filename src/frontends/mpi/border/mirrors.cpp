#include "frontends/mpi/border/mirrors.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/spin.hpp"
#include "engine/session.hpp"
#include "frontends/access_modules.hpp"
#include "frontends/inside.hpp"

namespace reprise::mpi {

using engine::Mirror;
using engine::SeenMemory;
using engine::Session;
using frontends::t_inside;

namespace {

// Memory whose accesses are followed.
struct Followed {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  BorderWindow* window = nullptr;
  std::uint32_t region = 0;
  Mirror* mirror = nullptr;  // recording
};
using Table = std::vector<Followed>;

std::atomic<const Table*> g_table{nullptr};  // in order; never changed once it is here, and kept while other threads may read it
std::atomic_flag g_table_lock;
// What modules keep by themselves while the program has one thread; afterwards each thread has its own.
thread_local reprise_state t_state_of_thread __attribute__((tls_model("initial-exec"))) = {0, UINT64_MAX, 0, 0, 0};
thread_local bool t_begun __attribute__((tls_model("initial-exec"))) = false;

reprise_state& state() {
  if (!frontends::is_threaded()) return frontends::g_state;
  // The thread that has made the first other one goes on where all of the program was.
  if (frontends::g_state.loads > 0 || frontends::g_state.next_load != UINT64_MAX) {
    t_state_of_thread = frontends::g_state;
    frontends::g_state = {0, UINT64_MAX, 0, 0, 0};
  }
  return t_state_of_thread;
}
thread_local engine::DataEntry t_next_entry;

// What a thread does in a hook is not the program's.
class InHook {
 public:
  InHook() { t_inside = true; }
  ~InHook() { t_inside = false; }
  InHook(const InHook&) = delete;
  InHook& operator=(const InHook&) = delete;
};

const Followed* find(std::uintptr_t begin, std::uintptr_t end) {
  const Table* const table = g_table.load(std::memory_order_acquire);
  if (!table) return nullptr;
  const auto behind = std::partition_point(table->begin(), table->end(), [&](const Followed& one) { return one.end <= begin; });
  return behind != table->end() && behind->begin < end ? &*behind : nullptr;
}

struct Stretch {
  const Followed* memory = nullptr;
  std::uint64_t at = 0;
  std::uint64_t size = 0;
};

Stretch find(const void* address, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const Followed* const memory = find(begin, begin + size);
  if (!memory) return {};
  const std::uintptr_t from = std::max(begin, memory->begin);
  return {memory, from - memory->begin, std::min(begin + size, memory->end) - from};
}

std::atomic<bool> g_told_stores{false};

// Memory that is also others': those who listen to it.
template <class Tell>
void each_listener(const BorderWindow& window, Tell tell) {
  const std::int64_t own = Session::get().rank();
  for (std::size_t i = 0; i < window.segments.size() && i < window.peers.size(); ++i) {
    const BorderWindow::Peer& peer = window.peers[i];
    if (peer.queue && peer.rank != own) tell(*peer.queue, static_cast<std::uint64_t>(window.segments[i].offset));
  }
}

// They are told, though not in which call. (If another thread tells of something before the store is done, it may be forgotten
// too early. Then its writer is not known; what is seen is not touched by that.)
void tell_store(const BorderWindow& window, std::uint64_t at, std::uint64_t size) {
  const auto own = static_cast<std::uint32_t>(Session::get().rank());
  each_listener(window, [&](engine::Touches& queue, std::uint64_t offset) { queue.add({at - offset, size, own, engine::kStore}); });
}

// A call follows, by which others may come to know that the stores are done.
void tell_stores_are_done() {
  if (!g_told_stores.load(std::memory_order_relaxed) || !g_told_stores.exchange(false, std::memory_order_acquire)) return;
  const auto own = static_cast<std::uint32_t>(Session::get().rank());
  // Windows that are in the table are not freed meanwhile. Somebody changes it, or a signal handler stores: next time.
  if (g_table_lock.test_and_set(std::memory_order_acquire)) return g_told_stores.store(true, std::memory_order_release);
  for (const Followed& one : *g_table.load(std::memory_order_acquire))
    each_listener(*one.window, [&](engine::Touches& queue, std::uint64_t) { queue.add({0, 0, own, engine::kStore}); });
  g_table_lock.clear(std::memory_order_release);
}

void log_load(const Followed& memory, const SeenMemory::Look& look) {
  add_look(engine::DataKind::Loaded, *memory.window, look, static_cast<std::int64_t>(state().loads));
}

// Others have written there, or code of the program without hooks.
__attribute__((noinline)) void look_at_load(const Stretch& load) {
  const InHook inside;
  const Followed& memory = *load.memory;
  const Spin spin(&memory.window->lock);
  memory.mirror->publish_unhooked(load.at, load.size);
  if (memory.mirror->is_current(load.at, load.size)) return;
  std::uint8_t whole[8];
  const bool is_whole = memory.mirror->load_whole(load.at, load.size, whole);
  const SeenMemory::Look look = memory.window->seen->look_there(memory.region, load.at, load.at + load.size, is_whole ? whole : nullptr);
  if (engine::mode() == Mode::Record) log_load(memory, look);
}

__attribute__((noinline)) void show_at_load() {
  const InHook inside;
  show_look(t_next_entry);
  engine::DataEntry next;
  const bool more = Session::get().values().loaded(looks_so_far(), next);
  state().next_load = more ? static_cast<std::uint64_t>(next.field(3)) : UINT64_MAX;
  if (more) t_next_entry = std::move(next);
  else take_late_looks();
}

void count_load(const Stretch& load) {
  if (!t_begun) count_loads_anew();
  reprise_state& own = state();
  ++own.loads;
  if (!load.memory->mirror && own.loads == own.next_load) show_at_load();
}

// In a replay others see what the program sees, and stores are nobody's.
void be_quick_in(const Followed& memory) {
  frontends::QuickMemory quick{memory.begin, memory.end - memory.begin, 0, 0, REPRISE_STORES_ARE_NOBODYS};
  if (memory.mirror) {
    quick.others = reinterpret_cast<std::uintptr_t>(memory.mirror->real()) - memory.begin;
    quick.agreed = reinterpret_cast<std::uintptr_t>(memory.mirror->agreed()) - memory.begin;
    quick.stores = memory.window->segments.empty() ? REPRISE_STORES_WAIT : REPRISE_STORES_ARE_PASSED_ON;  // others are told of each
  }
  frontends::be_quick_in(quick);
}

void publish(const Followed& memory, std::uint64_t at, std::uint64_t size) {
  if (memory.window->segments.empty()) return memory.mirror->publish(at, size);
  tell_store(*memory.window, at, size);
  memory.mirror->publish(at, size);
  g_told_stores.store(true, std::memory_order_release);
}

void publish() {
  reprise_state& own = state();
  if (own.waiting == 0) return;
  const Stretch store = find(reinterpret_cast<const void*>(own.waiting), own.waiting_size);
  own.waiting = 0;
  if (store.memory && store.memory->mirror) {
    publish(*store.memory, store.at, store.size);
    // Whoever listens looks at all of it in every call until it is done, and the next call may be far away.
    constexpr std::uint64_t kLarge = 4096;
    if (store.size >= kLarge) tell_stores_are_done();
  }
}

// Stores come in series: not after each one.
void leave_others_alone() {
  if (!frontends::is_threaded() && frontends::g_state.idle >= REPRISE_IDLE) frontends::pass_followed_accesses();
}

void on_load(const void* address, std::size_t size) {
  publish();
  const Stretch load = find(address, size);
  if (!load.memory) return leave_others_alone();
  if (t_inside) return;
  count_load(load);
  if (load.memory->mirror && !load.memory->mirror->is_current(load.at, load.size)) look_at_load(load);
  be_quick_in(*load.memory);
}

// What is stored is known when it has been.
void on_store(void* address, std::size_t size) {
  publish();
  const Stretch store = find(address, size);
  if (!store.memory) return leave_others_alone();
  if (!t_inside) be_quick_in(*store.memory);
  if (!store.memory->mirror) return;
  reprise_state& own = state();
  own.waiting = reinterpret_cast<std::uintptr_t>(address);
  own.waiting_size = size;
  own.idle = 0;
  if (!frontends::is_threaded()) frontends::pass_all_accesses();
}

void on_atomic(void* address, reprise_atomic* one) {
  publish();
  const Stretch access = find(address, one->size);
  if (!access.memory || t_inside) return one->perform(one, address);
  count_load(access);
  Mirror* const mirror = access.memory->mirror;
  if (!mirror) return one->perform(one, address);
  const InHook inside;
  const Spin spin(&access.memory->window->lock);
  mirror->publish_unhooked(access.at, access.size);
  if (one->kind != REPRISE_ATOMIC_LOAD && !access.memory->window->segments.empty()) tell_store(*access.memory->window, access.at, access.size);
  one->perform(one, mirror->real() + access.at);
  g_told_stores.store(true, std::memory_order_release);
  const bool is_news = one->kind != REPRISE_ATOMIC_STORE && std::memcmp(one->before, mirror->program() + access.at, one->size) != 0;
  if (is_news) {
    const auto* const before = static_cast<const std::uint8_t*>(one->before);
    const SeenMemory::Look look = access.memory->window->seen->look_there(access.memory->region, access.at, access.at + access.size, before);
    if (engine::mode() == Mode::Record) log_load(*access.memory, look);
  }
  one->perform(one, address);  // the same again, from what the program knows by now
  mirror->agree(access.at, access.size);
}

// Under the lock.
void use_table(const Table& table) {
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (const Followed& one : table) {
    begin = std::min(begin, one.begin);
    end = std::max(end, one.end);
  }
  frontends::be_quick_in({});
  auto* const sorted = new Table(table);
  std::sort(sorted->begin(), sorted->end(), [](const Followed& a, const Followed& b) { return a.begin < b.begin; });
  const Table* const before = g_table.exchange(sorted, std::memory_order_acq_rel);
  if (!frontends::is_threaded()) delete before;
  constexpr std::uintptr_t kLargest = 16;  // access, which may begin before the memory and end in it
  begin -= std::min(begin, kLargest - 1);
  if (table.empty()) begin = end = 0;
  frontends::follow_accesses({&on_load, &on_store, &on_atomic, &publish_waiting}, begin, end);
}

Table current_table() {
  const Table* const table = g_table.load(std::memory_order_acquire);
  return table ? *table : Table();
}

}  // namespace

bool follows_accesses() { return Session::get().configuration().access && follows_values() && frontends::has_hooks(); }

void* make_real_memory(std::uint64_t size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void free_real_memory(void* memory, std::uint64_t size) { ::munmap(memory, size); }

void follow_region(BorderWindow& window, std::uint32_t region, void* program, std::uint64_t size, Mirror* mirror) {
  if (size == 0) return;
  const Spin spin(&g_table_lock);
  Table table = current_table();
  const auto begin = reinterpret_cast<std::uintptr_t>(program);
  table.push_back({begin, begin + size, &window, region, mirror});
  use_table(table);
}

namespace {

template <class Is>
void forget(Is is) {
  publish_waiting();
  const Spin spin(&g_table_lock);
  Table table = current_table();
  if (std::erase_if(table, is) > 0) use_table(table);
}

}  // namespace

void forget_region(const void* program) {
  forget([&](const Followed& one) { return one.begin == reinterpret_cast<std::uintptr_t>(program); });
}

void forget_all_regions() {
  forget([](const Followed&) { return true; });
}

void forget_regions(const BorderWindow& window) {
  forget([&](const Followed& one) { return one.window == &window; });
}

void publish_waiting() {
  publish();
  tell_stores_are_done();
  if (!frontends::is_threaded()) frontends::pass_followed_accesses();
}

void* real_address(const void* program) {
  const Stretch at = find(program, 1);
  return at.memory && at.memory->mirror ? at.memory->mirror->real() + at.at : const_cast<void*>(program);
}

void show_real_bytes(const void* program, std::uint64_t size) {
  const Stretch at = find(program, size);
  if (at.memory && at.memory->mirror) at.memory->mirror->show(at.at, at.memory->mirror->real() + at.at, at.size);
}

void publish_written(const void* program, std::uint64_t size) {
  if (!Session::get().configuration().access) return;
  const Stretch at = find(program, size);
  if (!at.memory || !at.memory->mirror) return;
  const Spin spin(&at.memory->window->lock);
  at.memory->mirror->publish_unhooked(at.at, at.size);
}

void publish_unhooked(BorderWindow& window) {
  forget_lost_memory(window);
  for (const auto& mirror : window.mirrors) mirror->publish_unhooked();
}

void count_no_loads() { frontends::be_quick_in({}); }

void count_loads_anew() {
  t_begun = true;
  reprise_state& own = state();
  own.loads = 0;
  own.next_load = UINT64_MAX;
  if (engine::mode() != Mode::Replay || !Session::get().solo()) return;
  if (!Session::get().values().loaded(looks_so_far(), t_next_entry)) return;
  own.next_load = static_cast<std::uint64_t>(t_next_entry.field(3));
}

}  // namespace reprise::mpi
