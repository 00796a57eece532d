/* The names of MCAPI 1.063, for programs that were written for it: a node has no domain (it is 0), and some functions have
 * other names. Include this instead of mcapi.h. */
#ifndef MCAPI_1063_H
#define MCAPI_1063_H

#include <mcapi.h>

typedef int mcapi_version_t;

/* A nonblocking call that has begun was a success then. */
static inline void mcapi_1063_begun(mcapi_status_t* status) {
  if (status && *status == MCAPI_PENDING) *status = MCAPI_SUCCESS;
}

static inline void mcapi_1063_initialize(mcapi_node_t node, mcapi_version_t* version, mcapi_status_t* status) {
  if (version) *version = 1063;
  mcapi_initialize(0, node, NULL, NULL, NULL, status);
}
static inline mcapi_endpoint_t mcapi_create_endpoint(mcapi_port_t port, mcapi_status_t* status) {
  return mcapi_endpoint_create(port, status);
}
static inline mcapi_endpoint_t mcapi_get_endpoint(mcapi_node_t node, mcapi_port_t port, mcapi_status_t* status) {
  return mcapi_endpoint_get(0, node, port, MCAPI_TIMEOUT_INFINITE, status);
}
static inline void mcapi_get_endpoint_i(mcapi_node_t node, mcapi_port_t port, mcapi_endpoint_t* endpoint,
                                        mcapi_request_t* request, mcapi_status_t* status) {
  mcapi_endpoint_get_i(0, node, port, endpoint, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_delete_endpoint(mcapi_endpoint_t endpoint, mcapi_status_t* status) {
  mcapi_endpoint_delete(endpoint, status);
}
static inline void mcapi_get_endpoint_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, void* value, size_t size,
                                                mcapi_status_t* status) {
  mcapi_endpoint_get_attribute(endpoint, number, value, size, status);
}
static inline void mcapi_set_endpoint_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, const void* value, size_t size,
                                                mcapi_status_t* status) {
  mcapi_endpoint_set_attribute(endpoint, number, value, size, status);
}
static inline mcapi_node_t mcapi_get_node_id(mcapi_status_t* status) { return mcapi_node_id_get(status); }
static inline void mcapi_connect_pktchan_i(mcapi_endpoint_t from, mcapi_endpoint_t to, mcapi_request_t* request,
                                           mcapi_status_t* status) {
  mcapi_pktchan_connect_i(from, to, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_connect_sclchan_i(mcapi_endpoint_t from, mcapi_endpoint_t to, mcapi_request_t* request,
                                           mcapi_status_t* status) {
  mcapi_sclchan_connect_i(from, to, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_open_pktchan_recv_i(mcapi_pktchan_recv_hndl_t* handle, mcapi_endpoint_t at, mcapi_request_t* request,
                                             mcapi_status_t* status) {
  mcapi_pktchan_recv_open_i(handle, at, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_open_pktchan_send_i(mcapi_pktchan_send_hndl_t* handle, mcapi_endpoint_t from, mcapi_request_t* request,
                                             mcapi_status_t* status) {
  mcapi_pktchan_send_open_i(handle, from, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_open_sclchan_recv_i(mcapi_sclchan_recv_hndl_t* handle, mcapi_endpoint_t at, mcapi_request_t* request,
                                             mcapi_status_t* status) {
  mcapi_sclchan_recv_open_i(handle, at, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_open_sclchan_send_i(mcapi_sclchan_send_hndl_t* handle, mcapi_endpoint_t from, mcapi_request_t* request,
                                             mcapi_status_t* status) {
  mcapi_sclchan_send_open_i(handle, from, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_packetchan_recv_close_i(mcapi_pktchan_recv_hndl_t handle, mcapi_request_t* request,
                                                 mcapi_status_t* status) {
  mcapi_pktchan_recv_close_i(handle, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_packetchan_send_close_i(mcapi_pktchan_send_hndl_t handle, mcapi_request_t* request,
                                                 mcapi_status_t* status) {
  mcapi_pktchan_send_close_i(handle, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_pktchan_free(void* buffer, mcapi_status_t* status) { mcapi_pktchan_release(buffer, status); }
static inline mcapi_boolean_t mcapi_1063_wait(mcapi_request_t* request, size_t* size, mcapi_status_t* status,
                                              mcapi_timeout_t timeout) {
  return mcapi_wait(request, size, timeout, status);
}
static inline mcapi_int_t mcapi_1063_wait_any(size_t count, mcapi_request_t** requests, size_t* size, mcapi_timeout_t timeout,
                                              mcapi_status_t* status) {
  return (mcapi_int_t)mcapi_wait_any(count, requests, size, timeout, status);
}
static inline void mcapi_1063_msg_send_i(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, size_t size,
                                         mcapi_priority_t priority, mcapi_request_t* request,
                                         mcapi_status_t* status) {
  mcapi_msg_send_i(from, to, buffer, size, priority, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_1063_msg_recv_i(mcapi_endpoint_t at, void* buffer, size_t size, mcapi_request_t* request,
                                         mcapi_status_t* status) {
  mcapi_msg_recv_i(at, buffer, size, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_1063_pktchan_send_i(mcapi_pktchan_send_hndl_t handle, const void* buffer, size_t size, mcapi_request_t* request,
                                         mcapi_status_t* status) {
  mcapi_pktchan_send_i(handle, buffer, size, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_1063_pktchan_recv_i(mcapi_pktchan_recv_hndl_t handle, void** buffer, mcapi_request_t* request,
                                         mcapi_status_t* status) {
  mcapi_pktchan_recv_i(handle, buffer, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_1063_sclchan_recv_close_i(mcapi_sclchan_recv_hndl_t handle, mcapi_request_t* request,
                                         mcapi_status_t* status) {
  mcapi_sclchan_recv_close_i(handle, request, status);
  mcapi_1063_begun(status);
}
static inline void mcapi_1063_sclchan_send_close_i(mcapi_sclchan_send_hndl_t handle, mcapi_request_t* request,
                                         mcapi_status_t* status) {
  mcapi_sclchan_send_close_i(handle, request, status);
  mcapi_1063_begun(status);
}

/* A tool may have put its own in their place. */
#undef mcapi_initialize
#undef mcapi_wait
#undef mcapi_wait_any
#undef mcapi_msg_send_i
#undef mcapi_msg_recv_i
#undef mcapi_pktchan_send_i
#undef mcapi_pktchan_recv_i
#undef mcapi_sclchan_recv_close_i
#undef mcapi_sclchan_send_close_i
#define mcapi_initialize mcapi_1063_initialize
#define mcapi_wait mcapi_1063_wait
#define mcapi_wait_any mcapi_1063_wait_any
#define mcapi_msg_send_i mcapi_1063_msg_send_i
#define mcapi_msg_recv_i mcapi_1063_msg_recv_i
#define mcapi_pktchan_send_i mcapi_1063_pktchan_send_i
#define mcapi_pktchan_recv_i mcapi_1063_pktchan_recv_i
#define mcapi_sclchan_recv_close_i mcapi_1063_sclchan_recv_close_i
#define mcapi_sclchan_send_close_i mcapi_1063_sclchan_send_close_i

#endif
