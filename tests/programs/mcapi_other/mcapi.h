/* Another MCAPI, for tests: endpoints are 32 bits wide and may be 0, requests are structures, and nobody says where a message came from.
 * It has messages, but no channels. */
#ifndef OTHER_MCAPI_H
#define OTHER_MCAPI_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t mcapi_domain_t;
typedef uint32_t mcapi_node_t;
typedef uint32_t mcapi_port_t;
typedef uint32_t mcapi_endpoint_t;
typedef uint32_t mcapi_timeout_t;
typedef uint32_t mcapi_priority_t;
typedef uint32_t mcapi_param_t;
typedef unsigned int mcapi_uint_t;
typedef unsigned char mcapi_boolean_t;
typedef struct {
  char before[12];
  uint64_t real;
  char after[4];
} mcapi_request_t;
typedef struct mcapi_node_attributes mcapi_node_attributes_t;
typedef struct mcapi_info mcapi_info_t;
typedef int mcapi_status_t;
enum { MCAPI_SUCCESS = 1, MCAPI_PENDING, MCAPI_TIMEOUT };

#define MCAPI_PORT_ANY ((mcapi_port_t)~0u)
#define MCAPI_TIMEOUT_INFINITE ((mcapi_timeout_t)~0u)
#define MCAPI_MAX_STATUS_SIZE 64

void mcapi_initialize(mcapi_domain_t, mcapi_node_t, const mcapi_node_attributes_t*, const mcapi_param_t*, mcapi_info_t*, mcapi_status_t*);
void mcapi_finalize(mcapi_status_t*);
mcapi_domain_t mcapi_domain_id_get(mcapi_status_t*);
mcapi_node_t mcapi_node_id_get(mcapi_status_t*);
mcapi_endpoint_t mcapi_endpoint_create(mcapi_port_t, mcapi_status_t*);
mcapi_endpoint_t mcapi_endpoint_get(mcapi_domain_t, mcapi_node_t, mcapi_port_t, mcapi_timeout_t, mcapi_status_t*);
void mcapi_endpoint_get_i(mcapi_domain_t, mcapi_node_t, mcapi_port_t, mcapi_endpoint_t*, mcapi_request_t*, mcapi_status_t*);
void mcapi_endpoint_delete(mcapi_endpoint_t, mcapi_status_t*);
void mcapi_endpoint_get_attribute(mcapi_endpoint_t, mcapi_uint_t, void*, size_t, mcapi_status_t*);
void mcapi_msg_send(mcapi_endpoint_t, mcapi_endpoint_t, const void*, size_t, mcapi_priority_t, mcapi_status_t*);
void mcapi_msg_send_i(mcapi_endpoint_t, mcapi_endpoint_t, const void*, size_t, mcapi_priority_t, mcapi_request_t*, mcapi_status_t*);
void mcapi_msg_recv(mcapi_endpoint_t, void*, size_t, size_t*, mcapi_status_t*);
void mcapi_msg_recv_i(mcapi_endpoint_t, void*, size_t, mcapi_request_t*, mcapi_status_t*);
mcapi_uint_t mcapi_msg_available(mcapi_endpoint_t, mcapi_status_t*);
mcapi_boolean_t mcapi_test(mcapi_request_t*, size_t*, mcapi_status_t*);
mcapi_boolean_t mcapi_wait(mcapi_request_t*, size_t*, mcapi_timeout_t, mcapi_status_t*);
mcapi_uint_t mcapi_wait_any(size_t, mcapi_request_t**, size_t*, mcapi_timeout_t, mcapi_status_t*);
char* mcapi_display_status(mcapi_status_t, char*, size_t);

#endif
