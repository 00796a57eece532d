#include "frontends/threads/deadlocks.hpp"

#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/site_text.hpp"
#include "base/tasks.hpp"
#include "engine/wait_graph.hpp"
#include "frontends/sys/exits.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/threads/lock_facts.hpp"

namespace reprise::threads {
namespace {

using engine::Mode;
using engine::Session;
using engine::ThreadStream;
using engine::WaitingThread;
using For = WaitingThread::For;

constinit sys::Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> g_create{"pthread_create"};

std::atomic<bool> g_strangers{false};
int g_watcher = 0;  // its kernel id; for itself

// Threads that libraries have made for themselves, by kernel id.
std::atomic<int> g_library_threads[64];

bool is_library_thread(int id) {
  return std::any_of(std::begin(g_library_threads), std::end(g_library_threads),
                     [&](const auto& one) { return one.load(std::memory_order_relaxed) == id; });
}

struct LibraryStart {
  void* (*routine)(void*);
  void* argument;
};
void* library_thread_main(void* argument) {
  const LibraryStart start = *static_cast<LibraryStart*>(argument);
  delete static_cast<LibraryStart*>(argument);
  const int id = own_task();
  auto* const end = std::end(g_library_threads);
  auto* const place = std::find_if(std::begin(g_library_threads), end, [&](auto& one) {
    int nobody = 0;
    return one.compare_exchange_strong(nobody, id, std::memory_order_relaxed);
  });
  void* const result = start.routine(start.argument);
  if (place != end) place->store(0, std::memory_order_relaxed);
  return result;
}

// The last signal of each condition. Two may share a place; then the earlier one is forgotten.
struct Signal {
  std::atomic<std::uint64_t> condition, caller, turn;
};
constexpr unsigned kSignalBits = 10;
Signal g_signals[1u << kSignalBits];

Signal& signal_of(std::uint64_t condition) {
  return g_signals[condition * 0x9e3779b97f4a7c15ull >> (64 - kSignalBits)];
}

// A thread as it was at one moment.
struct Seen {
  std::uint32_t number = 0;
  int kernel_id = 0;
  pthread_t handle{};
  bool at_end = false;
  std::uint64_t sequence = 0;
  engine::ThreadWait::Facts wait;
  engine::TakenLocks::List taken;

  bool waits() const { return sequence % 2 == 1; }
};

std::vector<Seen> see_threads() {
  std::vector<Seen> seen;
  seen.reserve(64);
  Session::get().each_thread([&](const ThreadStream& stream) {
    Seen one;
    one.number = stream.number;
    one.kernel_id = stream.kernel_id.load(std::memory_order_acquire);
    one.handle = stream.handle.load(std::memory_order_acquire);
    one.at_end = stream.at_end;
    one.sequence = stream.wait.sequence();
    if (one.waits()) {
      one.wait = stream.wait.facts();
      one.taken = stream.taken.newest_first();
      if (stream.wait.sequence() != one.sequence) one.sequence = 0;
    }
    seen.push_back(one);
  });
  return seen;
}

WaitingThread waits_for_owner(const std::vector<Seen>& threads, const Seen& thread, int owner) {
  const auto holder =
      std::find_if(threads.begin(), threads.end(), [&](const Seen& one) { return one.kernel_id == owner; });
  if (owner == 0 || holder == threads.end()) return {thread.number, For::Nobody, 0};
  return {thread.number, For::Thread, holder->number};
}

WaitingThread what_it_waits_for(const std::vector<Seen>& threads, const Seen& thread, bool conditions) {
  const WaitingThread nobody{thread.number, For::Nobody, 0};
  if (!thread.waits()) return nobody;
  switch (static_cast<Function>(thread.wait.function)) {
    case Function::MutexLock: return waits_for_owner(threads, thread, mutex_owner(thread.wait.object));
    case Function::RwlockRdlock:
    case Function::RwlockWrlock: {
      int writer = 0;
      const Access access = rwlock_holder(thread.wait.object, writer);
      if (access == Access::Writer) return waits_for_owner(threads, thread, writer);
      return access == Access::Readers && conditions ? WaitingThread{thread.number, For::Anybody, 0} : nobody;
    }
    case Function::CondWait:
      return conditions && !is_shared_condition(thread.wait.object) ? WaitingThread{thread.number, For::Anybody, 0}
                                                                    : nobody;
    case Function::Join:
      for (const Seen& one : threads)
        if (reinterpret_cast<std::uint64_t>(reinterpret_cast<void*>(one.handle)) == thread.wait.object)
          return {thread.number, For::Thread, one.number};
      return nobody;
    default: return nobody;
  }
}

std::vector<WaitingThread> wait_graph(const std::vector<Seen>& threads, bool conditions) {
  std::vector<WaitingThread> graph;
  for (const Seen& thread : threads) graph.push_back(what_it_waits_for(threads, thread, conditions));
  return graph;
}

// Are all threads of the process known: the program's, our own, and those that libraries have made for themselves?
// The C library makes some in secret, for timers, and those call functions of the program.
bool knows_all_threads(const std::vector<Seen>& threads) {
  if (g_strangers.load(std::memory_order_relaxed)) return false;
  bool known = true;
  const bool listed = each_task([&](int id) {
    if (id == g_watcher || is_library_thread(id)) return;
    known &= std::any_of(threads.begin(), threads.end(), [&](const Seen& one) { return one.kernel_id == id; });
  });
  return listed && known;
}

using Say = void (*)(const std::string& line);

LoadedModule g_room;  // only one thread makes reports: the watcher, or in a replay the one that talks to the command
std::string site_of(std::uint64_t caller) { return site_text(caller, g_room); }

bool holds(const Seen& thread, std::uint64_t lock) {
  int writer = 0;
  if (lock & kRwlock) return rwlock_holder(lock & ~kRwlock, writer) == Access::Writer && writer == thread.kernel_id;
  return mutex_owner(lock) == thread.kernel_id;
}

void say_what_it_holds(const Seen& thread, Say say) {
  std::vector<std::uint64_t> said;
  for (const auto& taken : thread.taken) {
    if (taken.lock == 0 || std::find(said.begin(), said.end(), taken.lock) != said.end()) continue;
    said.push_back(taken.lock);
    if (holds(thread, taken.lock))
      say("holds|" + std::to_string(thread.number) + '|' + std::to_string(taken.lock & ~kRwlock) + '|' +
          site_of(taken.caller));
  }
}

void say_report(const std::vector<Seen>& threads, const std::vector<WaitingThread>& graph,
                const std::vector<std::size_t>& stuck, bool ended, Say say) {
  say("stuck|" + std::to_string(stuck.size()) + '|' + std::to_string(threads.size()) + '|' +
      (ended ? "ended" : "goes-on"));
  for (const std::size_t at : stuck) {
    const Seen& thread = threads[at];
    const std::string holder = graph[at].waits_for == For::Thread ? std::to_string(graph[at].other) : "-";
    say("waits|" + std::to_string(thread.number) + '|' + kFunctionNames[thread.wait.function] + '|' +
        std::to_string(thread.wait.object) + '|' + holder + '|' + site_of(thread.wait.caller));
    say_what_it_holds(thread, say);
  }
  std::vector<std::uint64_t> said;
  for (const std::size_t at : stuck) {
    const auto& wait = threads[at].wait;
    const Signal& last = signal_of(wait.object);
    const std::uint64_t turn = last.turn.load(std::memory_order_acquire);
    if (static_cast<Function>(wait.function) != Function::CondWait || turn == 0 || last.condition != wait.object ||
        std::find(said.begin(), said.end(), wait.object) != said.end())
      continue;
    said.push_back(wait.object);
    say("signalled|" + std::to_string(wait.object) + '|' + std::to_string((turn >> 48) - 1) + '|' +
        (turn == wait.mark ? "before" : "after") + '|' + site_of(last.caller));
  }
}

// The same threads in the same waits?
bool same_waits(const std::vector<Seen>& a, const std::vector<Seen>& b, const std::vector<std::size_t>& which) {
  return a.size() == b.size() && std::all_of(which.begin(), which.end(), [&](std::size_t at) {
           return a[at].number == b[at].number && a[at].sequence == b[at].sequence;
         });
}

// No thread can end the process by returning any more. By a signal, so that a core shows where they are.
[[noreturn]] void end_process() {
  sys::write_exit(static_cast<pid_t>(::syscall(SYS_getpid)), W_EXITCODE(0, SIGABRT));
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGABRT, &action, nullptr);
  sigset_t abort_only;
  sigemptyset(&abort_only);
  sigaddset(&abort_only, SIGABRT);
  pthread_sigmask(SIG_UNBLOCK, &abort_only, nullptr);
  ::syscall(SYS_tgkill, ::syscall(SYS_getpid), ::syscall(SYS_gettid), SIGABRT);
  for (;;) pause();
}

class Watcher {
 public:
  void look() {
    const std::vector<Seen> now = see_threads();
    std::vector<Seen> waiting = now;
    for (Seen& one : waiting) {
      const auto before =
          std::find_if(before_.begin(), before_.end(), [&](const Seen& b) { return b.number == one.number; });
      if (before == before_.end() || before->sequence != one.sequence) one.sequence = 0;  // not for long
    }
    before_ = now;
    if (std::none_of(waiting.begin(), waiting.end(), [](const Seen& one) { return one.waits(); })) return;
    const bool all_known = knows_all_threads(waiting) && !has_signal_handlers();
    const auto graph = wait_graph(waiting, all_known);
    const auto stuck = engine::stuck_threads(graph);
    const bool all = stuck.size() == waiting.size() && all_known;
    if (std::all_of(stuck.begin(), stuck.end(), [&](std::size_t at) { return is_reported(waiting[at]); })) return;
    if (!all && reports_ == kMostReports) return;  // more and more threads may come to wait for the same locks
    if (!std::all_of(stuck.begin(), stuck.end(),
                     [&](std::size_t at) { return task_waits_in_futex(waiting[at].kernel_id); }))
      return;
    // Was that one moment? Nobody has moved, and the locks are held by the same threads.
    const std::vector<Seen> again = see_threads();
    if (!same_waits(waiting, again, stuck) || engine::stuck_threads(wait_graph(waiting, all_known)) != stuck) return;
    ++reports_;
    say_report(waiting, graph, stuck, all,
               [](const std::string& line) { Session::get().append_note("deadlock", line); });
    if (all) end_process();
    for (const std::size_t at : stuck) reported_.emplace_back(waiting[at].number, waiting[at].sequence);
  }

 private:
  static constexpr int kMostReports = 8;

  bool is_reported(const Seen& thread) const {
    return std::find(reported_.begin(), reported_.end(), std::pair(thread.number, thread.sequence)) != reported_.end();
  }

  std::vector<Seen> before_;
  int reports_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> reported_;  // threads, and their waits
};

// Its own table of open files, and an empty one: the program's must not get other numbers, nor stay open, because of
// us.
bool leave_files_alone() {
  if (::syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0) return true;
  if (unshare(CLONE_FILES) != 0) return false;  // Linux before 5.9
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  for (rlim_t fd = 0; fd < std::min<rlim_t>(limit.rlim_cur, 1 << 20); ++fd) close(static_cast<int>(fd));
  return true;
}

void* watch(void*) {
  g_watcher = own_task();
  if (!leave_files_alone()) return nullptr;
  static Watcher* const watcher = new Watcher();
  while (engine::mode() == Mode::Record && !is_last_task()) {
    const timespec pause{0, 500'000'000};
    nanosleep(&pause, nullptr);
    watcher->look();
  }
  return nullptr;
}

void start_watcher() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  g_create(&thread, &attributes, watch, nullptr);  // without it, deadlocks are not found
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void look_at_cut_off_threads() {
  std::vector<Seen> threads = see_threads();
  for (Seen& one : threads)
    if (!one.at_end) one.sequence = 0;
  const auto graph = wait_graph(threads, false);
  const auto stuck = engine::stuck_threads(graph);
  if (stuck.empty()) return;
  say_report(threads, graph, stuck, false, [](const std::string& line) { Session::get().supervisor().deadlock(line); });
}

}  // namespace

Waiting::Waiting(Function function, const void* object, const void* caller) {
  const auto address = reinterpret_cast<std::uint64_t>(object);
  const std::uint64_t mark =
      function == Function::CondWait ? signal_of(address).turn.load(std::memory_order_acquire) : 0;
  engine::t_stream->wait.begin(
      {static_cast<std::uint32_t>(function), address, reinterpret_cast<std::uint64_t>(caller), mark});
}

void note_signal(const void* condition, const void* caller) {
  const auto address = reinterpret_cast<std::uint64_t>(condition);
  const ThreadStream& stream = *engine::t_stream;
  Signal& signal = signal_of(address);
  signal.condition.store(address, std::memory_order_relaxed);
  signal.caller.store(reinterpret_cast<std::uint64_t>(caller), std::memory_order_relaxed);
  signal.turn.store((static_cast<std::uint64_t>(stream.number) + 1) << 48 | stream.turns.count(),
                    std::memory_order_release);
}

int make_library_thread(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument) {
  if (engine::mode() == Mode::Passive || Session::get().configuration().mode != Mode::Record)
    return g_create(thread, attributes, routine, argument);
  auto* const start = new LibraryStart{routine, argument};
  const int result = g_create(thread, attributes, library_thread_main, start);
  if (result != 0) delete start;
  return result;
}

void note_stranger() { g_strangers.store(true, std::memory_order_relaxed); }

void begin_finding_deadlocks() {
  static std::atomic_flag begun;
  if (!Session::get().configuration().finds_deadlocks || begun.test_and_set()) return;
  if (Session::get().thread_mode() == Mode::Record) start_watcher();
  if (Session::get().thread_mode() == Mode::Replay) Session::get().when_cut_off(look_at_cut_off_threads);
}

void find_deadlock_functions() { g_create.find(); }

}  // namespace reprise::threads
