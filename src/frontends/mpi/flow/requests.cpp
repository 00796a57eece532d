#include "frontends/mpi/flow/requests.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>

#include "base/spin.hpp"
#include "engine/session.hpp"
#include "engine/thread_stream.hpp"
#include "frontends/mpi/border/watched_completion.hpp"

namespace reprise::mpi::flow {
namespace {

struct Pending {
  explicit Pending(Description&& what) : description(std::move(what)) {}
  Description description;
  Digests given;
  std::uint64_t post = 0;
  bool persistent = false;
  bool active = true;
  bool seen = false;     // complete, and logged
  bool matched = false;  // what it takes was found by a probe
  Blocks written;        // while it is active: where the library may write at any time
};
using Found = std::shared_ptr<Pending>;

std::atomic<std::size_t> g_known{0};
std::atomic<std::size_t> g_writing{0};    // those that the library may write for at any time
std::atomic<std::size_t> g_forgotten{0};  // and of these, those whose requests the program has freed
constexpr std::size_t kMostWriting = 64;  // that are looked through for each call

// A handle may be that of several. MPICH gives one to all operations that are complete at once; which of them is meant
// does not matter. And with threads, the library has given the handle of one that a thread is just completing to the next
// one: then the newest is meant by all but that thread, which knows its own.
struct Table {
  std::atomic_flag lock;
  std::unordered_map<std::uint64_t, std::deque<Found>> all;
  std::unordered_map<std::uint64_t, std::uint64_t> messages;

  void add(MPI_Request handle, Found pending) {
    const Spin spin(&lock);
    all[handle_key(handle)].push_back(std::move(pending));
    g_known.fetch_add(1, std::memory_order_relaxed);
  }
  Found find(MPI_Request handle) {
    const Spin spin(&lock);
    const auto found = all.find(handle_key(handle));
    return found == all.end() ? nullptr : found->second.back();
  }
  // The operation that a call has completed: the one that was found before the call, unless another call has taken it (so
  // the handle is one of many). Persistent ones stay.
  Found take(MPI_Request handle, const Found& found) {
    const Spin spin(&lock);
    if (found->persistent) return found;
    const auto namesakes = all.find(handle_key(handle));
    if (namesakes == all.end()) return nullptr;
    std::deque<Found>& queue = namesakes->second;
    const auto own = std::find(queue.begin(), queue.end(), found);
    Found taken = own != queue.end() ? found : queue.back();
    queue.erase(own != queue.end() ? own : std::prev(queue.end()));
    g_known.fetch_sub(1, std::memory_order_relaxed);
    if (queue.empty()) all.erase(namesakes);
    return taken;
  }
  void remove(MPI_Request handle, const Found& pending) {
    const Spin spin(&lock);
    const auto found = all.find(handle_key(handle));
    if (found == all.end()) return;
    const std::size_t gone = std::erase(found->second, pending);
    g_known.fetch_sub(gone, std::memory_order_relaxed);
    if (found->second.empty()) all.erase(found);
  }
  void replace(MPI_Request before, MPI_Request after) {
    const Found pending = find(before);
    if (!pending) return;
    remove(before, pending);
    add(after, pending);
  }
};
Table& table() {
  static auto* const one = new Table();  // never destroyed: the program may call MPI while it ends
  return *one;
}

void may_write(Pending& pending) {
  pending.written = pending.description.written();
  if (!pending.written.empty()) g_writing.fetch_add(1, std::memory_order_relaxed);
}

void begins(Pending& pending, const std::vector<std::uint8_t>& contribution) {
  pending.post = log_begin(pending.description.number(), pending.description.address(), pending.description.given_from(),
                           {pending.given.data(), pending.given.size()}, {contribution.data(), contribution.size()});
  begins_to_move(pending.post, pending.description.given(), pending.description.taken());
  may_write(pending);
}

// What it gave must still be there, unless the same memory takes something.
bool is_changed(const Pending& pending) {
  const Description& what = pending.description;
  if (pending.given.size() == 0 || !what.taken().empty()) return false;
  Digests now;
  what.look_at_given(now);
  return !(now == pending.given);
}

void ends(Pending& pending, int error, const MPI_Status& status) {
  if (std::exchange(pending.seen, true)) return;
  if (!pending.written.empty()) g_writing.fetch_sub(1, std::memory_order_relaxed);
  pending.written = {};
  is_moved(pending.post);
  const Description& what = pending.description;
  Told said;
  said.error = error;
  if (error == MPI_SUCCESS && what.hears()) said = told(status, error, true);
  else if (error == MPI_SUCCESS && !what.is_collective()) said.cancelled = was_cancelled(status);
  const bool changed = error == MPI_SUCCESS && is_changed(pending);
  // That a send is complete is no news, unless it is asked where its bytes are meanwhile.
  if (!follows_movements() && what.taken().empty() && !what.is_collective() && error == MPI_SUCCESS && !said.cancelled && !changed) return;
  Digests taken;
  std::vector<std::uint8_t> result, expected;
  if (error == MPI_SUCCESS) {
    what.look_at_taken(taken, said);
    result = what.result();
    expected = pending.description.expected();
  }
  std::optional<std::uint32_t> shape;
  if (pending.matched) shape = pending.description.number();
  log_end(pending.post, shape, said, {taken.data(), taken.size()}, {result.data(), result.size()},
          {expected.data(), expected.size()}, what.address());
  if (changed) log_remark(trace::Seen::ProgramChangedSent, 0, 0, 0, 0);
}

struct FollowedRequests {
  using Found = flow::Found;
  static bool any() { return g_known.load(std::memory_order_relaxed) != 0; }
  static Found find(MPI_Request handle) { return table().find(handle); }
  static void completed(MPI_Request handle, const Found& found, int error, const MPI_Status& status, bool gone) {
    const Found meant = found && gone ? table().take(handle, found) : found;
    if (!meant || !meant->active) return;
    ends(*meant, error, status);
    if (gone) meant->active = false;
  }
  // The library is told at once; what the operation takes is not seen any more.
  static bool keeps(MPI_Request handle) {
    const Found found = table().find(handle);
    if (!found) return false;
    if (found->active && !found->seen) log_freed(found->post);
    if (found->active && !found->written.empty()) g_forgotten.fetch_add(1, std::memory_order_relaxed);
    table().remove(handle, found);
    return false;
  }
  static void look_at_kept() {}
  static void started(MPI_Request handle, std::uint64_t) {
    const Found found = table().find(handle);
    if (!found || !found->persistent) return;
    found->given = Digests();
    found->description.look_at_given(found->given);
    found->active = true;
    found->seen = false;
    begins(*found, found->description.contribute());
  }
  static void replaced(MPI_Request before, MPI_Request after) { table().replace(before, after); }
  static void arrived(MPI_Request, int) {}
};

}  // namespace

bool may_guard() {
  return !engine::has_threads() && g_forgotten.load(std::memory_order_relaxed) == 0 && g_writing.load(std::memory_order_relaxed) <= kMostWriting &&
         !t_state.called_back;
}

void each_pending_write(FunctionRef<void(const Region&)> visit) {
  if (g_writing.load(std::memory_order_relaxed) == 0) return;
  const Spin spin(&table().lock);
  for (const auto& [handle, namesakes] : table().all)
    for (const Found& pending : namesakes)
      for (const Block& block : pending->written.all()) visit(block.region);
}

void post(Description&& description, const Digests& given, const std::vector<std::uint8_t>& contribution, MPI_Request request,
          bool persistent, std::optional<std::uint64_t> begun) {
  auto pending = std::make_shared<Pending>(std::move(description));
  pending->given = given;
  pending->persistent = persistent;
  pending->active = !persistent;
  pending->description.has(persistent ? trace::kPersistent : trace::kNonblocking);
  pending->description.number();  // at this place, not where it is started
  if (begun) {
    pending->post = *begun;
    may_write(*pending);
  } else if (!persistent) {
    begins(*pending, contribution);
  }
  table().add(request, std::move(pending));
}

void post_matched(Description&& description, std::uint64_t post, MPI_Request request) {
  auto pending = std::make_shared<Pending>(std::move(description));
  pending->matched = true;
  pending->post = post;
  pending->description.number();
  begins_to_move(post, {}, pending->description.taken());
  may_write(*pending);
  table().add(request, std::move(pending));
}

void found_message(MPI_Message message, std::uint64_t post) {
  const Spin spin(&table().lock);
  table().messages[handle_key(message)] = post;
}

std::optional<std::uint64_t> take_message(MPI_Message message) {
  const Spin spin(&table().lock);
  const auto found = table().messages.find(handle_key(message));
  if (found == table().messages.end()) return std::nullopt;
  const std::uint64_t post = found->second;
  table().messages.erase(found);
  return post;
}

void put_completion() {
  put_completion_calls<WatchedCalls<FollowedRequests, Flavor::Mpi>>(Flavor::Mpi);
  put_completion_calls<WatchedCalls<FollowedRequests, Flavor::Pmpi>>(Flavor::Pmpi);
}

}  // namespace reprise::mpi::flow
