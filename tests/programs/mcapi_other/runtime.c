/* That other MCAPI is our own, behind other types. */
#define _GNU_SOURCE
#include <mcapi.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t endpoints[MOST];
static uint32_t known;

/* Of an endpoint's handle, what the program gets: numbers from 0 in each process. */
static mcapi_endpoint_t narrow(uint64_t endpoint) {
  uint32_t i = 0;
  pthread_mutex_lock(&lock);
  while (i < known && endpoints[i] != endpoint) ++i;
  if (i == known && known < MOST) endpoints[known++] = endpoint;
  pthread_mutex_unlock(&lock);
  return i;
}
static uint64_t wide(mcapi_endpoint_t endpoint) { return endpoint < known ? endpoints[endpoint] : ~(uint64_t)0; }

static void* real(const char* name) {
  static void* library;
  if (!library) library = dlopen(REAL_MCAPI, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  void* const found = library ? dlsym(library, name) : NULL;
  if (!found) {
    fprintf(stderr, "%s: %s\n", name, dlerror());
    abort();
  }
  return found;
}
#define REAL(result, name, ...) ((result(*)(__VA_ARGS__))real("mcapi_" #name))
typedef mcapi_status_t* status_t;

void mcapi_initialize(mcapi_domain_t domain, mcapi_node_t node, const mcapi_node_attributes_t* attributes, const mcapi_param_t* parameters,
                      mcapi_info_t* info, mcapi_status_t* status) {
  (void)attributes, (void)parameters, (void)info;
  REAL(void, initialize, mcapi_domain_t, mcapi_node_t, void*, void*, void*, status_t)(domain, node, NULL, NULL, NULL, status);
}
void mcapi_finalize(mcapi_status_t* status) { REAL(void, finalize, status_t)(status); }
mcapi_domain_t mcapi_domain_id_get(mcapi_status_t* status) { return REAL(mcapi_domain_t, domain_id_get, status_t)(status); }
mcapi_node_t mcapi_node_id_get(mcapi_status_t* status) { return REAL(mcapi_node_t, node_id_get, status_t)(status); }

mcapi_endpoint_t mcapi_endpoint_create(mcapi_port_t port, mcapi_status_t* status) {
  return narrow(REAL(uint64_t, endpoint_create, mcapi_port_t, status_t)(port, status));
}
mcapi_endpoint_t mcapi_endpoint_get(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port, mcapi_timeout_t timeout, mcapi_status_t* status) {
  return narrow(REAL(uint64_t, endpoint_get, mcapi_domain_t, mcapi_node_t, mcapi_port_t, mcapi_timeout_t, status_t)(domain, node, port, timeout, status));
}
/* Complete at once. */
void mcapi_endpoint_get_i(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port, mcapi_endpoint_t* endpoint, mcapi_request_t* request,
                          mcapi_status_t* status) {
  uint64_t found = 0;
  REAL(void, endpoint_get_i, mcapi_domain_t, mcapi_node_t, mcapi_port_t, uint64_t*, uint64_t*, status_t)(domain, node, port, &found, &request->real, status);
  size_t size;
  mcapi_status_t waited;
  REAL(mcapi_boolean_t, wait, uint64_t*, size_t*, mcapi_timeout_t, status_t)(&request->real, &size, MCAPI_TIMEOUT_INFINITE, &waited);
  request->real = 0;
  *endpoint = narrow(found);
}
void mcapi_endpoint_delete(mcapi_endpoint_t endpoint, mcapi_status_t* status) { REAL(void, endpoint_delete, uint64_t, status_t)(wide(endpoint), status); }
void mcapi_endpoint_get_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, void* value, size_t size, mcapi_status_t* status) {
  REAL(void, endpoint_get_attribute, uint64_t, mcapi_uint_t, void*, size_t, status_t)(wide(endpoint), number, value, size, status);
}

void mcapi_msg_send(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* bytes, size_t size, mcapi_priority_t priority, mcapi_status_t* status) {
  REAL(void, msg_send, uint64_t, uint64_t, const void*, size_t, mcapi_priority_t, status_t)(wide(from), wide(to), bytes, size, priority, status);
}
void mcapi_msg_send_i(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* bytes, size_t size, mcapi_priority_t priority, mcapi_request_t* request,
                      mcapi_status_t* status) {
  REAL(void, msg_send_i, uint64_t, uint64_t, const void*, size_t, mcapi_priority_t, uint64_t*, status_t)
  (wide(from), wide(to), bytes, size, priority, &request->real, status);
}
void mcapi_msg_recv(mcapi_endpoint_t at, void* bytes, size_t size, size_t* received, mcapi_status_t* status) {
  REAL(void, msg_recv, uint64_t, void*, size_t, size_t*, status_t)(wide(at), bytes, size, received, status);
}
void mcapi_msg_recv_i(mcapi_endpoint_t at, void* bytes, size_t size, mcapi_request_t* request, mcapi_status_t* status) {
  REAL(void, msg_recv_i, uint64_t, void*, size_t, uint64_t*, status_t)(wide(at), bytes, size, &request->real, status);
}
mcapi_uint_t mcapi_msg_available(mcapi_endpoint_t at, mcapi_status_t* status) { return REAL(mcapi_uint_t, msg_available, uint64_t, status_t)(wide(at), status); }

static mcapi_boolean_t is_done(mcapi_request_t* request, mcapi_status_t* status) {
  if (request->real != 0) return 0;
  *status = MCAPI_SUCCESS;
  return 1;
}
mcapi_boolean_t mcapi_test(mcapi_request_t* request, size_t* size, mcapi_status_t* status) {
  if (is_done(request, status)) return 1;
  return REAL(mcapi_boolean_t, test, uint64_t*, size_t*, status_t)(&request->real, size, status);
}
mcapi_boolean_t mcapi_wait(mcapi_request_t* request, size_t* size, mcapi_timeout_t timeout, mcapi_status_t* status) {
  if (is_done(request, status)) return 1;
  return REAL(mcapi_boolean_t, wait, uint64_t*, size_t*, mcapi_timeout_t, status_t)(&request->real, size, timeout, status);
}
mcapi_uint_t mcapi_wait_any(size_t count, mcapi_request_t** requests, size_t* size, mcapi_timeout_t timeout, mcapi_status_t* status) {
  uint64_t* list[64];
  for (size_t i = 0; i < count && i < 64; ++i) list[i] = &requests[i]->real;
  return REAL(mcapi_uint_t, wait_any, size_t, uint64_t**, size_t*, mcapi_timeout_t, status_t)(count, list, size, timeout, status);
}
char* mcapi_display_status(mcapi_status_t status, char* text, size_t size) {
  return REAL(char*, display_status, mcapi_status_t, char*, size_t)(status, text, size);
}
