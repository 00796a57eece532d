// Calls that are made again in a replay, and whose status is all that could differ.
#pragma once

#include <ctime>

#include "frontends/mcapi/call.hpp"
#include "frontends/mcapi/endpoints.hpp"

namespace reprise::mcapi {

inline Arguments about(mcapi_endpoint_t endpoint, std::size_t size = 0) {
  const EndpointName name = name_of(endpoint);
  return {name.domain, name.node, name.port, static_cast<std::int64_t>(size)};
}

inline void give(mcapi_status_t* out, mcapi_status_t status) {
  if (out) *out = status;
}

// The replay's runtime has not yet what the recorded one had: room, an endpoint. It will.
inline bool is_just_late(mcapi_status_t status) {
  if (status != MCAPI_TIMEOUT && status != MCAPI_ERR_MEM_LIMIT) return false;
  const timespec pause{0, 100000};
  nanosleep(&pause, nullptr);
  return true;
}

// Without it, nothing that follows can be as it was.
inline bool makes_something(Function function) {
  return function == Function::initialize || function == Function::endpoint_create || function == Function::endpoint_get;
}

// Whether it is made, too, by a node that runs from its values.
enum class Alone { Made, NotMade };

// `make` makes the call, given where its status goes. A status that was another one than usual is given again without it.
template <class Make>
mcapi_status_t forward(Call& call, const Arguments& arguments, mcapi_status_t usual, mcapi_status_t* out, Make make,
                       Alone alone = Alone::NotMade) {
  mcapi_status_t status = MCAPI_ERR_GENERAL;
  if (call.passive()) {
    make(&status);
    give(out, status);
    return status;
  }
  call.begin(arguments);
  if (Call::recording()) {
    make(&status);
    call.ended(status, usual);
  } else if (const auto forced = call.forced_status()) {
    status = *forced;
  } else if (t_simulated && alone == Alone::NotMade) {
    status = usual;
  } else {
    do make(&status);
    while (is_just_late(status));
    if (status != usual && makes_something(call.function())) Session::get().insist(Session::get().replayer().mismatch("the call worked then, but fails now"));
    status = usual;  // whatever it says now: the other end may have gone further than it had then
  }
  call.end();
  give(out, status);
  return status;
}

// What only the node itself can know: nothing is logged.
template <class Make>
auto pass(Function function, Make make) {
  Call call(function, nullptr);
  call.passive();
  return make();
}

}  // namespace reprise::mcapi
