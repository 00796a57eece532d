#include "engine/session.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "engine/crash_signals.hpp"
#include "engine/launcher_rank.hpp"
#include "engine/process_info.hpp"

namespace reprise::engine {
namespace {

constexpr std::size_t kMaxEarlyCalls = 4096;
constexpr int kForEver = -1;
constexpr int kLastCallPatience = 2000;  // milliseconds

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Configuration read_environment() {
  Configuration configuration;
  const std::string_view mode = environment("REPRISE_MODE");
  if (mode == "record") configuration.mode = Mode::Record;
  else if (mode == "replay") configuration.mode = Mode::Replay;
  else if (mode == "doctor") configuration.mode = Mode::Doctor;
  else if (mode == "explore") configuration.mode = Mode::Explore;
  configuration.directory = environment("REPRISE_DIR");
  configuration.trace_id = std::strtoull(environment("REPRISE_TRACE_ID"), nullptr, 16);
  configuration.monitor = environment("REPRISE_MONITOR");
  configuration.plain = *environment("REPRISE_PLAIN") == '1';
  configuration.finds_deadlocks = *environment("REPRISE_DEADLOCKS") != '0';
  configuration.checks = *environment("REPRISE_CHECKS") == '1';
  configuration.flow = *environment("REPRISE_FLOW") != '\0';
  configuration.flow_messages = *environment("REPRISE_FLOW") == '1';
  configuration.data = environment("REPRISE_DATA");
  if (*environment("REPRISE_DATA_LIMIT"))
    configuration.data_limit = std::strtoull(environment("REPRISE_DATA_LIMIT"), nullptr, 10);
  configuration.access = *environment("REPRISE_FIDELITY") == 'a';
  if (configuration.mode == Mode::Replay && *environment("REPRISE_RANK"))
    configuration.solo_rank = static_cast<std::uint32_t>(std::strtoul(environment("REPRISE_RANK"), nullptr, 10));
  configuration.compares_sent = *environment("REPRISE_IGNORE_SENT") != '1';
  configuration.stops_at_end = *environment("REPRISE_STOP_AT_END") == '1';
  configuration.explored = *environment("REPRISE_EXPLORED") == '1';
  configuration.alone = *environment("REPRISE_ALONE") == '1';
  unsetenv("REPRISE_ALONE");  // not for the programs that this one starts
  configuration.has_nodes = *environment("REPRISE_NODES") == '1';
  configuration.starter_is_rank = configuration.alone;
  configuration.ranks = static_cast<std::uint32_t>(std::strtoul(environment("REPRISE_RANKS"), nullptr, 10));
  configuration.data_nodes = environment("REPRISE_DATA_NODES");
  configuration.only_nodes = environment("REPRISE_ONLY_NODES");
  configuration.arrivals = environment("REPRISE_ARRIVALS");
  configuration.arrivals_seen = environment("REPRISE_ARRIVALS_SEEN");
  configuration.identify = environment("REPRISE_IDENTIFY");
  if (configuration.directory.empty()) configuration.mode = Mode::Passive;
  return configuration;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (c == '\n') c = ' ';
  return line;
}

std::string_view after_first_line(std::string_view text) { return text.substr(std::min(text.find('\n'), text.size())); }

// "all", or numbers and ranges: "3,17-19".
bool is_among(std::uint32_t rank, const std::string& list) {
  if (list == "all") return true;
  for (const std::string_view range : split(list, ',')) {
    const auto ends = split(range, '-');
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    if (parse_number(ends.front(), first) && parse_number(ends.back(), last) && first <= rank && rank <= last)
      return true;
  }
  return false;
}

}  // namespace

// Never destroyed: the program's own exit handlers and threads may still make calls after ours have run.
Session& Session::make() {
  alignas(Session) static unsigned char memory[sizeof(Session)];
  static Session* const session = new (memory) Session();
  instance_.store(session, std::memory_order_relaxed);
  return *session;
}

Session::Session() : configuration_(read_environment()) {
  if (configuration_.mode == Mode::Passive) return;
  remember_start_directory();
  g_main_thread = pthread_self();
  t_stream = &main_;
  pthread_atfork(nullptr, nullptr, [] { Session::get().forked_child(); });
  // Registered before the program's own handlers, so it runs after them and sees their calls.
  on_exit([](int status, void*) { Session::get().process_exits(status); }, nullptr);
  // Last: what registering calls (malloc, and a clock in it) comes too early for a session that is not there yet.
  g_mode.store(Mode::Armed, std::memory_order_relaxed);
}

// In a forked child, which may become a rank of its own. What its parent has registered is there.
Session::Session(const Configuration& configuration) : configuration_(configuration) {
  configuration_.alone = false;
  reads_paused_ = true;
}

void Session::wake(const FunctionTable& functions) {
  if (mode() != Mode::Armed) return;
  functions_ = functions;
  Mode next = configuration_.mode;
  if (next == Mode::Record && !recorder_begun_) recorder_begun_ = main_.recorder.begin(functions);
  if (next == Mode::Record && !recorder_begun_) next = Mode::Passive;
  g_mode.store(next, std::memory_order_relaxed);
}

void Session::decline(const std::string& why) {
  if (configuration_.mode == Mode::Record) append_note("problem", why);
  g_mode.store(Mode::Passive, std::memory_order_relaxed);
}

void Session::becomes_virtual_rank() { g_mode.store(Mode::Explore, std::memory_order_relaxed); }

void Session::virtual_rank_is_over() {
  if (mode() == Mode::Explore) g_mode.store(Mode::Over, std::memory_order_relaxed);
}

void Session::records_from_here(const char* directory, std::uint64_t trace_id, std::uint32_t rank) {
  configuration_.mode = Mode::Record;
  configuration_.directory = directory;
  configuration_.trace_id = trace_id;
  configuration_.data = "all";
  early_rank_ = rank;
  if (!recorder_begun_) recorder_begun_ = main_.recorder.begin(functions_);
  g_mode.store(recorder_begun_ ? Mode::Record : Mode::Passive, std::memory_order_relaxed);
}

void Session::arrives() {
  if (mode() != Mode::Replay) return;
  if (const auto rank = launcher_rank()) Supervisor::announce(configuration_.monitor, *rank);
}

void Session::attach(const Identity& identity, const Library& library) {
  if (attached_) return;
  rank_ = identity.rank;
  callers_ = identity.callers;
  library_ = library;
  if (mode() == Mode::Record) attach_recorder(identity);
  if (mode() == Mode::Replay) attach_replayer(identity);
  attached_ = true;
}

void Session::attach_recorder(const Identity& identity) {
  trace::Info info = description();
  info.emplace_back("rank", std::to_string(identity.rank));
  info.emplace_back("ranks", std::to_string(identity.ranks));
  info.emplace_back("mpi", identity.library);
  info.emplace_back("mpi-library", identity.library_version);
  info.emplace_back("thread-level", identity.thread_level);
  if (configuration_.access) info.emplace_back("fidelity", "access");
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  Result<void> attached = Error{configuration_.directory + ": " + std::strerror(errno)};
  if (dir >= 0)
    attached = main_.recorder.attach(dir, {configuration_.trace_id, identity.rank, 0}, info, configuration_.plain);
  if (attached && is_among(identity.rank, configuration_.data)) {
    records_data_ = true;
    open_data(main_, dir);
  }
  if (dir >= 0) close(dir);  // the writer has its own; the program's descriptors keep their numbers
  if (attached) {
    attach_threads();
    check_early_reads(identity);
    write_remarks();
    return;
  }
  // The program goes on without us.
  g_mode.store(Mode::Passive, std::memory_order_relaxed);
  append_note("problem", attached.error().what);
}

void Session::finish_main(const trace::End& end) {
  main_.recorder.finish(end, true);
  main_.data.finish(end);
  if (messages_.is_open()) messages_.finish(end);
}

void Session::note(const char* key, const std::string& text) {
  if (mode() != Mode::Record) return;
  main_.recorder.note(key, text);
  append_note(key, text);
}

// The record command reads this file at the end, the replay command before the start.
void Session::append_note(const char* key, const std::string& text) {
  const std::uint32_t rank = attached_ ? rank_ : launcher_rank().value_or(0);
  const std::string line = std::to_string(rank) + '\t' + key + '\t' + one_line(text) + '\n';
  const int fd =
      open((configuration_.directory + "/notes").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return;
  if (write(fd, line.data(), line.size()) < 0) {
    // The disk is full: that the rank's log ends early says enough.
  }
  close(fd);
}

void Session::attach_replayer(const Identity& identity) {
  // Before the thread that reports it is started.
  supervisor_.keep_place_in(environment("REPRISE_PLACES"), configuration_.monitor, identity.rank);
  if (auto connected = supervisor_.connect(configuration_.monitor, identity.rank, identity.ranks); !connected)
    give_up(connected.error().what);
  if (early_log_) {
    Lock lock(*this, true);  // the main thread may be reading it
    check_early_reads(identity);
  } else {
    open_replayer(identity);
  }
  if (main_.replayer && solo() && main_.replayer->stream().reader().info("mpi-library") != identity.library_version)
    supervisor_.trouble("recorded with " + std::string(main_.replayer->stream().reader().info("mpi-library")) +
                        ", this process has " + identity.library_version);
  count_cut_off_threads();
  supervisor_.count_moves([] { return Session::get().look_after_threads(); });
  // A rank that crashes as recorded must not take the others down before they have come as far as they came then.
  before_crash([](int signal, const void* address) { Session::get().wait_for_others_after_crash(signal, address); });
  // The constructor's handler runs after the destructors of all libraries, MPI's included. If the rank is to wait for
  // others there, it must do so while MPI still works.
  on_exit([](int, void*) { Session::get().process_will_exit(); }, nullptr);
}

void Session::open_replayer(const Identity& identity) {
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) supervisor_.trouble(configuration_.directory + ": " + std::strerror(errno));
  const std::string log = "rank-" + std::to_string(identity.rank) + ".log";
  if (faccessat(dir, log.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
    at_end();  // it had not come so far when the run ended
  auto reader = trace::RankReader::open(dir, identity.rank, configuration_.trace_id);
  close(dir);
  if (!reader) supervisor_.trouble(reader.error().what);
  for (const auto& [key, value] : description()) {
    const std::string_view recorded = reader->info(key);
    if (key == "build-id" && value != recorded) supervisor_.trouble("this is another build of the program");
    // A debugger starts the program by its path: its name is then another one.
    if (key == "cmdline" && (solo() ? after_first_line(value) != after_first_line(recorded) : value != recorded))
      supervisor_.trouble("the program has other arguments: \"" + one_line(value) + "\", recorded was \"" +
                          one_line(recorded) + "\"");
  }
  main_.replayer.emplace(CallStream(std::move(*reader)), functions_);
  check_early_reads(identity);
}

void log_call(FunctionId function, const void* caller, const Arguments& arguments) {
  Session& session = Session::get();
  if (mode() == Mode::Record && session.calls_freely()) [[likely]]
    session.recorder().call(function, caller, arguments);
  else session.call(function, caller, arguments);
}

void log_return() { Session::get().returned(); }

void Session::replay_call(FunctionId function, const void* caller, const Arguments& arguments) {
  insist(main_.replayer->call(function, caller, arguments));
  replayed();
}

void Session::replayed() {
  Replayer& log = *stream().replayer;
  if (has_threads()) [[unlikely]] {
    if (&stream() != &main_) return;
    // If others may call as well, what this call waits for is not what the rank waits for.
    const bool waits = callers_ == Identity::Callers::One && !log.in_unfinished_call();
    supervisor_.entered(log.next_event(), waits ? RankState::InCall : state_between_calls());
  } else {
    supervisor_.entered(log.next_event(), log.in_unfinished_call() ? RankState::LastCall : RankState::InCall);
  }
  if (log.at_last_event()) [[unlikely]]
    at_last_call();
}

// The process may end any moment now, so the command must know where it was. If the recorded run never returned from
// this call, it may bring the whole job down here (a fatal error of MPI): the others get time to come to their ends.
// Not for ever, since they may be waiting for just this call.
void Session::at_last_call() {
  supervisor_.report_place();
  if (!main_.replayer->in_unfinished_call()) return;
  if (has_threads()) return;  // it may have sent before it was cut off; look_after_threads() sees to the end
  if (supervisor_.hold(library_.make_progress, kLastCallPatience) &&
      main_.replayer->stream().reader().end().kind != trace::EndKind::Exited)
    at_end();
}

void Session::call(FunctionId function, const void* caller, const Arguments& arguments) {
  if (t_stream && has_threads()) {
    call_in_order(function, caller, arguments);
    return;
  }
  if (!attached_ && !on_main_thread()) stop_reads();
  Lock lock(*this);
  if (!attached_ && ++early_calls_ > kMaxEarlyCalls) return;  // the same in record and replay
  switch (mode()) {
    case Mode::Record:
      if (threaded_.load(std::memory_order_relaxed)) notice_thread();
      main_.recorder.call(function, caller, arguments);
      break;
    case Mode::Replay:
      if (!main_.replayer) {
        early_call(function, caller, arguments);
        break;
      }
      replay_call(function, caller, arguments);
      break;
    case Mode::Doctor: ++calls_seen_; break;
    default: break;
  }
}

void Session::event(const char* name, const void* caller) {
  if (!attached_ || finalized_ || !t_stream) return;
  if (mode() == Mode::Record) {
    t_stream->recorder.named_event(name, caller);
    t_stream->recorder.returned();
  } else if (mode() == Mode::Replay && t_stream->replayer) {
    insist(t_stream->replayer->named_event(name, caller));
    replayed();
    returned();
  }
}

void Session::returned() {
  if (mode() == Mode::Record) {
    recorder().returned();
    release_order();
  } else if (mode() == Mode::Replay && stream().replayer) {
    if (has_threads() && t_stream) [[unlikely]] {
      if (t_stream->turn_is_open) passed();
      if (t_stream != &main_) return;
    } else if (main_.replayer->in_unfinished_call()) {
      at_end();  // the others came further than while recording, and so did this call; but the program must not
    }
    supervisor_.entered(main_.replayer->next_event(), state_between_calls());
    supervisor_.waits_for(-1);
  }
}

void Session::fail(Replayer::Fit fit) {
  if (g_scouting) scout_found(fit == Replayer::Fit::Follows);
  if (fit == Replayer::Fit::AtEnd) at_end();
  supervisor_.diverged(stream().replayer->report());
}

void Session::give_up(const std::string& why) {
  const std::string line = "reprise: " + why + '\n';
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) _exit(125);
  _exit(125);
}

void Session::wait_for_others() {
  if (mode() == Mode::Replay && supervisor_.connected())
    hold_rank(&Session::progress_from_here);
}

void Session::wait_for_others_after_crash(int signal, const void* address) {
  if (mode() != Mode::Replay || !stream().replayer) return;
  const Replayer& log = *stream().replayer;
  if (!log.at_last_event()) supervisor_.crashed(signal, address, log.next_event());
  hold_rank(&Session::progress_from_anywhere);
}

void Session::wait_for_others_before_kill() {
  if (mode() == Mode::Replay && stream().replayer && stream().replayer->at_last_event()) hold_rank(&Session::progress_from_anywhere);
}

void Session::at_end() {
  // A thread that was still at work when the process came to its own end.
  if (has_threads() && t_stream && t_stream != &main_ && cut_off_.load(std::memory_order_relaxed) == 0)
    for (;;) pause();
  wait_for_others();
  if (has_threads() && t_stream != &main_)  // the thread that the process ends with says how
    for (;;) pause();
  end_as_recorded();
}

void Session::end_as_recorded() {
  if (main_.replayer) {
    const trace::End end = main_.replayer->stream().reader().end();
    if (end.kind == trace::EndKind::Exited) _exit(end.value);
  }
  if (configuration_.stops_at_end) raise(SIGTRAP);  // a debugger shows where that is
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

void Session::finalized() {
  finalized_ = true;
  write_remarks();
  if (mode() == Mode::Record) main_.recorder.writer().set_end(trace::EndKind::Finalized, 0);
  if (mode() != Mode::Replay || !main_.replayer) return;
  supervisor_.entered(main_.replayer->next_event(), RankState::Finalized);
  supervisor_.report_place();
}

void Session::aborting(int code) {
  if (mode() == Mode::Record) {
    write_remarks();
    g_mode.store(Mode::Passive, std::memory_order_relaxed);
    const bool by_main = !has_threads() || t_stream == &main_;
    finish_main({trace::EndKind::Aborted, code, by_main || main_.recorder.writer().in_call()});
    finish_threads();
  } else {
    wait_for_others();
  }
}

void Session::process_will_exit() {
  if (configuration_.alone) return;
  if (mode() == Mode::Replay && main_.replayer && !finalized_ && main_.replayer->at_last_event()) {
    supervisor_.hold(progress_from_anywhere(), kForEver);
    held_ = true;
  }
}

void Session::process_exits(int status) {
  const Mode now = mode();
  write_remarks();
  g_mode.store(Mode::Passive, std::memory_order_relaxed);
  if (!attached_) return;
  if (configuration_.alone) finalized_ = true;
  if (now == Mode::Record) {
    if (library_.settle) library_.settle();
    finish_main(
        {finalized_ ? trace::EndKind::Finalized : trace::EndKind::Exited, status, main_.recorder.writer().in_call()});
    finish_threads();
  } else if (now == Mode::Replay && main_.replayer) {
    if (has_threads()) main_.replayer->pass_reads();
    insist(main_.replayer->end_of_program());
    const trace::End end = main_.replayer->stream().reader().end();
    const bool known = end.kind == trace::EndKind::Finalized || end.kind == trace::EndKind::Exited;
    if (known && end.value != status)
      insist(main_.replayer->other_end("the program ends with exit status " + std::to_string(status) +
                                       ", recorded was " + std::to_string(end.value)));
    if (!finalized_ && !held_) supervisor_.hold(nullptr, kForEver);
    supervisor_.entered(main_.replayer->next_event(), RankState::Finalized);
    supervisor_.report_place();
  }
}

void Session::forked_child() {
  g_main_thread = pthread_self();
  g_has_threads.store(false, std::memory_order_relaxed);  // only the one that forked is there
  t_stream = &main_;
  main_.place = nullptr;
  Baton::get().forget();
  lock_.clear(std::memory_order_relaxed);
  if (mode() == Mode::Armed) {  // it may yet become a rank of its own, but until then it is somebody else
    reads_paused_ = true;
    description_.clear();
    return;
  }
  g_mode.store(Mode::Passive, std::memory_order_relaxed);
  main_.recorder.writer().disown();
  main_.data.disown();
  messages_.disown();
  for (ThreadStream* const stream : threads_) {
    stream->recorder.writer().disown();
    stream->data.disown();
  }
  supervisor_.disown();
  if (!configuration_.has_nodes) return;
  auto* const fresh = new Session(configuration_);
  t_stream = &fresh->main_;
  instance_.store(fresh, std::memory_order_relaxed);
  g_mode.store(Mode::Armed, std::memory_order_relaxed);
}

// Its end is the end of its run, as with a process that is followed from its start.
void Session::is_node(std::uint32_t rank) {
  configuration_.alone = true;
  reads_paused_ = false;
  if (configuration_.only_nodes.empty()) return;
  auto values = open_values(rank, 0);
  if (!values) give_up(values.error().what);
  main_.values.emplace(std::move(*values));
}

bool Session::is_in_list(std::uint32_t number, const std::string& list) { return is_among(number, list); }

void Session::is_left_out() {
  if (!t_stream || t_stream == &main_) return;
  t_stream->replayer.reset();
  turn_is_over(t_stream->number, UINT64_MAX);
}

void Session::threads_may_call() { threaded_.store(true, std::memory_order_relaxed); }

// A thread that was not seen made (by a system call of the program's own, or before the rank was known) has no log.
void Session::notice_thread() {
  static std::atomic<bool> noted{false};
  if (t_stream || noted.exchange(true, std::memory_order_relaxed)) return;
  note("not-replayable", "a thread called MPI that Reprise did not see being made");
}

}  // namespace reprise::engine
