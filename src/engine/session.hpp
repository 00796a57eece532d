// The one session of this process: its mode, and the log it fills or obeys. Shared by all front ends.
//
// The preload library is loaded into launchers, shells and helpers too. A process is only *armed* by its environment;
// it takes part once a front end has seen it make a call of its API, and gets a log once that front end knows its rank.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <pthread.h>
#include <span>
#include <string>

#include "base/spin.hpp"
#include "engine/mode.hpp"
#include "engine/recorder.hpp"
#include "engine/replayer.hpp"
#include "engine/scout.hpp"
#include "engine/supervisor.hpp"
#include "engine/thread_stream.hpp"

namespace reprise::engine {

struct Configuration {
  Mode mode = Mode::Passive;
  std::string directory;
  std::uint64_t trace_id = 0;
  std::string monitor;
  bool plain = false;
  std::string data;  // recording: whose values are recorded, too: "all", or ranks like "3,17-19"
  std::uint64_t data_limit = UINT64_MAX;
  std::optional<std::uint32_t> solo_rank;  // replaying: this process is that rank, and there are no others
  bool access = false;                     // windows are followed access by access (reprise cc)
  bool compares_sent = true;               // and does it send what it sent then?
  bool stops_at_end = false;               // of a run that was cut off, for a debugger
  bool explored = false;                   // replaying: an order that was explored
  bool finds_deadlocks = true;             // among threads
  bool flow_messages = true;               // the same, with messages of our own
  bool flow = false;                       // recording: what its calls give and take is followed
  bool checks = false;                     // recording: what is wrong with the program's calls is noted
  bool alone = false;                      // this program has no MPI: it is followed from its start to its end
  bool has_nodes = false;                  // MCAPI: any process may become a rank, also one that another rank has forked
  bool starter_is_rank = false;            // MCAPI: the program that was started is rank 0; otherwise it only starts the nodes
  std::uint32_t ranks = 0;                 // replaying nodes: how many ranks there were
  std::string data_nodes;                  // recording nodes: whose values are recorded, too
  std::string only_nodes;                  // replaying nodes: only these, from their values
  std::string identify;                    // nodes: how messages are known
  std::string arrivals_seen;               // replaying nodes: a file for their order
  std::string arrivals;                    // nodes: a file that counts messages, where all arrivals are to have one order
};

// What a front end knows about the process once its API is up.
struct Identity {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::string library;  // "mpich"
  std::string library_version;
  std::string thread_level;
  // Which calls of different threads must be ordered among each other: none, those that the program makes one at a time
  // (MPI_THREAD_SERIALIZED), or those that it makes at once.
  enum class Callers { One, OneAtATime, Many } callers = Callers::One;
};

// What a session asks of the library whose calls it follows.
struct Library {
  void (*make_progress)() = nullptr;  // moves messages while the rank waits for others (hold())
  void (*settle)() = nullptr;  // logs what is known of a call that will never return: the process exits inside it
  bool (*is_inside)() = nullptr;  // is the running thread inside a call of it, or in a function that such a call has called?
};

class Session {
 public:
  static Session& get() {
    Session* known = instance_.load(std::memory_order_relaxed);
    return known ? *known : make();
  }

  // First call of an armed process.
  void wake(const FunctionTable& functions);
  // This process cannot be served; the record command will say why.
  void decline(const std::string& why);
  // The API is about to be brought up, which may take its time.
  void arrives();
  // The rank is known: open the log.
  void attach(const Identity& identity, const Library& library);
  bool attached() const { return attached_; }
  std::uint32_t rank() const { return rank_; }

  // MCAPI: this process is a rank from now on, and until it ends. Before attach().
  void is_node(std::uint32_t rank);
  // MCAPI: the main thread is followed from here on, or not before it becomes a node: others, whose order nobody knows, may make this
  // process a rank at any time.
  void follow_main_thread() { t_stream = &main_; }
  void leave_main_thread() { t_stream = nullptr; }
  // The running thread, or this process, is a node that is left out of a replay: nobody waits for what it did.
  void is_left_out();
  static bool is_in_list(std::uint32_t number, const std::string& list);

  // A copy of a process that has been through MPI_Init becomes a rank; and its run is recorded, with all values.
  void becomes_virtual_rank();
  // It has been through MPI_Finalize.
  void virtual_rank_is_over();
  void records_from_here(const char* directory, std::uint64_t trace_id, std::uint32_t rank);

  // Recording: are the values that reach this rank recorded, too?
  bool records_data() const { return records_data_; }
  DataRecorder& data() { return stream().data; }
  // Recording: what the rank communicates (trace/message_log.hpp), for who asks for it after attach().
  DataRecorder& messages() { return messages_; }
  void open_messages();
  // Replaying: does this rank run alone?
  bool solo() const { return configuration_.solo_rank.has_value(); }
  bool compares_sent() const { return configuration_.compares_sent; }
  // Before attach().
  void begin_solo();
  DataReplayer& values();
  // Solo: how many ranks the recorded run had.
  std::uint32_t recorded_ranks() const;
  // Solo: every outcome of an operation with a request that any thread of this rank got.
  void each_completion(const std::function<void(DataEntry&)>& visit) const;

  // A call. In replay it does not return if the log ends here or differs.
  void call(FunctionId function, const void* caller, const Arguments& arguments);
  void returned();
  // A named event. Nothing happens outside MPI_Init and MPI_Finalize.
  void event(const char* name, const void* caller);

  // Something about this recording that a user must know. In the log, and in the trace's file `notes`.
  void note(const char* key, const std::string& text);
  // Only in that file, which is read while the program still runs.
  void append_note(const char* key, const std::string& text);

  // A read: the program learns something from a clock, a random source or the system (frontends/sys). Its outcome is
  // numbers, bytes or a failure. Only for the main thread; see session_reads.cpp, also for reads before attach().
  struct Read {
    FunctionId function = 0;
    const void* caller = nullptr;
    Arguments arguments{};
  };
  // What to do with a read now: Record, Replay, or nothing (Passive).
  Mode read_mode(const FunctionTable& functions) {
    if (t_stream != &main_) [[unlikely]]
      return thread_mode();
    return attached_ && !reads_stopped_ ? mode() : early_read_mode(functions);
  }
  void record_numbers(const Read& read, std::span<const std::int64_t> values);
  void record_bytes(const Read& read, std::span<const std::uint8_t> content);
  void record_failure(const Read& read, trace::Kind kind, int error);
  // False: the log has no answer, the real one is to be taken. `error`: the errno of a call that failed, else 0.
  bool replay_numbers(const Read& read, std::span<std::int64_t> out, int& error);
  bool replay_bytes(const Read& read, std::span<std::uint8_t> room, std::size_t& size, int& error);
  // Something that a user must know about the reads; written down when the log can be written to.
  enum Remark : unsigned {
    kOtherThreads = 1,
    kOtherThreadCallsMpi = 2,
    kRankUnknown = 4,
    kTooManyEarly = 8,
    kPythonSwitched = 16
  };
  void remark(Remark what) { remarks_.fetch_or(what, std::memory_order_relaxed); }

  // The process cannot go on, and nobody listens yet.
  [[noreturn]] void give_up(const std::string& why);
  // What a front end does with a Fit other than Follows.
  void insist(Replayer::Fit fit) {
    if (fit != Replayer::Fit::Follows || g_scouting) [[unlikely]]
      fail(fit);
  }
  // Threads of the program (session_threads.cpp). Before the first one is made; false if this process cannot have any
  // that are followed.
  bool begin_threads(const FunctionTable& functions);
  // The same, for a thread that is there already (MCAPI). After attach().
  void begin_threads_late();
  // A new thread's log. In a replay `number` is what the log of the thread that makes it says.
  std::uint32_t next_thread_number() { return next_thread_.fetch_add(1, std::memory_order_relaxed); }
  ThreadStream* new_thread(std::uint32_t number);
  void thread_was_made(ThreadStream* stream, pthread_t handle);
  // Of all threads that are followed, at this moment; nothing of it may be kept. Not for long: none can come or go.
  template <class Visit>
  void each_thread(Visit visit) {
    const Spin spin(&threads_lock_);
    visit(main_);
    for (const ThreadStream* const stream : threads_)
      if (!stream->over) visit(*stream);
  }
  // Replaying: called once when all threads have come to the end of a run that was cut off.
  void when_cut_off(void (*hook)()) { cut_off_hook_.store(hook, std::memory_order_release); }
  void thread_ends();
  // Replaying: waits until that thread has made its last call.
  void await_end_of_log(pthread_t thread);
  // What to do with a synchronisation of the running thread: Record, Replay, or nothing (Passive).
  Mode thread_mode();

  // A synchronisation: its result if that is not 0, and the turns that it comes after.
  struct Passage {
    std::int64_t result = 0;
    Turn first, second;
    bool unfinished = false;  // replaying: the recorded run never came out of this call
  };
  void record_sync(FunctionId function, const void* caller) { t_stream->recorder.call(function, caller, Arguments{}); }
  void record_passage(const Passage& passage);
  bool follows_log() { return followed_log() != nullptr; }
  // Is it what the log has next?
  bool sync_comes(FunctionId function, const void* caller);
  // In such a call: waits for the end of the rank or, if the thread was cancelled there, ends it.
  [[noreturn]] void ends_in_call();
  // False: there is no log to follow yet.
  bool replay_sync(FunctionId function, const void* caller, Passage& out);
  void passed(int turns = 1) {  // replaying: whoever waits for these turns may go on
    t_stream->turn_is_open = false;
    while (--turns > 0) t_stream->turns.next();
    turn_is_over(t_stream->number, t_stream->turns.next());
  }

  // Calls of MPI by several threads. `post_order` orders what is posted; see Identity::Callers.
  bool orders_posts() const { return has_threads() && callers_ == Identity::Callers::Many; }
  // The call has been made, or only waits from here on: others may post.
  void posted();
  // A test has succeeded: from now on it is an operation like any other.
  // `second`: in a call that has had a turn already, and has logged nothing since.
  void poll_succeeded(bool second = false);
  // What the threads number together is numbered in the same order: before and after a communicator gets its number,
  // the latter under the lock.
  void await_numbering();
  void numbered();
  // Around a test while recording.
  void begin_poll();

  // Waits until all ranks have reached their ends. Used before MPI_Abort and the like, so that the others are not cut
  // short of what they did in the recorded run.
  void wait_for_others();
  void wait_for_others_after_crash(int signal, const void* address);
  void wait_for_others_before_kill();  // the process is about to kill itself, perhaps as it did then
  // The recorded run was cut off inside the current call: wait for the others, then end as it ended. Never returns.
  [[noreturn]] void at_end();

  void finalized();          // the front end's API has been shut down in good order
  void aborting(int code);   // the program asked for the end of the whole job
  void process_will_exit();  // exit() was called, libraries still work
  void process_exits(int status);
  void forked_child();

  // In replay, once the log is open (before that, calls are only remembered).
  bool replaying_now() const { return stream().replayer.has_value(); }
  // Of the running thread.
  Recorder& recorder() { return stream().recorder; }
  Replayer& replayer() { return *stream().replayer; }
  // Of the main thread: what concerns the whole rank.
  Recorder& main_recorder() { return main_.recorder; }
  Replayer& main_replayer() { return *main_.replayer; }
  Supervisor& supervisor() { return supervisor_; }
  const Configuration& configuration() const { return configuration_; }
  std::uint64_t calls_seen() const { return calls_seen_; }

  // Held around the log when several threads may call (threads_may_call()).
  class Lock : Spin {
   public:
    explicit Lock(Session& session, bool needed = false)
        : Spin(needed || session.threaded_.load(std::memory_order_relaxed) ? &session.lock_ : nullptr) {}
  };
  void threads_may_call();
  bool threaded() const { return threaded_.load(std::memory_order_relaxed); }
  // Neither early nor with threads: a call may be logged without further thought.
  bool calls_freely() const { return attached_ && !threaded(); }
  void notice_thread();
  void call_in_order(FunctionId function, const void* caller, const Arguments& arguments);

 private:
  struct EarlyCall {
    FunctionId function;
    const void* caller;
    Arguments arguments;
  };

  Session();
  explicit Session(const Configuration& configuration);
  static Session& make();
  const ThreadStream& stream() const { return t_stream ? *t_stream : main_; }
  ThreadStream& stream() { return t_stream ? *t_stream : main_; }
  void attach_thread(ThreadStream& stream);
  void open_data(ThreadStream& stream, int dir);
  Result<DataReplayer> open_values(std::uint32_t rank, std::uint32_t thread) const;
  void attach_threads();
  std::uint64_t look_after_threads();
  void reached_end();
  static void let_go(ThreadStream* stream);
  bool threads_at_end() const {
    const std::uint32_t all = cut_off_.load(std::memory_order_relaxed);
    return all > 0 && ended_.load(std::memory_order_acquire) >= all;
  }
  [[noreturn]] void end_as_recorded();
  void open_thread_log(ThreadStream& stream);
  void count_cut_off_threads();
  void finish_threads();
  // How the running thread may move messages while it waits, if it may.
  using Progress = void (*)();
  Progress progress_from_here();
  Progress progress_from_anywhere();
  void hold_rank(Progress (Session::*progress)());
  void await_own_threads(Progress progress);
  Replayer* followed_log();
  void has_moved(const Replayer& log);
  void log_turn(const void* object);
  void log_turn(const Turn& turn);
  void log_second_turn(const void* object);
  bool orders_numbers() const;
  void follow_turn(void (*await)(const Turn&) = await_turn);
  void take_order();
  void release_order();
  [[noreturn]] void fail(Replayer::Fit fit);
  void finish_main(const trace::End& end);
  void at_last_call();
  void replay_call(FunctionId function, const void* caller, const Arguments& arguments);
  void replayed();
  RankState state_between_calls() const {
    return has_threads() && callers_ != Identity::Callers::One ? RankState::Threaded : RankState::Running;
  }
  void attach_recorder(const Identity& identity);
  void attach_replayer(const Identity& identity);
  void open_replayer(const Identity& identity);
  const trace::Info& description();

  Mode early_read_mode(const FunctionTable& functions);
  void begin_early_reads(const FunctionTable& functions);
  void open_early_log();
  void count_early_read(std::size_t bytes);
  template <class Outcome>
  void record_read(const Read& read, std::size_t bytes, Outcome outcome);
  template <class Outcome>
  bool replay_thread_read(const Read& read, Outcome outcome);
  template <class Outcome>
  bool replay_read(const Read& read, const std::size_t& bytes, Outcome outcome);
  void early_call(FunctionId function, const void* caller, const Arguments& arguments);
  void stop_reads();
  void check_early_reads(const Identity& identity);
  void write_remarks();

  static inline std::atomic<Session*> instance_{nullptr};
  Configuration configuration_;
  FunctionTable functions_;
  ThreadStream main_;
  DataRecorder messages_;
  std::vector<ThreadStream*> threads_;  // the others, as long as they have a log that is open
  std::atomic_flag threads_lock_;
  std::atomic<std::uint32_t> next_thread_{1};
  Identity::Callers callers_ = Identity::Callers::One;
  std::atomic_flag post_order_;
  std::atomic<std::uint32_t> cut_off_{0};  // replaying: threads whose logs were cut off, the main one included
  std::atomic<std::uint32_t> ended_{0};    // those of them that have come to their ends
  std::atomic<std::uint32_t> ended_in_call_{0};  // those of them inside a call
  std::atomic<ThreadStream*> makes_progress_{nullptr};
  int looks_after_release_ = 0;
  std::atomic<void (*)()> cut_off_hook_{nullptr};
  std::uint64_t moved_before_ = 0;  // replaying: calls of threads that have ended
  Supervisor supervisor_;
  std::vector<EarlyCall> early_;
  Library library_;
  std::atomic_flag lock_;
  std::atomic<bool> threaded_{false};
  std::uint64_t calls_seen_ = 0;
  std::uint32_t rank_ = 0;
  bool attached_ = false;
  bool finalized_ = false;
  bool held_ = false;
  bool records_data_ = false;
  std::size_t early_calls_ = 0;

  // Reads before attach().
  trace::Info description_;
  bool recorder_begun_ = false;
  bool early_begun_ = false;
  bool reads_stopped_ = false;         // for good
  bool reads_paused_ = false;          // until attach()
  bool early_differs_ = false;         // early_log_ was not followed to MPI_Init
  std::optional<Read> early_surplus_;  // the first that the log does not have; right if another thread calls MPI next
  std::size_t early_reads_ = 0;
  std::optional<Replayer> early_log_;  // the log that this process will be attached to, if it is what it seems to be
  std::optional<std::uint32_t> early_rank_;  // as the launcher said when the first read was made
  std::atomic<unsigned> remarks_{0};
  unsigned remarked_ = 0;
};

}  // namespace reprise::engine
