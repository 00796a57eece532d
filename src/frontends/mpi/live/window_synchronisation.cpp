// Epochs: who may access a window, and from when on it is done (MPI 4.0, 12.5).
#include <algorithm>

#include "frontends/mpi/live/collective.hpp"
#include "frontends/mpi/live/windows.hpp"

namespace reprise::mpi::live {

using virtual_world::as_word;

namespace {

// Words between the ranks of a window, which no receive of the program can take. They have no place in the program: if
// one is left over, that is not what is wrong.
constexpr std::uint64_t kNowhere = 0;
enum Word : int { kPosted, kCompleted };

OperationId send_word(const Window& window, int to, Word word) {
  this_site();  // what the rank did before is known to whoever hears this
  constexpr std::uint64_t kBuffered = 2;  // explore::SendMode
  const OperationId operation = actor().new_operation();
  actor().act(Act::Send, {operation, window.uid, as_word(to), as_word(word), kBuffered, 0, 0, kNowhere,
                          this_function_word()});
  return operation;
}

OperationId await_word(const Window& window, int from, Word word) {
  const OperationId operation = actor().new_operation();
  actor().act(Act::Receive,
              {operation, window.uid, as_word(from), as_word(word), kNowhere, this_function_word()});
  return operation;
}

void send_words(const Window& window, const std::vector<int>& to, Word word) {
  std::vector<OperationId> sent;
  for (const int rank : to) sent.push_back(send_word(window, rank, word));
  ask(Kind::All, 0, sent);
}

// --- everybody at once -----------------------------------------------------------------------------------------------

int fence(int, MPI_Win win) {
  Window& window = *find_window(win);
  complete_accesses(window, -1, true);
  exchange(Function::Win_fence, window.uid, window.members.members(), {});
  return MPI_SUCCESS;
}

// --- groups ----------------------------------------------------------------------------------------------------------

int post(MPI_Group group, int assert, MPI_Win win) {
  Window& window = *find_window(win);
  const std::vector<int>& origins = members(group).members();
  window.awaited.clear();
  if (!(assert & MPI_MODE_NOCHECK)) send_words(window, origins, kPosted);
  for (const int rank : origins) window.awaited.push_back(await_word(window, rank, kCompleted));
  return MPI_SUCCESS;
}

// It may wait until the targets have posted (MPI 4.0, 12.5.2), and so it does.
int start(MPI_Group group, int assert, MPI_Win win) {
  Window& window = *find_window(win);
  window.started = members(group).members();
  if (assert & MPI_MODE_NOCHECK) return MPI_SUCCESS;
  std::vector<OperationId> posted;
  for (const int rank : window.started) posted.push_back(await_word(window, rank, kPosted));
  ask(Kind::All, 0, posted);
  return MPI_SUCCESS;
}

int complete(MPI_Win win) {
  Window& window = *find_window(win);
  complete_accesses(window, -1, true);
  send_words(window, std::exchange(window.started, {}), kCompleted);
  return MPI_SUCCESS;
}

int wait(MPI_Win win) {
  Window& window = *find_window(win);
  ask(Kind::All, 0, std::exchange(window.awaited, {}));
  return MPI_SUCCESS;
}

int test(MPI_Win win, int* flag) {
  Window& window = *find_window(win);
  *flag = ask(Kind::All, virtual_world::kMaySayNo, window.awaited).yes ? 1 : 0;
  if (*flag) window.awaited.clear();
  return MPI_SUCCESS;
}

// --- locks -----------------------------------------------------------------------------------------------------------

OperationId ask_for_lock(const Window& window, int rank, bool exclusive) {
  const OperationId operation = actor().new_operation();
  actor().act(Act::Lock,
              {operation, window.uid, as_word(rank), exclusive ? 1u : 0u, this_site(), this_function_word()});
  return operation;
}

void take_locks(const Window& window, const std::vector<int>& ranks, bool exclusive) {
  std::vector<OperationId> locks;
  for (const int rank : ranks) locks.push_back(ask_for_lock(window, rank, exclusive));
  ask(Kind::All, 0, locks);
}

void give_back_lock(const Window& window, int rank) { actor().act(Act::Unlock, {window.uid, as_word(rank)}); }

int lock(int kind, int target, int, MPI_Win win) {
  Window& window = *find_window(win);
  if (target != MPI_PROC_NULL) take_locks(window, {window.world_rank(target)}, kind == MPI_LOCK_EXCLUSIVE);
  return MPI_SUCCESS;
}

int lock_all(int, MPI_Win win) {
  Window& window = *find_window(win);
  take_locks(window, window.members.members(), false);
  return MPI_SUCCESS;
}

int unlock(int target, MPI_Win win) {
  Window& window = *find_window(win);
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  complete_accesses(window, window.world_rank(target), true);
  give_back_lock(window, window.world_rank(target));
  return MPI_SUCCESS;
}

int unlock_all(MPI_Win win) {
  Window& window = *find_window(win);
  complete_accesses(window, -1, true);
  for (const int rank : window.members.members()) give_back_lock(window, rank);
  return MPI_SUCCESS;
}

template <bool kCloses>
int flush(int target, MPI_Win win) {
  Window& window = *find_window(win);
  if (target != MPI_PROC_NULL) complete_accesses(window, window.world_rank(target), kCloses);
  return MPI_SUCCESS;
}

template <bool kCloses>
int flush_all(MPI_Win win) {
  complete_accesses(*find_window(win), -1, kCloses);
  return MPI_SUCCESS;
}

// Programs that wait for a place in their own window to change call it again and again: others must be able to go on.
int synchronise(MPI_Win) {
  ask(Kind::All, 0, {});
  return MPI_SUCCESS;
}

}  // namespace

void complete_accesses(Window& window, int target, bool closes) {
  std::vector<OperationId> own;
  std::vector<OperationId> with_request;
  for (const auto& access : window.pending)
    if (target < 0 || access->target == target) (access->has_request ? with_request : own).push_back(access->operation);
  if (!with_request.empty()) ask(Kind::All, virtual_world::kKeeps, with_request);
  ask(Kind::All, 0, own);
  if (closes) actor().act(Act::Close, {window.uid, as_word(target)});
  std::erase_if(window.pending, [&](const std::shared_ptr<Access>& access) {
    if (target >= 0 && access->target != target) return false;
    if (!access->has_request) access->finish();
    return true;
  });
}

void put_synchronisation() {
  put_in_place_of_library(Function::Win_fence, &fence);
  put_in_place_of_library(Function::Win_post, &post);
  put_in_place_of_library(Function::Win_start, &start);
  put_in_place_of_library(Function::Win_complete, &complete);
  put_in_place_of_library(Function::Win_wait, &wait);
  put_in_place_of_library(Function::Win_test, &test);
  put_in_place_of_library(Function::Win_lock, &lock);
  put_in_place_of_library(Function::Win_lock_all, &lock_all);
  put_in_place_of_library(Function::Win_unlock, &unlock);
  put_in_place_of_library(Function::Win_unlock_all, &unlock_all);
  put_in_place_of_library(Function::Win_flush, &flush<true>);
  put_in_place_of_library(Function::Win_flush_all, &flush_all<true>);
  put_in_place_of_library(Function::Win_flush_local, &flush<false>);
  put_in_place_of_library(Function::Win_flush_local_all, &flush_all<false>);
  put_in_place_of_library(Function::Win_sync, &synchronise);
}

}  // namespace reprise::mpi::live
