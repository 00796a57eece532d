#include "frontends/threads/sync.hpp"

#include <cerrno>

namespace reprise::threads {

void Sync::begin(Function function, const void* caller) {
  if (frontends::t_inside || engine::mode() == Mode::Passive) return;
  const int error = errno;
  if (!engine::t_stream) {
    if (sys::called_by_program(caller)) note_stranger();
    errno = error;
    return;
  }
  if (sys::called_by_program(caller)) {
    if (engine::t_stream->place) {  // an explored rank: where it is, if it never gets any further
      engine::Baton::get().enter();
      engine::t_stream->function = frontends::id_of(function);
      engine::t_stream->caller = caller;
      engine::t_stream->object = nullptr;
    }
    Session& session = Session::get();
    const Mode mode = session.thread_mode();
    frontends::t_inside = true;
    if (mode == Mode::Record) {
      session.record_sync(frontends::id_of(function), caller);
      mode_ = mode;
    } else if (mode == Mode::Replay && session.replay_sync(frontends::id_of(function), caller, passage_)) {
      mode_ = mode;
    } else {
      frontends::t_inside = false;
    }
  }
  errno = error;
}

bool Sync::follows(const void* caller) {
  return engine::t_stream && !frontends::t_inside && is_replay() && sys::called_by_program(caller) &&
         Session::get().follows_log();
}

bool Sync::comes_next(Function function, const void* caller) {
  return follows(caller) && Session::get().sync_comes(frontends::id_of(function), caller);
}

}  // namespace reprise::threads
