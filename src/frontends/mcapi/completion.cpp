// Receives, tests and waits: where runs differ.
#include <cstdlib>

#include "frontends/mcapi/forward.hpp"
#include "frontends/mcapi/messages.hpp"
#include "frontends/mcapi/requests.hpp"
#include "frontends/mcapi/values.hpp"

using namespace reprise::mcapi;

#define REPRISE_CALL(name) Call call(Function::name, __builtin_return_address(0))
#define REPRISE_REAL(name) runtime(Function::name, &mcapi_##name)

namespace {

bool is_still_pending(mcapi_status_t status) { return status == MCAPI_PENDING || status == MCAPI_TIMEOUT || status == MCAPI_ERR_WAIT_PENDING; }

void know_what_was_got(const PendingRequest& request) {
  if (request.kind == PendingRequest::Kind::GetEndpoint) know_endpoint(handle_at(request.buffer), request.name);
}

// A request of a node that is not followed: its message may have a trailer all the same.
void complete_unfollowed(const mcapi_request_t* request, mcapi_status_t& status, std::size_t& size) {
  if (is_still_pending(status) || reprise::engine::mode() == Mode::Passive) return;
  const auto pending = forget_request(request);
  if (!pending) return;
  if (pending->kind == PendingRequest::Kind::Receive) {
    const Delivered message = deliver(*pending, size, status);
    status = message.status;
    size = message.size;
  }
  std::free(pending->memory);
}

void log_status(Call& call, mcapi_status_t status, bool tested) {
  const Lane lane = lane_for_status(status);
  if (tested) Session::get().recorder().shown(lane.code, lane.tag);
  else call.ended(status, MCAPI_SUCCESS);
}

// Recording: the request is complete.
void log_completion(Call& call, const mcapi_request_t* request, mcapi_status_t& status, std::size_t& size, bool tested = false) {
  const auto pending = forget_request(request);
  if (pending && pending->kind == PendingRequest::Kind::Receive && brought_something(status)) {
    const Delivered message = deliver(*pending, size, status);
    status = message.status;
    size = message.size;
    log_message(message, pending->in_order);
    keep_message(pending->buffer, size, status);
  } else {
    log_status(call, status, tested);
    if (pending && status == MCAPI_SUCCESS) {
      know_what_was_got(*pending);
      if (pending->kind == PendingRequest::Kind::ReceivePacket) keep_or_take_packet(static_cast<void**>(pending->buffer), size);
    }
  }
  if (pending) std::free(pending->memory);
}

// Replaying: it is to be complete now, in the way in which it was then. `tested`: what the log said of it first, of a test.
mcapi_status_t complete(Call& call, mcapi_request_t* request, std::size_t* size, const std::optional<Lane>& tested = std::nullopt) {
  const auto pending = forget_request(request);
  const auto said = tested ? status_in(*tested) : call.forced_status();
  if (said && *said != MCAPI_SUCCESS) return *said;  // its memory stays: the runtime may still use it
  std::size_t got = 0;
  mcapi_status_t status = MCAPI_SUCCESS;
  if (pending && pending->kind == PendingRequest::Kind::Receive) {
    status = tested ? take_message(*tested, pending->endpoint, pending->buffer, pending->size, got)
                    : take_message(pending->endpoint, pending->buffer, pending->size, got);
  } else if (t_simulated) {
    if (pending && pending->kind == PendingRequest::Kind::GetEndpoint)
      put_handle(pending->buffer, made_up_endpoint(pending->name));
    if (pending && pending->kind == PendingRequest::Kind::ReceivePacket) keep_or_take_packet(static_cast<void**>(pending->buffer), got);
    if (pending) know_what_was_got(*pending);
  } else {
    REPRISE_REAL(wait)(request, &got, MCAPI_TIMEOUT_INFINITE, &status);
    status = MCAPI_SUCCESS;  // as it was then
    if (pending) know_what_was_got(*pending);
    if (pending) std::free(pending->memory);
  }
  if (size) *size = got;
  return status;
}

// Replaying: of a test.
Lane said_next() {
  Session& session = Session::get();
  Lane lane;
  session.insist(session.replayer().wildcard(lane));
  return lane;
}

template <class Real, class Handle>
mcapi_uint_t available(Call& call, Real real, Handle handle, mcapi_status_t* status) {
  mcapi_status_t result = MCAPI_SUCCESS;
  if (call.passive()) return real(handle, status);
  call.begin_test(about(handle));
  mcapi_uint_t count = 0;
  if (Call::recording()) {
    count = real(handle, &result);
    const bool told = count > 0 || result != MCAPI_SUCCESS;
    call.tested(told);
    const Lane answer = result == MCAPI_SUCCESS ? lane_for_count(count) : lane_for_status(result);
    if (told) Session::get().recorder().shown(answer.code, answer.tag);
  } else if (call.must_succeed()) {
    const Lane answer = said_next();
    result = status_in(answer).value_or(MCAPI_SUCCESS);
    count = count_in(answer);
  }
  call.end();
  give(status, result);
  return count;
}

}  // namespace

void mcapi_msg_recv(mcapi_endpoint_t endpoint, void* buffer, size_t size, size_t* received, mcapi_status_t* status) {
  REPRISE_CALL(msg_recv);
  mcapi_status_t result = MCAPI_ERR_GENERAL;
  std::size_t got = 0;
  if (call.passive()) {
    if (call.nested()) return REPRISE_REAL(msg_recv)(endpoint, buffer, size, received, status);
    const Delivered message = receive_message(endpoint, buffer, size);
    if (received) *received = message.size;
    return give(status, message.status);
  }
  call.begin(about(endpoint, size));
  if (Call::recording()) {
    const Delivered message = receive_message(endpoint, buffer, size);
    result = message.status;
    got = message.size;
    if (brought_something(result)) {
      log_message(message, !has_posted_receives(endpoint));
      keep_message(buffer, got, result);
    } else {
      call.ended(result, MCAPI_SUCCESS);
    }
  } else if (const auto forced = call.forced_status()) {
    result = *forced;
  } else {
    result = take_message(endpoint, buffer, size, got);
  }
  call.end();
  if (received) *received = got;
  give(status, result);
}

// In a replay nothing is posted: the message is taken when the request was complete.
void mcapi_msg_recv_i(mcapi_endpoint_t endpoint, void* buffer, size_t size, mcapi_request_t* request, mcapi_status_t* status) {
  REPRISE_CALL(msg_recv_i);
  mcapi_status_t result = MCAPI_ERR_GENERAL;
  PendingRequest pending{PendingRequest::Kind::Receive, endpoint, buffer, size, {}, nullptr, true};
  if (call.passive()) {
    if (call.nested()) return REPRISE_REAL(msg_recv_i)(endpoint, buffer, size, request, status);
    pending.memory = post_receive(endpoint, buffer, size, request, &result);
    if (pending.memory) remember_request(request, pending);
    return give(status, result);
  }
  call.begin(about(endpoint, size));
  if (Call::recording()) {
    pending.memory = post_receive(endpoint, buffer, size, request, &result);
    call.ended(result, MCAPI_PENDING);
  } else {
    result = call.forced_status().value_or(MCAPI_PENDING);
  }
  if (result == MCAPI_PENDING || result == MCAPI_SUCCESS) remember_request(request, pending);
  call.end();
  give(status, result);
}

mcapi_uint_t mcapi_msg_available(mcapi_endpoint_t endpoint, mcapi_status_t* status) {
  REPRISE_CALL(msg_available);
  return available(call, REPRISE_REAL(msg_available), endpoint, status);
}
mcapi_uint_t mcapi_pktchan_available(mcapi_pktchan_recv_hndl_t handle, mcapi_status_t* status) {
  REPRISE_CALL(pktchan_available);
  return available(call, REPRISE_REAL(pktchan_available), handle, status);
}
mcapi_uint_t mcapi_sclchan_available(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status) {
  REPRISE_CALL(sclchan_available);
  return available(call, REPRISE_REAL(sclchan_available), handle, status);
}

mcapi_boolean_t mcapi_test(mcapi_request_t* request, size_t* size, mcapi_status_t* status) {
  REPRISE_CALL(test);
  mcapi_status_t result = MCAPI_PENDING;
  std::size_t got = 0;
  if (call.passive()) {
    if (call.nested()) return REPRISE_REAL(test)(request, size, status);
    REPRISE_REAL(test)(request, &got, &result);
    complete_unfollowed(request, result, got);
    if (size && result != MCAPI_PENDING) *size = got;
    give(status, result);
    return result == MCAPI_SUCCESS ? MCAPI_TRUE : MCAPI_FALSE;
  }
  call.begin_test({});
  if (Call::recording()) {
    REPRISE_REAL(test)(request, &got, &result);
    call.tested(result != MCAPI_PENDING);
    if (result != MCAPI_PENDING) log_completion(call, request, result, got, true);
    if (size && result != MCAPI_PENDING) *size = got;
  } else if (call.must_succeed()) {
    result = complete(call, request, size, said_next());
  }
  call.end();
  give(status, result);
  return result == MCAPI_SUCCESS ? MCAPI_TRUE : MCAPI_FALSE;
}

mcapi_boolean_t mcapi_wait(mcapi_request_t* request, size_t* size, mcapi_timeout_t timeout, mcapi_status_t* status) {
  REPRISE_CALL(wait);
  mcapi_status_t result = MCAPI_ERR_GENERAL;
  std::size_t got = 0;
  if (call.passive()) {
    if (call.nested()) return REPRISE_REAL(wait)(request, size, timeout, status);
    REPRISE_REAL(wait)(request, &got, timeout, &result);
    complete_unfollowed(request, result, got);
    if (size && brought_something(result)) *size = got;
    give(status, result);
    return result == MCAPI_SUCCESS ? MCAPI_TRUE : MCAPI_FALSE;
  }
  call.begin({0, 0, 0, timeout});
  if (Call::recording()) {
    REPRISE_REAL(wait)(request, &got, timeout, &result);
    if (is_still_pending(result)) call.ended(result, MCAPI_SUCCESS);
    else log_completion(call, request, result, got);
    if (size && brought_something(result)) *size = got;
  } else if (const auto forced = call.forced_status()) {
    result = *forced;
    if (!is_still_pending(result)) forget_request(request);
  } else {
    result = complete(call, request, size);
  }
  call.end();
  give(status, result);
  return result == MCAPI_SUCCESS ? MCAPI_TRUE : MCAPI_FALSE;
}

mcapi_uint_t mcapi_wait_any(size_t count, mcapi_request_t** requests, size_t* size, mcapi_timeout_t timeout, mcapi_status_t* status) {
  REPRISE_CALL(wait_any);
  mcapi_status_t result = MCAPI_ERR_GENERAL;
  mcapi_uint_t which = MCAPI_RETURN_VALUE_INVALID;
  std::size_t got = 0;
  if (call.passive()) {
    if (call.nested()) return REPRISE_REAL(wait_any)(count, requests, size, timeout, status);
    which = REPRISE_REAL(wait_any)(count, requests, &got, timeout, &result);
    if (which < count) complete_unfollowed(requests[which], result, got);
    if (size && which < count) *size = got;
    give(status, result);
    return which;
  }
  call.begin({0, 0, static_cast<std::int64_t>(count), timeout});
  Session& session = Session::get();
  if (Call::recording()) {
    which = REPRISE_REAL(wait_any)(count, requests, &got, timeout, &result);
    if (which < count) {
      session.recorder().indices(std::span<const mcapi_uint_t>(&which, 1), false);
      log_completion(call, requests[which], result, got);
    } else {
      call.number(result);
    }
    if (size && which < count) *size = got;
  } else if (const auto forced = call.forced_status()) {
    result = *forced;
  } else {
    std::vector<std::uint32_t> list;
    bool undefined = false;
    session.insist(session.replayer().indices(list, undefined));
    if (list.size() != 1 || list[0] >= count) session.insist(session.replayer().mismatch("the recorded call had more requests"));
    which = list[0];
    result = complete(call, requests[which], size);
  }
  call.end();
  give(status, result);
  return which;
}

// A receive that was not posted has nothing to be cancelled; how it ended is in the log.
void mcapi_cancel(mcapi_request_t* request, mcapi_status_t* status) {
  REPRISE_CALL(cancel);
  mcapi_status_t result = MCAPI_SUCCESS;
  if (call.passive()) {
    REPRISE_REAL(cancel)(request, status);
    return;
  }
  call.begin({});
  if (Call::recording()) {
    REPRISE_REAL(cancel)(request, &result);
    call.ended(result, MCAPI_SUCCESS);
  } else {
    result = call.forced_status().value_or(MCAPI_SUCCESS);
    const auto pending = known_request(request);
    if (result == MCAPI_SUCCESS && !t_simulated && pending && pending->kind != PendingRequest::Kind::Receive) {
      mcapi_status_t ignored;
      REPRISE_REAL(cancel)(request, &ignored);
    }
  }
  call.end();
  give(status, result);
}
