#include "frontends/sys/read.hpp"

#include "frontends/function_table.hpp"
#include "frontends/sys/program_caller.hpp"
#include "frontends/sys/virtual_time.hpp"

namespace reprise::sys {

using engine::Session;

namespace {

std::atomic<bool> g_other_threads_noted{false};

class KeepErrno {
 public:
  ~KeepErrno() { errno = saved_; }

 private:
  int saved_ = errno;
};

// Where threads run one at a time, the clock goes on for one at a time.
void await_baton() {
  if (engine::t_stream && engine::t_stream->place) engine::Baton::get().enter();
}

}  // namespace

Mode decide(Mode mode, const void* caller) {
  const KeepErrno keep;
  if (mode == Mode::Passive) {  // before our constructor: is this a process to be recorded?
    be_born();
    mode = engine::mode();
  }
  if (mode == Mode::Passive || mode == Mode::Doctor) return Mode::Passive;
  if (!engine::t_stream) {
    if (!g_other_threads_noted.load(std::memory_order_relaxed) && called_by_program(caller)) {
      g_other_threads_noted.store(true, std::memory_order_relaxed);
      Session::get().remark(Session::kOtherThreads);
    }
    return Mode::Passive;
  }
  if (!called_by_program(caller)) return Mode::Passive;
  frontends::t_inside = true;
  if (mode == Mode::Explore) return mode;
  const Mode now = Session::get().read_mode(frontends::all_functions());
  if (now == Mode::Passive) frontends::t_inside = false;
  return now;
}

void Read::begin(Function function, const void* caller, std::int64_t about, std::int64_t bytes) {
  function_ = function;
  what_.function = frontends::id_of(function);
  what_.caller = caller;
  what_.arguments[engine::kTag] = about;
  what_.arguments[engine::kBytes] = bytes;
}

bool Read::answers(std::span<std::int64_t> numbers) {
  const KeepErrno keep;
  if (g_time_is_virtual) {
    await_baton();
    const bool answered = answer_virtually(function_, what_.arguments[engine::kTag], numbers);
    if (answered) log(numbers);
    return answered;
  }
  return mode_ == Mode::Replay && Session::get().replay_numbers(what_, numbers, error_);
}

bool Read::answers(std::span<std::uint8_t> room, std::size_t& size) {
  const KeepErrno keep;
  if (g_time_is_virtual) {
    await_baton();
    size = room.size();
    const bool answered = answer_virtually(room);
    if (answered) log(std::span<const std::uint8_t>(room));
    return answered;
  }
  return mode_ == Mode::Replay && Session::get().replay_bytes(what_, room, size, error_);
}

void Read::log(std::span<const std::int64_t> numbers) {
  const KeepErrno keep;
  if (mode_ == Mode::Record) Session::get().record_numbers(what_, numbers);
}

void Read::log(std::span<const std::uint8_t> bytes) {
  const KeepErrno keep;
  if (mode_ == Mode::Record) Session::get().record_bytes(what_, bytes);
}

void Read::log_failure(trace::Kind kind, int error) {
  const KeepErrno keep;
  if (mode_ == Mode::Record) Session::get().record_failure(what_, kind, error);
}

}  // namespace reprise::sys
