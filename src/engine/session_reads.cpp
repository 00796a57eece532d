// Reads of clocks, random sources and the like: one event each, with its value, in the same log as the calls.
//
// Before MPI_Init nobody knows whether this process is a rank. While recording, early reads are kept in memory like
// early calls, a bounded number of them; a launcher or a shell throws them away unseen when it ends. In a replay the
// value is needed at once, so the rank is taken from the launcher's variables, that rank's log is opened, and if the
// log was written by this program with these arguments, it answers. Until MPI_Init has confirmed it, nothing of this is
// more than a guess: a process that does not follow the log just gets real values from there on, and is called to
// account only if it turns out to be the rank.
//
// A thread's reads are in its own log. Threads that were not seen being made have none: they get real values, always, and
// the trace says so. If such a thread is the first to call MPI, nothing of the main thread is logged any more, in record
// or replay: there is no order between the two.
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "engine/launcher_rank.hpp"
#include "engine/process_info.hpp"
#include "engine/session.hpp"

namespace reprise::engine {
namespace {

// Below one chunk, so that a launcher that reads its clock for hours costs next to nothing. Random bytes count as well.
constexpr std::size_t kMaxEarlyReads = 65536;
constexpr std::size_t kBytesPerRead = 8;

bool written_by(const trace::RankReader& log, const trace::Info& description, bool solo) {
  for (const auto& [key, value] : description)
    if (!(solo && key == "cmdline") && (key == "exe" || key == "build-id" || key == "exe-hash" || key == "cmdline") && log.info(key) != value)
      return false;
  return true;
}

}  // namespace

// Taken once: a program may overwrite its arguments, but not before its first read and, in the same way, in a replay.
const trace::Info& Session::description() {
  if (description_.empty()) description_ = describe_process();
  return description_;
}

void Session::begin_early_reads(const FunctionTable& functions) {
  early_begun_ = true;
  functions_ = functions;
  early_rank_ = launcher_rank();
  description();
  if (configuration_.mode == Mode::Replay) open_early_log();
  else if (!recorder_begun_) recorder_begun_ = main_.recorder.begin(functions);
}

// Without the launcher's word, a rank that is alone is still known.
void Session::open_early_log() {
  const int dir = open(configuration_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  auto reader = trace::RankReader::open(dir, early_rank_.value_or(0), configuration_.trace_id);
  close(dir);
  if (!reader || (!early_rank_ && reader->info("ranks") != "1") || !written_by(*reader, description_, solo())) return;
  early_log_.emplace(CallStream(std::move(*reader)), functions_);
}

Mode Session::early_read_mode(const FunctionTable& functions) {
  // A process whose copies are explored keeps them, too: a copy may be recorded.
  const bool records = configuration_.mode == Mode::Record || configuration_.mode == Mode::Explore;
  if (!records && configuration_.mode != Mode::Replay) return Mode::Passive;
  if (reads_stopped_ || reads_paused_ || early_reads_ > kMaxEarlyReads) return Mode::Passive;
  if (!early_begun_) begin_early_reads(functions);
  if (records) return recorder_begun_ ? Mode::Record : Mode::Passive;
  return Mode::Replay;
}

// One more, which brought so many bytes. The same in record and replay.
void Session::count_early_read(std::size_t bytes) {
  early_reads_ += 1 + bytes / kBytesPerRead;
  if (early_reads_ > kMaxEarlyReads) remark(kTooManyEarly);
}

template <class Outcome>
void Session::record_read(const Read& read, std::size_t bytes, Outcome outcome) {
  if (t_stream && t_stream != &main_) {
    t_stream->recorder.event(read.function, read.caller, read.arguments);
    outcome(t_stream->recorder);
    return;
  }
  // Another thread may be about to make the first MPI call: then it says so (stop_reads) under the lock.
  Lock lock(*this, !attached_);
  if (!attached_) {
    if (reads_stopped_) return;
    count_early_read(bytes);
  }
  main_.recorder.event(read.function, read.caller, read.arguments);
  outcome(main_.recorder);
  if (attached_ && remarks_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    write_remarks();
}

void Session::record_numbers(const Read& read, std::span<const std::int64_t> values) {
  record_read(read, 0, [&](Recorder& recorder) { recorder.numbers(values); });
}

void Session::record_bytes(const Read& read, std::span<const std::uint8_t> content) {
  record_read(read, content.size(), [&](Recorder& recorder) { recorder.bytes(content); });
}

void Session::record_failure(const Read& read, trace::Kind kind, int error) {
  record_read(read, 0, [&](Recorder& recorder) { recorder.failure(kind, error); });
}

// A thread that spins until another one has done something, and reads the clock meanwhile, reads it more or less often in
// each run. So with threads a read that the log does not have here is answered with what the last one of its kind got:
// time stands still until the thread goes on. And reads that the log has, but this run has not, are passed over.
template <class Outcome>
bool Session::replay_thread_read(const Read& read, Outcome outcome) {
  std::optional<Lock> lock;
  if (!attached_) lock.emplace(*this, true);
  Replayer* const log = followed_log();
  if (!log) return false;
  has_moved(*log);
  if (!log->comes_next(read.function, read.caller)) {
    if (log->at_last_event() && log->was_cut_off()) at_end();
    return outcome(*log, true) == Replayer::Fit::Follows;
  }
  insist(log->call(read.function, read.caller, read.arguments));
  insist(outcome(*log, false));
  has_moved(*log);
  return true;
}

template <class Outcome>
bool Session::replay_read(const Read& read, const std::size_t& bytes, Outcome outcome) {
  if (t_stream && t_stream != &main_ && !t_stream->replayer) at_end();
  if (has_threads() && t_stream) return replay_thread_read(read, outcome);
  Lock lock(*this, !attached_);
  if (attached_) {
    insist(main_.replayer->call(read.function, read.caller, read.arguments));
    insist(outcome(*main_.replayer, false));
    supervisor_.entered(main_.replayer->next_event(), state_between_calls());
    if (main_.replayer->at_last_event()) [[unlikely]]
      supervisor_.report_place();  // the process may end any moment now
    return true;
  }
  if (reads_stopped_ || !early_log_ || early_differs_ || early_surplus_) return false;
  if (!early_log_->read_comes()) {
    early_surplus_ = read;
    return false;
  }
  Replayer::Fit fit = early_log_->call(read.function, read.caller, read.arguments);
  if (fit == Replayer::Fit::Follows) fit = outcome(*early_log_, false);
  early_differs_ = fit != Replayer::Fit::Follows;
  count_early_read(bytes);
  return !early_differs_;
}

bool Session::replay_numbers(const Read& read, std::span<std::int64_t> out, int& error) {
  return replay_read(read, 0, [&](Replayer& replayer, bool again) {
    return again ? replayer.numbers_again(read.function, read.arguments, out, error) : replayer.numbers(out, error);
  });
}

bool Session::replay_bytes(const Read& read, std::span<std::uint8_t> room, std::size_t& size, int& error) {
  return replay_read(read, size, [&](Replayer& replayer, bool again) {
    return again ? Replayer::Fit::Differs : replayer.bytes(room, size, error);
  });
}

// A call before MPI_Init has returned, in replay.
void Session::early_call(FunctionId function, const void* caller, const Arguments& arguments) {
  if (!early_log_) {
    early_.push_back({function, caller, arguments});
    return;
  }
  if (early_differs_) return;
  Replayer::Fit fit;
  std::uint64_t passed = 0;
  if (reads_stopped_) fit = early_log_->call_past_reads(function, caller, arguments, passed);
  else if (early_surplus_)
    fit = early_log_->call(early_surplus_->function, early_surplus_->caller, early_surplus_->arguments);
  else fit = early_log_->call(function, caller, arguments);
  early_differs_ = fit != Replayer::Fit::Follows;
}

// Called by a thread that is not the main one, before it makes its first MPI call.
void Session::stop_reads() {
  threads_may_call();
  Lock lock(*this);
  if (reads_stopped_) return;
  reads_stopped_ = true;
  if (early_reads_ > 0) remark(kOtherThreadCallsMpi);
}

// MPI says which rank this is: did the reads before get what they should?
void Session::check_early_reads(const Identity& identity) {
  if (mode() == Mode::Record) {
    if (early_reads_ > 0 && early_rank_ != identity.rank && identity.ranks > 1) remark(kRankUnknown);
    return;
  }
  if (early_log_) {
    if (identity.rank != early_rank_.value_or(0))
      supervisor_.trouble("the launcher's variables say that this is rank " + std::to_string(early_rank_.value_or(0)) +
                          ", but MPI says another");
    main_.replayer = std::move(early_log_);
    early_log_.reset();
    if (early_differs_) supervisor_.diverged(main_.replayer->report());
    return;
  }
  // Reads that could not be answered are passed over. If there was no read at all, there must be none in the log.
  std::uint64_t passed = 0;
  for (const EarlyCall& call : early_)
    insist(early_begun_ || reads_stopped_
               ? main_.replayer->call_past_reads(call.function, call.caller, call.arguments, passed)
               : main_.replayer->call(call.function, call.caller, call.arguments));
  early_.clear();
  if (passed > 0 && !reads_stopped_)
    supervisor_.warn(
        "clocks and random sources that the program read before MPI_Init were not replayed: the launcher "
        "does not say which rank a process is");
}

// By the main thread, with the log at hand.
void Session::write_remarks() {
  if (mode() != Mode::Record || !attached_) return;
  static constexpr struct {
    Remark what;
    const char* text;
  } kTexts[] = {
      {kOtherThreads, "clocks and random sources: read by a thread that Reprise did not see being made"},
      {kOtherThreadCallsMpi, "clocks and random sources: read by the main thread, but another thread calls MPI"},
      {kRankUnknown,
       "clocks and random sources: read before MPI_Init, and the launcher does not say which rank a process is"},
      {kTooManyEarly, "clocks and random sources: read more often before MPI_Init than is kept"},
      {kPythonSwitched, "Python: threads were switched in the midst of a computation, at a place that cannot be seen"},
  };
  const unsigned remarks = remarks_.exchange(0, std::memory_order_relaxed);
  for (const auto& [what, text] : kTexts)
    if (remarks & what & ~remarked_) note("unsupported", text);
  remarked_ |= remarks;
}

}  // namespace reprise::engine
