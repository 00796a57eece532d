// What is looked at before a call and after it.
#include "frontends/mpi/flow/operation.hpp"

namespace reprise::mpi::flow {

int follow(Description& description, MPI_Status* programs, FunctionRef<int(MPI_Status*)> call) {
  MPI_Status own;
  MPI_Status* const status = programs == MPI_STATUS_IGNORE ? &own : programs;
  if (!description.follows()) return call(programs);
  if (!is_logging()) {
    description.does_not_contribute();
    return call(programs);
  }
  Digests given;
  description.look_at_given(given);
  const std::vector<std::uint8_t> contribution = description.contribute();
  std::optional<Guard> guard;
  Blocks written;
  if (may_guard()) written = description.written();
  if (!written.empty())
    guard.emplace(written.all(), description.given(), programs == MPI_STATUS_IGNORE ? nullptr : programs, sizeof *programs);
  bool logged = false;
  std::optional<std::uint64_t> post;
  if (follows_movements()) {
    post = log_begin(description.number(), description.address(), description.given_from(), {given.data(), given.size()},
                     {contribution.data(), contribution.size()});
    begins_to_move(*post, description.given(), description.taken());
  }
  const auto log = [&](int rc) {
    if (std::exchange(logged, true)) return;
    if (post) is_moved(*post);
    Told said;
    said.error = rc;
    if (description.hears() && rc == MPI_SUCCESS) said = told(*status, rc, false);
    Digests taken;
    std::vector<std::uint8_t> result, expected;
    if (rc == MPI_SUCCESS) {
      description.look_at_taken(taken, said);
      result = description.result();
      expected = description.expected();
    }
    if (post)
      log_end(*post, std::nullopt, said, {taken.data(), taken.size()}, {result.data(), result.size()},
              {expected.data(), expected.size()});
    else
      log_whole(description.number(), description.address(), said, {given.data(), given.size()}, {taken.data(), taken.size()},
                {contribution.data(), contribution.size()}, {result.data(), result.size()}, {expected.data(), expected.size()});
    if (guard && rc == MPI_SUCCESS) guard->look(description.hears() ? said.bytes : UINT64_MAX);
  };
  int rc;
  {
    auto settle = [&] { log(t_error.code); };
    AtBorder in_flight(settle);
    rc = call(status);
  }
  log(rc);
  return rc;
}

int follow_later(Description&& description, const MPI_Request* request, bool persistent, FunctionRef<int()> call) {
  if (!description.follows() || description.is_empty()) return call();
  if (!is_logging()) {
    if (!persistent) description.does_not_contribute();
    return call();
  }
  Digests given;
  std::vector<std::uint8_t> contribution;
  if (!persistent) {
    description.look_at_given(given);
    contribution = description.contribute();
  }
  // What is sent may be on its way before the call returns.
  std::optional<std::uint64_t> begun;
  if (follows_movements() && !persistent) {
    description.has(trace::kNonblocking);
    begun = log_begin(description.number(), description.address(), description.given_from(), {given.data(), given.size()},
                      {contribution.data(), contribution.size()});
    begins_to_move(*begun, description.given(), description.taken());
  }
  const int rc = call();
  if (rc == MPI_SUCCESS) {
    post(std::move(description), given, contribution, *request, persistent, begun);
  } else if (begun) {
    is_moved(*begun);
    log_end(*begun, std::nullopt, Told{rc}, {}, {});
  }
  return rc;
}

}  // namespace reprise::mpi::flow
