// Threads of the program: a log for each, and the order in which they pass what they share (engine/thread_order.hpp).
//
// A thread's log holds what that thread does: its synchronisations, its reads, its calls of MPI. Calls of MPI are
// ordered among each other where the program may make them from several threads. If it makes them one at a time, the
// order of the calls is the order of what they do. If it makes them at once, what is posted is posted while the thread
// holds `post_order_`, so that the recorded order is the one in which the library saw it; waiting is done outside.
//
// In a replay everybody waits for the turn that the recorded turn came after. The end of a run that was cut off is the
// end of each thread's log: who has come there waits until the other threads of the process have, too, and only then is
// the rank at its end.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/spin.hpp"
#include "engine/launcher_rank.hpp"
#include "engine/session.hpp"

namespace reprise::engine {
namespace {

constexpr int kForEver = -1;

void sleep_a_moment() {
  const timespec moment{0, 1'000'000};
  nanosleep(&moment, nullptr);
}

}  // namespace

// Before MPI_Init the rank must be known from the launcher, or a replay could not find the threads' logs in time. A
// process without a launcher's word gets its threads followed from MPI_Init on.
bool Session::begin_threads(const FunctionTable& functions) {
  if (has_threads()) return true;
  if (mode() == Mode::Passive || !t_stream || finalized_) return false;
  if (mode() == Mode::Explore) {  // nothing is logged
    const bool is_rank = Baton::get().is_prepared();
    if (is_rank) g_has_threads.store(true, std::memory_order_relaxed);
    return is_rank;
  }
  if (configuration_.mode != Mode::Record && configuration_.mode != Mode::Replay) return false;
  if (!attached_) {
    if (!launcher_rank() || reads_stopped_ || reads_paused_) return false;
    if (!early_begun_) begin_early_reads(functions);
    if (configuration_.mode == Mode::Replay && (!early_log_ || early_differs_)) return false;
  }
  functions_ = functions;
  if (configuration_.mode == Mode::Record && !recorder_begun_) return false;
  main_.recorder.share();
  main_.kernel_id.store(static_cast<int>(::syscall(SYS_gettid)), std::memory_order_relaxed);
  main_.handle.store(pthread_self(), std::memory_order_relaxed);
  g_has_threads.store(true, std::memory_order_relaxed);
  if (main_.replayer) supervisor_.entered(main_.replayer->next_event(), state_between_calls());
  return true;
}

void Session::begin_threads_late() {
  const Spin spin(&threads_lock_);
  if (has_threads()) return;
  main_.recorder.share();
  main_.kernel_id.store(getpid(), std::memory_order_relaxed);
  main_.handle.store(g_main_thread, std::memory_order_relaxed);
  g_has_threads.store(true, std::memory_order_relaxed);
  if (main_.replayer) supervisor_.entered(main_.replayer->next_event(), state_between_calls());
}

ThreadStream* Session::new_thread(std::uint32_t number) {
  if (number >= kMaxThreads) {
    note("not-replayable", "more threads than Reprise can number");
    return nullptr;
  }
  auto* const stream = new ThreadStream();
  stream->number = number;
  stream->turns.begin(number);
  if (configuration_.mode == Mode::Record) {
    if (!stream->recorder.begin(functions_)) {
      note("not-replayable", "there was no memory for the log of a thread");
      delete stream;
      return nullptr;
    }
    stream->recorder.share();
  }
  if (configuration_.mode == Mode::Replay) open_thread_log(*stream);
  const Spin spin(&threads_lock_);
  threads_.push_back(stream);
  if (configuration_.mode == Mode::Record && attached_) attach_thread(*stream);
  return stream;
}

void Session::attach_thread(ThreadStream& stream) {
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  const trace::Info info{{"rank", std::to_string(rank_)}, {"thread", std::to_string(stream.number)}};
  const auto attached =
      stream.recorder.attach(dir, {configuration_.trace_id, rank_, stream.number}, info, configuration_.plain);
  if (attached && records_data_) open_data(stream, dir);
  close(dir);
  if (!attached)
    append_note("not-replayable", "thread " + std::to_string(stream.number) + ": " + attached.error().what);
}

// Those that were there before the rank was known.
void Session::attach_threads() {
  const Spin spin(&threads_lock_);
  for (ThreadStream* const stream : threads_) attach_thread(*stream);
  attached_ = true;  // while no thread can be made
}

// Called several times a second by the thread that reports to the replay command. How many calls the threads have made;
// and if all of them are at their ends, the rank is. Some may be inside calls of MPI that the recorded run never left.
std::uint64_t Session::look_after_threads() {
  std::uint64_t moves = main_.moved.load(std::memory_order_relaxed);
  {
    const Spin spin(&threads_lock_);
    moves += moved_before_;
    for (const ThreadStream* const stream : threads_) moves += stream->moved.load(std::memory_order_relaxed);
  }
  if (!has_threads() || !threads_at_end()) return moves;
  if (const auto hook = cut_off_hook_.exchange(nullptr, std::memory_order_acq_rel)) hook();
  supervisor_.holds();
  constexpr int kLooks = 20;  // those who wait in hold() end the process themselves: perhaps by a crash, as recorded
  if (supervisor_.released() && ++looks_after_release_ > kLooks) end_as_recorded();
  return moves;
}

// Without a log (the recorded run was killed before it was made) the thread has come to its end at once. But a run that
// came to its own end has the logs of all its threads.
void Session::open_thread_log(ThreadStream& stream) {
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  const std::uint32_t rank = attached_ ? rank_ : early_rank_.value_or(0);
  auto reader = trace::RankReader::open(dir, rank, configuration_.trace_id, stream.number);
  close(dir);
  if (reader && (solo() || !configuration_.only_nodes.empty())) {
    if (auto values = open_values(rank, stream.number)) stream.values.emplace(std::move(*values));
  }
  if (reader) stream.replayer.emplace(CallStream(std::move(*reader)), functions_);
  else if (attached_ && cut_off_.load(std::memory_order_relaxed) == 0) supervisor_.trouble(reader.error().what);
}

void Session::count_cut_off_threads() {
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  std::uint32_t count = 0;
  for (const std::uint32_t number : trace::streams_of(dir, rank_)) {
    const auto reader = trace::RankReader::open(dir, rank_, configuration_.trace_id, number);
    if (!reader && number != 0 && trace::never_begun(dir, rank_, number)) continue;
    if (!reader) supervisor_.trouble(reader.error().what);
    // If the main thread's was not, the process came to its own end, whatever the others were doing.
    if (number == 0 && !trace::was_cut_off(reader->end())) break;
    count += trace::was_cut_off(reader->end()) ? 1 : 0;
  }
  close(dir);
  cut_off_.store(count, std::memory_order_relaxed);
}

void Session::thread_ends() {
  ThreadStream* const stream = t_stream;
  const Mode now = thread_mode();
  if (now == Mode::Replay && stream->replayer && !finalized_) {
    if (trace::was_cut_off(stream->replayer->stream().reader().end())) {
      reached_end();  // it was about to end when the run was cut off
    } else {
      stream->replayer->pass_reads();
      insist(stream->replayer->end_of_program());
    }
  }
  t_stream = nullptr;
  if (mode() == Mode::Passive) return;
  {
    const Spin spin(&threads_lock_);
    if (configuration_.mode == Mode::Record) {
      stream->recorder.finish({trace::EndKind::Exited, 0, stream->recorder.writer().in_call()}, false);
      stream->data.finish({trace::EndKind::Exited, 0, false});
      stream->over = true;
      if (!stream->recorder.is_closed()) return;  // a receive that it posted is pending, or there is no log yet
    }
    moved_before_ += stream->moved.load(std::memory_order_relaxed);
    std::erase(threads_, stream);
  }
  let_go(stream);
}

void Session::thread_was_made(ThreadStream* stream, pthread_t handle) {
  stream->handle.store(handle, std::memory_order_release);
  let_go(stream);
}

void Session::let_go(ThreadStream* stream) {
  if (stream->owners.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  stream->recorder.release();
  stream->data.release();
  delete stream;
}

void Session::finish_threads() {
  const Spin spin(&threads_lock_);
  for (ThreadStream* const stream : threads_) {
    const trace::End end{stream->over ? trace::EndKind::Exited : trace::EndKind::Running, 0,
                         stream->recorder.writer().in_call()};
    stream->recorder.finish(end, true);
    stream->data.finish(end);
  }
}

void Session::await_end_of_log(pthread_t thread) {
  for (;;) {
    bool awaited = false;
    {
      const Spin spin(&threads_lock_);
      for (const ThreadStream* const stream : threads_)
        if (stream->replayer && pthread_equal(stream->handle.load(std::memory_order_acquire), thread))
          awaited = !stream->followed.load(std::memory_order_acquire);
    }
    if (!awaited) return;
    sleep_a_moment();
  }
}

void Session::has_moved(const Replayer& log) {
  t_stream->moved.fetch_add(1, std::memory_order_relaxed);
  if (log.at_last_event()) t_stream->followed.store(true, std::memory_order_release);
}

Mode Session::thread_mode() {
  if (!t_stream || !has_threads() || mode() == Mode::Passive) return Mode::Passive;
  return configuration_.mode;
}

// The log that the running thread follows. Before MPI_Init the main thread's is not certain yet.
Replayer* Session::followed_log() {
  ThreadStream& stream = *t_stream;
  if (stream.replayer) return &*stream.replayer;
  return &stream == &main_ && early_log_ && !early_differs_ ? &*early_log_ : nullptr;
}

void Session::record_passage(const Passage& passage) {
  std::array<std::int64_t, 5> numbers;
  std::size_t count = 0;
  if (passage.result != 0) numbers[count++] = passage.result;
  // By reference: the turns have just been written piece by piece, and a copy as a whole would wait for that.
  for (const Turn* const turn : {&passage.first, &passage.second}) {
    if (turn->number == 0) continue;
    numbers[count++] = turn->thread;
    numbers[count++] = static_cast<std::int64_t>(turn->number);
  }
  if (count > 0) t_stream->recorder.numbers({numbers.data(), count});
  t_stream->recorder.returned();
}

bool Session::sync_comes(FunctionId function, const void* caller) {
  std::optional<Lock> lock;  // the log becomes the main thread's when the rank is known
  if (!attached_) lock.emplace(*this, true);
  Replayer* const log = followed_log();
  if (log) log->pass_reads();
  return log && log->comes_next(function, caller);
}

bool Session::replay_sync(FunctionId function, const void* caller, Passage& out) {
  ThreadStream& stream = *t_stream;
  std::optional<Lock> lock;  // the log becomes the main thread's when the rank is known
  if (!attached_) lock.emplace(*this, true);
  Replayer* const log = followed_log();
  if (!log) {
    if (&stream == &main_) return false;
    at_end();
  }
  log->pass_reads();
  const Replayer::Fit fit = log->call(function, caller, Arguments{});
  if (&stream == &main_ && !stream.replayer && fit != Replayer::Fit::Follows) {
    early_differs_ = true;
    return false;
  }
  if (fit == Replayer::Fit::AtEnd) at_end();
  insist(fit);
  has_moved(*log);
  std::array<std::int64_t, 5> numbers;
  const std::size_t count = log->numbers_if_any(numbers);
  std::size_t at = 0;
  out = {};
  out.unfinished = log->in_unfinished_call();
  if (count % 2 == 1) out.result = numbers[at++];
  for (Turn* const turn : {&out.first, &out.second}) {
    if (at + 2 > count) break;
    *turn = {static_cast<std::uint32_t>(numbers[at]), static_cast<std::uint64_t>(numbers[at + 1])};
    at += 2;
  }
  return true;
}

void Session::ends_in_call() {
  const Replayer* const log = followed_log();
  if (t_stream != &main_ && log && log->stream().reader().end().kind == trace::EndKind::Exited)
    pthread_exit(PTHREAD_CANCELED);
  at_end();
}

void Session::take_order() {
  if (callers_ != Identity::Callers::Many || t_stream->holds_order) return;
  const auto got = [&] { return !post_order_.test_and_set(std::memory_order_acquire); };
  if (t_stream->place) Baton::get().until(got);
  else
    while (!got()) sched_yield();
  t_stream->holds_order = true;
}

void Session::release_order() {
  if (!t_stream || !t_stream->holds_order) return;
  t_stream->holds_order = false;
  post_order_.clear(std::memory_order_release);
}

void Session::log_turn(const void* object) {
  const Turn turn = t_stream->turns.take(object);
  t_stream->turn_is_logged = turn.number != 0;
  if (t_stream->turn_is_logged) log_turn(turn);
}

void Session::log_turn(const Turn& turn) {
  const std::array<std::int64_t, 2> numbers{turn.thread, static_cast<std::int64_t>(turn.number)};
  t_stream->recorder.numbers(numbers);
}

// If the call's first turn had nothing to wait for, and so is not in the log, a replay would take the second for it.
void Session::log_second_turn(const void* object) {
  const Turn turn = t_stream->turns.take(object);
  if (turn.number == 0) return;
  if (!t_stream->turn_is_logged) log_turn(Turn{});
  log_turn(turn);
}

// A turn that is still open belongs to a call around this one, whose function of the program (an attribute's, an error
// handler) calls MPI. It was taken when that call began.
void Session::follow_turn(void (*await)(const Turn&)) {
  if (t_stream->turn_is_open) passed();
  std::array<std::int64_t, 2> numbers;
  if (t_stream->replayer->numbers_if_any(numbers) == 2)
    await({static_cast<std::uint32_t>(numbers[0]), static_cast<std::uint64_t>(numbers[1])});
  t_stream->turn_is_open = true;
}

void Session::call_in_order(FunctionId function, const void* caller, const Arguments& arguments) {
  ThreadStream& stream = *t_stream;
  const std::uint8_t flags = functions_.flags_of(function);
  const bool free = callers_ == Identity::Callers::Many && (flags & kUnordered);
  const bool ordered = attached_ && callers_ != Identity::Callers::One && !free;
  const bool numbers = attached_ && free && (flags & kMakesCommunicator);
  if (mode() == Mode::Record) {
    if (ordered) take_order();
    stream.recorder.call(function, caller, arguments);
    if (ordered) log_turn(&kMpiOrder);
    if (numbers) log_turn(&kNumberOrder);
  } else if (mode() == Mode::Replay && stream.replayer) {
    stream.replayer->pass_reads();
    insist(stream.replayer->call(function, caller, arguments));
    has_moved(*stream.replayer);
    if (stream.replayer->in_unfinished_call()) {
      if (!stream.at_end) ended_in_call_.fetch_add(1, std::memory_order_relaxed);
      stream.ends_in_call = true;
      reached_end();
    }
    if (ordered) follow_turn();
    // Open MPI lets communicators that threads make at once wait for each other, and which for which depends on who was in
    // the library first. So one that was begun after another one was made is so again, if that is possible: how far the
    // library has got with those under way no log knows, and a replay in which it has got elsewhere would stand still.
    if (numbers) follow_turn(await_turn_if_possible);
    replayed();
  } else if (mode() == Mode::Replay && &stream == &main_) {
    early_call(function, caller, arguments);
  } else if (mode() == Mode::Replay) {
    at_end();
  }
  if (!(flags & kPosts)) posted();
}

void Session::posted() {
  if (!t_stream) return;
  release_order();
  if (t_stream->turn_is_open && callers_ == Identity::Callers::Many) passed();
}

bool Session::orders_numbers() const {
  return t_stream && has_threads() && attached_ && callers_ != Identity::Callers::One;
}

void Session::await_numbering() {
  if (!orders_numbers() || mode() != Mode::Replay || !t_stream->replayer) return;
  if (t_stream->turn_is_open) passed();  // the call's first turn: it has been made by now
  follow_turn();
}

void Session::numbered() {
  if (!orders_numbers()) return;
  if (mode() == Mode::Record) log_second_turn(callers_ == Identity::Callers::Many ? &kNumberOrder : &kMpiOrder);
  else if (mode() == Mode::Replay && t_stream->replayer) passed();
}

void Session::begin_poll() {
  if (t_stream && attached_) take_order();
}

void Session::poll_succeeded(bool second) {
  if (!t_stream || !has_threads() || !attached_ || callers_ == Identity::Callers::One) return;
  if (mode() == Mode::Record) second ? log_second_turn(&kMpiOrder) : log_turn(&kMpiOrder);
  else if (mode() == Mode::Replay && t_stream->replayer) follow_turn();
}

void Session::reached_end() {
  if (t_stream->at_end) return;
  t_stream->at_end = true;
  ended_.fetch_add(1, std::memory_order_release);
}

// Before it goes into the library. Others may be there, and whether that may be is the program's choice.
Session::Progress Session::progress_from_here() {
  if (!has_threads() || callers_ == Identity::Callers::Many) return library_.make_progress;
  if (callers_ == Identity::Callers::One) return t_stream == &main_ ? library_.make_progress : nullptr;
  // One at a time: at the ends of their logs all are outside, but for one that was in a call. The first to ask does it.
  const std::uint32_t own = t_stream && t_stream->ends_in_call ? 1 : 0;  // MPI_Abort, before the library is called
  if (!threads_at_end() || ended_in_call_.load(std::memory_order_relaxed) > own) return nullptr;
  ThreadStream* first = nullptr;
  const bool is_first = makes_progress_.compare_exchange_strong(first, t_stream) || first == t_stream;
  return is_first ? library_.make_progress : nullptr;
}

// In a signal handler, or from exit(). Inside the library nothing of it may be called again.
Session::Progress Session::progress_from_anywhere() {
  return library_.is_inside && !library_.is_inside() ? progress_from_here() : nullptr;
}

// This thread is at the end of its log. The rank is when all its threads are.
void Session::await_own_threads(Progress progress) {
  if (!t_stream || cut_off_.load(std::memory_order_relaxed) == 0) return;
  if (t_stream->turn_is_open) passed();
  reached_end();
  while (!threads_at_end()) {
    if (progress && t_stream == &main_) progress();
    sleep_a_moment();
  }
}

void Session::hold_rank(Progress (Session::*progress)()) {
  if (has_threads()) await_own_threads((this->*progress)());
  supervisor_.hold((this->*progress)(), kForEver);
}

}  // namespace reprise::engine
