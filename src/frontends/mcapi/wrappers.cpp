// Nodes, endpoints, sends and channels.
#include <ctime>

#include "frontends/mcapi/forward.hpp"
#include "frontends/mcapi/messages.hpp"
#include "frontends/mcapi/process.hpp"
#include "frontends/mcapi/requests.hpp"
#include "frontends/mcapi/values.hpp"

using namespace reprise::mcapi;

#define REPRISE_CALL(name) Call call(Function::name, __builtin_return_address(0))
#define REPRISE_REAL(name) runtime(Function::name, &mcapi_##name)

namespace {

void remember(const Call& call, const mcapi_request_t* request, mcapi_status_t status, const PendingRequest& pending = {}) {
  if (!call.nested() && (status == MCAPI_PENDING || status == MCAPI_SUCCESS)) remember_request(request, pending);
}

}  // namespace

void mcapi_initialize(mcapi_domain_t domain, mcapi_node_t node, const mcapi_node_attributes_t* attributes, const mcapi_param_t* parameters,
                      mcapi_info_t* info, mcapi_status_t* status) {
  REPRISE_CALL(initialize);
  become_rank(domain, node);
  const mcapi_status_t result = forward(
      call, {domain, node, 0, 0}, MCAPI_SUCCESS, status,
      [&](mcapi_status_t* s) { REPRISE_REAL(initialize)(domain, node, attributes, parameters, info, s); }, Alone::Made);
  if (result == MCAPI_SUCCESS) is_node_now(domain, node);
}

void mcapi_finalize(mcapi_status_t* status) {
  REPRISE_CALL(finalize);
  forward(call, {}, MCAPI_SUCCESS, status, [&](mcapi_status_t* s) { REPRISE_REAL(finalize)(s); }, Alone::Made);
}

mcapi_domain_t mcapi_domain_id_get(mcapi_status_t* status) {
  return pass(Function::domain_id_get, [&] { return REPRISE_REAL(domain_id_get)(status); });
}
mcapi_node_t mcapi_node_id_get(mcapi_status_t* status) {
  return pass(Function::node_id_get, [&] { return REPRISE_REAL(node_id_get)(status); });
}
void mcapi_node_init_attributes(mcapi_node_attributes_t* attributes, mcapi_status_t* status) {
  pass(Function::node_init_attributes, [&] { REPRISE_REAL(node_init_attributes)(attributes, status); });
}
void mcapi_node_get_attribute(mcapi_domain_t domain, mcapi_node_t node, mcapi_uint_t number, void* value, size_t size,
                              mcapi_status_t* status) {
  REPRISE_CALL(node_get_attribute);
  forward(call, {domain, node, number, static_cast<std::int64_t>(size)}, MCAPI_SUCCESS, status,
          [&](mcapi_status_t* s) { REPRISE_REAL(node_get_attribute)(domain, node, number, value, size, s); });
}
void mcapi_node_set_attribute(mcapi_node_attributes_t* attributes, mcapi_uint_t number, void* value, size_t size,
                              mcapi_status_t* status) {
  pass(Function::node_set_attribute, [&] { REPRISE_REAL(node_set_attribute)(attributes, number, value, size, status); });
}

mcapi_endpoint_t mcapi_endpoint_create(mcapi_port_t port, mcapi_status_t* status) {
  REPRISE_CALL(endpoint_create);
  mcapi_endpoint_t made = 0;
  mcapi_status_t ignored;
  const mcapi_status_t result =
      forward(call, {0, 0, port, 0}, MCAPI_SUCCESS, status, [&](mcapi_status_t* s) { made = REPRISE_REAL(endpoint_create)(port, s); }, Alone::Made);
  const mcapi_port_t name = port == MCAPI_PORT_ANY ? next_any_port() : port;
  if (result == MCAPI_SUCCESS) know_endpoint(made, {REPRISE_REAL(domain_id_get)(&ignored), REPRISE_REAL(node_id_get)(&ignored), name});
  return made;
}

void mcapi_endpoint_get_i(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port, mcapi_endpoint_t* endpoint,
                          mcapi_request_t* request, mcapi_status_t* status) {
  REPRISE_CALL(endpoint_get_i);
  const mcapi_status_t result = forward(call, {domain, node, port, 0}, MCAPI_PENDING, status, [&](mcapi_status_t* s) {
    REPRISE_REAL(endpoint_get_i)(domain, node, port, endpoint, request, s);
  });
  remember(call, request, result, {PendingRequest::Kind::GetEndpoint, 0, endpoint, 0, {domain, node, port}, nullptr, true});
}

// In a replay the owner may be later than it was.
mcapi_endpoint_t mcapi_endpoint_get(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port, mcapi_timeout_t timeout,
                                    mcapi_status_t* status) {
  REPRISE_CALL(endpoint_get);
  mcapi_endpoint_t found = 0;
  const mcapi_status_t result = forward(call, {domain, node, port, timeout}, MCAPI_SUCCESS, status,
                                        [&](mcapi_status_t* s) { found = REPRISE_REAL(endpoint_get)(domain, node, port, timeout, s); });
  if (result == MCAPI_SUCCESS && t_simulated) found = made_up_endpoint({domain, node, port});
  if (result == MCAPI_SUCCESS) know_endpoint(found, {domain, node, port});
  return found;
}

void mcapi_endpoint_release(mcapi_endpoint_t endpoint, mcapi_status_t* status) {
  REPRISE_CALL(endpoint_release);
  forward(call, about(endpoint), MCAPI_SUCCESS, status, [&](mcapi_status_t* s) { REPRISE_REAL(endpoint_release)(endpoint, s); });
}

namespace {

mcapi_uint_t times_got(mcapi_endpoint_t endpoint) {
  mcapi_uint_t gets = 0;
  mcapi_status_t status;
  REPRISE_REAL(endpoint_get_attribute)(endpoint, MCAPI_ENDP_ATTR_GET_COUNT, &gets, sizeof gets, &status);
  return status == MCAPI_SUCCESS ? gets : 0;
}

// Those who had got it before it was deleted must be able to get it again. Not for ever: some may have released it since.
void await_gets(mcapi_endpoint_t endpoint, std::int64_t wanted) {
  for (int i = 0; i < 5000 && times_got(endpoint) < wanted; ++i) {
    const timespec pause{0, 1000000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

void mcapi_endpoint_delete(mcapi_endpoint_t endpoint, mcapi_status_t* status) {
  REPRISE_CALL(endpoint_delete);
  mcapi_status_t result = MCAPI_ERR_GENERAL;
  if (call.passive()) {
    REPRISE_REAL(endpoint_delete)(endpoint, status);
    return;
  }
  call.begin(about(endpoint));
  if (Call::recording()) {
    call.number(times_got(endpoint));
    REPRISE_REAL(endpoint_delete)(endpoint, &result);
    call.ended(result, MCAPI_SUCCESS);
  } else {
    const std::int64_t gets = call.number_if_any().value_or(0);
    if (!t_simulated) await_gets(endpoint, gets);
    drop_messages(endpoint);
    const auto forced = call.forced_status();
    if (!forced) REPRISE_REAL(endpoint_delete)(endpoint, &result);
    result = forced.value_or(MCAPI_SUCCESS);
  }
  call.end();
  give(status, result);
}

// How often it was got and what lies there depends on others.
void mcapi_endpoint_get_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, void* value, size_t size, mcapi_status_t* status) {
  REPRISE_CALL(endpoint_get_attribute);
  mcapi_status_t result = MCAPI_ERR_GENERAL;
  if (call.passive()) {
    REPRISE_REAL(endpoint_get_attribute)(endpoint, number, value, size, status);
    return;
  }
  call.begin(about(endpoint, number));
  if (Call::recording()) {
    REPRISE_REAL(endpoint_get_attribute)(endpoint, number, value, size, &result);
    const bool told = result == MCAPI_SUCCESS;
    call.number(told ? *static_cast<mcapi_uint_t*>(value) : -static_cast<std::int64_t>(result));
  } else {
    const std::int64_t answer = call.number_if_any().value_or(-MCAPI_ERR_GENERAL);
    result = answer < 0 ? static_cast<mcapi_status_t>(-answer) : MCAPI_SUCCESS;
    if (answer >= 0) *static_cast<mcapi_uint_t*>(value) = static_cast<mcapi_uint_t>(answer);
  }
  call.end();
  give(status, result);
}

void mcapi_endpoint_set_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, const void* value, size_t size,
                                  mcapi_status_t* status) {
  REPRISE_CALL(endpoint_set_attribute);
  forward(call, about(endpoint, number), MCAPI_SUCCESS, status,
          [&](mcapi_status_t* s) { REPRISE_REAL(endpoint_set_attribute)(endpoint, number, value, size, s); }, Alone::Made);
}

void mcapi_msg_send(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, size_t size, mcapi_priority_t priority,
                    mcapi_status_t* status) {
  REPRISE_CALL(msg_send);
  forward(call, about(to, size), MCAPI_SUCCESS, status, [&](mcapi_status_t* s) {
    if (call.nested()) REPRISE_REAL(msg_send)(from, to, buffer, size, priority, s);
    else send_message(from, to, buffer, size, priority, s);
  });
}

void mcapi_msg_send_i(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, size_t size, mcapi_priority_t priority,
                      mcapi_request_t* request, mcapi_status_t* status) {
  REPRISE_CALL(msg_send_i);
  PendingRequest pending;
  const mcapi_status_t result = forward(call, about(to, size), MCAPI_PENDING, status, [&](mcapi_status_t* s) {
    if (call.nested()) REPRISE_REAL(msg_send_i)(from, to, buffer, size, priority, request, s);
    else pending.memory = post_send(from, to, buffer, size, priority, request, s);
  });
  remember(call, request, result, pending);
}

// Channels have one sender, so what comes is the same in every run.
#define REPRISE_CONNECT(name)                                                                                                  \
  void mcapi_##name(mcapi_endpoint_t from, mcapi_endpoint_t to, mcapi_request_t* request, mcapi_status_t* status) {              \
    REPRISE_CALL(name);                                                                                                         \
    remember(call, request, forward(call, about(to), MCAPI_PENDING, status, [&](mcapi_status_t* s) { REPRISE_REAL(name)(from, to, request, s); })); \
  }
#define REPRISE_OPEN(name, handle_t)                                                                                           \
  void mcapi_##name(handle_t* handle, mcapi_endpoint_t endpoint, mcapi_request_t* request, mcapi_status_t* status) {             \
    REPRISE_CALL(name);                                                                                                         \
    remember(call, request, forward(call, about(endpoint), MCAPI_PENDING, status, [&](mcapi_status_t* s) { REPRISE_REAL(name)(handle, endpoint, request, s); })); \
    if (t_simulated && handle) put_handle(handle, endpoint);                                                                              \
  }
#define REPRISE_CLOSE(name, handle_t)                                                                                          \
  void mcapi_##name(handle_t handle, mcapi_request_t* request, mcapi_status_t* status) {                                        \
    REPRISE_CALL(name);                                                                                                         \
    remember(call, request, forward(call, {}, MCAPI_PENDING, status, [&](mcapi_status_t* s) { REPRISE_REAL(name)(handle, request, s); })); \
  }
#define REPRISE_SCALAR(width)                                                                                                  \
  void mcapi_sclchan_send_uint##width(mcapi_sclchan_send_hndl_t handle, mcapi_uint##width##_t value, mcapi_status_t* status) {   \
    REPRISE_CALL(sclchan_send_uint##width);                                                                                     \
    forward(call, {}, MCAPI_SUCCESS, status, [&](mcapi_status_t* s) { REPRISE_REAL(sclchan_send_uint##width)(handle, value, s); }); \
  }                                                                                                                             \
  mcapi_uint##width##_t mcapi_sclchan_recv_uint##width(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status) {               \
    REPRISE_CALL(sclchan_recv_uint##width);                                                                                     \
    mcapi_uint##width##_t value = 0;                                                                                            \
    const mcapi_status_t result = forward(call, {}, MCAPI_SUCCESS, status,                                                      \
                                          [&](mcapi_status_t* s) { value = REPRISE_REAL(sclchan_recv_uint##width)(handle, s); }); \
    if (result == MCAPI_SUCCESS) keep_or_take_value(&value, sizeof value);                                                      \
    return value;                                                                                                               \
  }

REPRISE_CONNECT(pktchan_connect_i)
REPRISE_CONNECT(sclchan_connect_i)
REPRISE_OPEN(pktchan_recv_open_i, mcapi_pktchan_recv_hndl_t)
REPRISE_OPEN(pktchan_send_open_i, mcapi_pktchan_send_hndl_t)
REPRISE_OPEN(sclchan_recv_open_i, mcapi_sclchan_recv_hndl_t)
REPRISE_OPEN(sclchan_send_open_i, mcapi_sclchan_send_hndl_t)
REPRISE_CLOSE(pktchan_recv_close_i, mcapi_pktchan_recv_hndl_t)
REPRISE_CLOSE(pktchan_send_close_i, mcapi_pktchan_send_hndl_t)
REPRISE_CLOSE(sclchan_recv_close_i, mcapi_sclchan_recv_hndl_t)
REPRISE_CLOSE(sclchan_send_close_i, mcapi_sclchan_send_hndl_t)
REPRISE_SCALAR(8)
REPRISE_SCALAR(16)
REPRISE_SCALAR(32)
REPRISE_SCALAR(64)

void mcapi_pktchan_send(mcapi_pktchan_send_hndl_t handle, const void* buffer, size_t size, mcapi_status_t* status) {
  REPRISE_CALL(pktchan_send);
  forward(call, {0, 0, 0, static_cast<std::int64_t>(size)}, MCAPI_SUCCESS, status,
          [&](mcapi_status_t* s) { REPRISE_REAL(pktchan_send)(handle, buffer, size, s); });
}
void mcapi_pktchan_send_i(mcapi_pktchan_send_hndl_t handle, const void* buffer, size_t size, mcapi_request_t* request,
                          mcapi_status_t* status) {
  REPRISE_CALL(pktchan_send_i);
  remember(call, request, forward(call, {0, 0, 0, static_cast<std::int64_t>(size)}, MCAPI_PENDING, status,
                            [&](mcapi_status_t* s) { REPRISE_REAL(pktchan_send_i)(handle, buffer, size, request, s); }));
}
void mcapi_pktchan_recv(mcapi_pktchan_recv_hndl_t handle, void** buffer, size_t* received, mcapi_status_t* status) {
  REPRISE_CALL(pktchan_recv);
  std::size_t got = 0;
  const mcapi_status_t result =
      forward(call, {}, MCAPI_SUCCESS, status, [&](mcapi_status_t* s) { REPRISE_REAL(pktchan_recv)(handle, buffer, &got, s); });
  if (result == MCAPI_SUCCESS) keep_or_take_packet(buffer, got);
  if (received && result == MCAPI_SUCCESS) *received = got;
}
void mcapi_pktchan_recv_i(mcapi_pktchan_recv_hndl_t handle, void** buffer, mcapi_request_t* request, mcapi_status_t* status) {
  REPRISE_CALL(pktchan_recv_i);
  remember(call, request, forward(call, {}, MCAPI_PENDING, status, [&](mcapi_status_t* s) { REPRISE_REAL(pktchan_recv_i)(handle, buffer, request, s); }),
           {PendingRequest::Kind::ReceivePacket, 0, buffer, 0, {}, nullptr, true});
}
void mcapi_pktchan_release(void* buffer, mcapi_status_t* status) {
  if (t_simulated) {
    give(status, free_made_up_packet(buffer) ? MCAPI_SUCCESS : MCAPI_ERR_BUF_INVALID);
    return;
  }
  pass(Function::pktchan_release, [&] { REPRISE_REAL(pktchan_release)(buffer, status); });
}
mcapi_boolean_t mcapi_pktchan_release_test(void* buffer, mcapi_status_t* status) {
  return pass(Function::pktchan_release_test, [&] { return REPRISE_REAL(pktchan_release_test)(buffer, status); });
}
