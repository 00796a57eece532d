/* Not of the standard: where a message came from. MCAPI does not say, and tools want to know. */
#ifndef MCAPI_ORIGIN_H
#define MCAPI_ORIGIN_H

#include <mcapi.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  mcapi_domain_t domain;
  mcapi_node_t node;
  mcapi_port_t port;
  mcapi_priority_t priority;
  mcapi_uint64_t number; /* of what this endpoint has sent, counted from 1 */
} mcapi_origin_t;

/* Of the last message, packet or scalar that a call of this thread has brought (a receive, or the test or wait that completed
 * one). MCAPI_FALSE: there was none. */
mcapi_boolean_t mcapi_origin_get(mcapi_origin_t* origin);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
