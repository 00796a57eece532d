// A call of MCAPI by the program: what every interposed function does first and last.
//
// What is logged of a call is what another run could see otherwise. Statuses are logged where they are not the usual one, so that a
// program that works leaves none.
#pragma once

#include <mcapi.h>

#include <optional>

#include "engine/session.hpp"
#include "frontends/function_table.hpp"
#include "frontends/inside.hpp"
#include "frontends/mcapi/functions.hpp"

namespace reprise::mcapi {

using engine::Arguments;
using engine::Mode;
using engine::Session;
using frontends::t_inside;

// Replaying: this thread is a node that runs from its recorded values, and no other is there (DR-MCAPI, section 3.2).
inline thread_local bool t_simulated __attribute__((tls_model("initial-exec"))) = false;
// Recording: the values that reach the node of this thread are recorded.
inline thread_local bool t_keeps_values __attribute__((tls_model("initial-exec"))) = false;

// The runtime's function of that name. Without it the process ends: what the program wants cannot be done.
void* runtime_function(Function function);
void use_runtime_function(Function function, void* found);
template <class Real>
Real runtime(Function function, Real) {
  return reinterpret_cast<Real>(runtime_function(function));
}

class Call {
 public:
  Call(Function function, const void* caller) : function_(function), caller_(caller) {}
  ~Call() {
    if (owner_) t_inside = false;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // True: not ours to follow, just forward it. What the runtime does meanwhile is not the program's either way.
  bool passive() {
    if (t_inside) return true;
    t_inside = true;
    owner_ = true;
    Session& session = Session::get();
    return (engine::mode() != Mode::Record && engine::mode() != Mode::Replay) || !session.attached() || !engine::t_stream;
  }

  // The runtime itself makes it.
  bool nested() const { return !owner_; }

  static bool recording() { return engine::mode() == Mode::Record; }

  void begin(const Arguments& arguments) { engine::log_call(id(), caller_, arguments); }
  void end() { engine::log_return(); }

  // A test: recording, whether it continues a series; replaying, what it must answer.
  void begin_test(const Arguments& arguments);
  bool must_succeed() const { return must_succeed_; }
  void tested(bool success);

  // How it ended, recorded or forced.
  void ended(mcapi_status_t status, mcapi_status_t usual) {
    if (status != usual) number(status);
  }
  void number(std::int64_t value) { Session::get().recorder().numbers({&value, 1}); }
  std::optional<std::int64_t> number_if_any() {
    std::int64_t value = 0;
    if (Session::get().replayer().numbers_if_any({&value, 1}) == 0) return std::nullopt;
    return value;
  }
  std::optional<mcapi_status_t> forced_status() {
    const auto found = number_if_any();
    return found ? std::optional(static_cast<mcapi_status_t>(*found)) : std::nullopt;
  }

  engine::FunctionId id() const { return static_cast<engine::FunctionId>(function_); }
  Function function() const { return function_; }

 private:
  Function function_;
  const void* caller_;
  bool owner_ = false;
  engine::Site* site_ = nullptr;
  bool absorbed_ = false;
  bool must_succeed_ = false;
};

}  // namespace reprise::mcapi
