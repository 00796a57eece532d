/* MCAPI 2.015, the Multicore Association's message API for cores on a chip and chips on a board.
 *
 * A node is a process, or a thread of one. Nodes that are to talk to each other are in the same universe: the environment
 * variable MCAPI_UNIVERSE names it, and without it there is one for each user. */
#ifndef MCAPI_H
#define MCAPI_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define MCAPI_VERSION 2015

#define MCAPI_IN const
#define MCAPI_OUT
#define MCAPI_TRUE 1
#define MCAPI_FALSE 0
#define MCAPI_NULL NULL

typedef int mcapi_int_t;
typedef int8_t mcapi_int8_t;
typedef int16_t mcapi_int16_t;
typedef int32_t mcapi_int32_t;
typedef int64_t mcapi_int64_t;
typedef unsigned int mcapi_uint_t;
typedef uint8_t mcapi_uint8_t;
typedef uint16_t mcapi_uint16_t;
typedef uint32_t mcapi_uint32_t;
typedef uint64_t mcapi_uint64_t;
typedef unsigned char mcapi_boolean_t;

typedef uint32_t mcapi_domain_t;
typedef uint32_t mcapi_node_t;
typedef uint32_t mcapi_port_t;
typedef uint64_t mcapi_endpoint_t;
typedef uint64_t mcapi_request_t;
typedef uint32_t mcapi_timeout_t; /* milliseconds */
typedef uint32_t mcapi_priority_t;
typedef uint64_t mcapi_pktchan_recv_hndl_t;
typedef uint64_t mcapi_pktchan_send_hndl_t;
typedef uint64_t mcapi_sclchan_recv_hndl_t;
typedef uint64_t mcapi_sclchan_send_hndl_t;
typedef uint32_t mcapi_param_t;

typedef struct {
  mcapi_uint_t type; /* MCAPI_NODE_ATTR_TYPE */
  mcapi_uint_t reserved[7];
} mcapi_node_attributes_t;

typedef struct {
  mcapi_uint_t mcapi_version;          /* MCAPI_VERSION */
  mcapi_uint_t organization_id;        /* of this runtime: MCAPI_ORGANIZATION_ID */
  mcapi_uint_t implementation_version; /* of this runtime */
  mcapi_uint_t number_of_domains;
  mcapi_uint_t number_of_nodes; /* in each domain */
  mcapi_uint_t number_of_ports; /* of each node */
} mcapi_info_t;

#define MCAPI_ORGANIZATION_ID 0x5250u

#define MCAPI_PORT_ANY ((mcapi_port_t)~0u)
#define MCAPI_TIMEOUT_INFINITE ((mcapi_timeout_t)~0u)
#define MCAPI_TIMEOUT_IMMEDIATE ((mcapi_timeout_t)0)
#define MCAPI_NODE_INVALID ((mcapi_node_t)~0u)
#define MCAPI_DOMAIN_INVALID ((mcapi_domain_t)~0u)
#define MCAPI_RETURN_VALUE_INVALID ((mcapi_uint_t)~0u)

/* Limits of this runtime. */
#define MCAPI_MAX_DOMAIN 0xffffu
#define MCAPI_MAX_NODE 0xfffffu
#define MCAPI_MAX_PORT 0xfffffu
#define MCAPI_MAX_MSG_SIZE 65536
#define MCAPI_MAX_PKT_SIZE 65536
#define MCAPI_MAX_PRIORITIES 8 /* 0 is the highest */
#define MCAPI_MAX_STATUS_SIZE 64

typedef enum {
  MCAPI_SUCCESS = 1,
  MCAPI_PENDING,
  MCAPI_TIMEOUT,
  MCAPI_ERR_PARAMETER,
  MCAPI_ERR_DOMAIN_INVALID,
  MCAPI_ERR_NODE_INVALID,
  MCAPI_ERR_NODE_INITFAILED,
  MCAPI_ERR_NODE_INITIALIZED,
  MCAPI_ERR_NODE_NOTINIT,
  MCAPI_ERR_NODE_FINALFAILED,
  MCAPI_ERR_PORT_INVALID,
  MCAPI_ERR_ENDP_INVALID,
  MCAPI_ERR_ENDP_EXISTS,
  MCAPI_ERR_ENDP_GET_LIMIT,
  MCAPI_ERR_ENDP_DELETED,
  MCAPI_ERR_ENDP_NOTOWNER,
  MCAPI_ERR_ENDP_REMOTE,
  MCAPI_ERR_ATTR_INCOMPATIBLE,
  MCAPI_ERR_ATTR_SIZE,
  MCAPI_ERR_ATTR_NUM,
  MCAPI_ERR_ATTR_VALUE,
  MCAPI_ERR_ATTR_NOTSUPPORTED,
  MCAPI_ERR_ATTR_READONLY,
  MCAPI_ERR_MSG_LIMIT,
  MCAPI_ERR_MSG_TRUNCATED,
  MCAPI_ERR_CHAN_OPEN,
  MCAPI_ERR_CHAN_TYPE,
  MCAPI_ERR_CHAN_DIRECTION,
  MCAPI_ERR_CHAN_CONNECTED,
  MCAPI_ERR_CHAN_OPENPENDING,
  MCAPI_ERR_CHAN_CLOSEPENDING,
  MCAPI_ERR_CHAN_NOTOPEN,
  MCAPI_ERR_CHAN_INVALID,
  MCAPI_ERR_PKT_SIZE,
  MCAPI_ERR_TRANSMISSION,
  MCAPI_ERR_PRIORITY,
  MCAPI_ERR_BUF_INVALID,
  MCAPI_ERR_MEM_LIMIT,
  MCAPI_ERR_REQUEST_INVALID,
  MCAPI_ERR_REQUEST_LIMIT,
  MCAPI_ERR_REQUEST_CANCELLED,
  MCAPI_ERR_WAIT_PENDING,
  MCAPI_ERR_GENERAL
} mcapi_status_t;

/* Attributes of nodes: an mcapi_uint_t each. */
enum { MCAPI_NODE_ATTR_TYPE };
enum { MCAPI_NODE_ATTR_TYPE_REGULAR };

/* Attributes of endpoints: an mcapi_uint_t each, unless it says something else. Those that can be set are set by the owner, before
 * the endpoint is connected. */
enum {
  MCAPI_ENDP_ATTR_TYPE,             /* of the channel: MCAPI_ENDP_ATTR_TYPE_MESSAGE, ...; read-only */
  MCAPI_ENDP_ATTR_GET_COUNT,        /* how often others have got it; read-only */
  MCAPI_ENDP_ATTR_GET_SOURCE,       /* MCAPI_TRUE: it was got, MCAPI_FALSE: created here; read-only */
  MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE, /* of a message or packet */
  MCAPI_ENDP_ATTR_BUFFER_TYPE,      /* MCAPI_ENDP_ATTR_FIFO_BUFFER */
  MCAPI_ENDP_ATTR_MEMORY_TYPE,      /* of a sender: MCAPI_ENDP_ATTR_BLOCK or _FAIL where there is no room */
  MCAPI_ENDP_ATTR_NUM_PRIORITIES,   /* up to MCAPI_MAX_PRIORITIES */
  MCAPI_ENDP_ATTR_PRIORITY,         /* of what a channel sends */
  MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS, /* sends that may be pending */
  MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS, /* what may lie here before senders have to wait */
  MCAPI_ENDP_ATTR_STATUS,           /* of the channel: bits MCAPI_ENDP_STATUS_...; read-only */
  MCAPI_ENDP_ATTR_TIMEOUT           /* mcapi_timeout_t, of blocking sends and receives */
};
enum { MCAPI_ENDP_ATTR_TYPE_MESSAGE, MCAPI_ENDP_ATTR_TYPE_PACKET, MCAPI_ENDP_ATTR_TYPE_SCALAR };
enum { MCAPI_ENDP_ATTR_FIFO_BUFFER };
enum { MCAPI_ENDP_ATTR_BLOCK, MCAPI_ENDP_ATTR_FAIL };
enum {
  MCAPI_ENDP_STATUS_CONNECTED = 1,
  MCAPI_ENDP_STATUS_SENDS = 2, /* the sending end; otherwise the receiving one */
  MCAPI_ENDP_STATUS_OPEN_PENDING = 4,
  MCAPI_ENDP_STATUS_OPEN = 8,
  MCAPI_ENDP_STATUS_CLOSE_PENDING = 16, /* the other end has closed it */
  MCAPI_ENDP_STATUS_BROKEN = 32,        /* its node is gone */
  MCAPI_ENDP_STATUS_AVAILABLE = 64      /* something lies here */
};

/* Nodes. */
void mcapi_initialize(mcapi_domain_t domain, mcapi_node_t node, const mcapi_node_attributes_t* attributes,
                      const mcapi_param_t* parameters, mcapi_info_t* info, mcapi_status_t* status);
void mcapi_finalize(mcapi_status_t* status);
mcapi_domain_t mcapi_domain_id_get(mcapi_status_t* status);
mcapi_node_t mcapi_node_id_get(mcapi_status_t* status);
void mcapi_node_init_attributes(mcapi_node_attributes_t* attributes, mcapi_status_t* status);
void mcapi_node_get_attribute(mcapi_domain_t domain, mcapi_node_t node, mcapi_uint_t number, void* value, size_t size,
                              mcapi_status_t* status);
void mcapi_node_set_attribute(mcapi_node_attributes_t* attributes, mcapi_uint_t number, void* value, size_t size,
                              mcapi_status_t* status);

/* Endpoints. */
mcapi_endpoint_t mcapi_endpoint_create(mcapi_port_t port, mcapi_status_t* status);
void mcapi_endpoint_get_i(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port, mcapi_endpoint_t* endpoint,
                          mcapi_request_t* request, mcapi_status_t* status);
mcapi_endpoint_t mcapi_endpoint_get(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port, mcapi_timeout_t timeout,
                                    mcapi_status_t* status);
void mcapi_endpoint_release(mcapi_endpoint_t endpoint, mcapi_status_t* status);
void mcapi_endpoint_delete(mcapi_endpoint_t endpoint, mcapi_status_t* status);
void mcapi_endpoint_get_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, void* value, size_t size,
                                  mcapi_status_t* status);
void mcapi_endpoint_set_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, const void* value, size_t size,
                                  mcapi_status_t* status);

/* Messages. */
void mcapi_msg_send_i(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, size_t size, mcapi_priority_t priority,
                      mcapi_request_t* request, mcapi_status_t* status);
void mcapi_msg_send(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, size_t size, mcapi_priority_t priority,
                    mcapi_status_t* status);
void mcapi_msg_recv_i(mcapi_endpoint_t at, void* buffer, size_t size, mcapi_request_t* request, mcapi_status_t* status);
void mcapi_msg_recv(mcapi_endpoint_t at, void* buffer, size_t size, size_t* received, mcapi_status_t* status);
mcapi_uint_t mcapi_msg_available(mcapi_endpoint_t at, mcapi_status_t* status);

/* Packet channels. */
void mcapi_pktchan_connect_i(mcapi_endpoint_t from, mcapi_endpoint_t to, mcapi_request_t* request, mcapi_status_t* status);
void mcapi_pktchan_recv_open_i(mcapi_pktchan_recv_hndl_t* handle, mcapi_endpoint_t at, mcapi_request_t* request,
                               mcapi_status_t* status);
void mcapi_pktchan_send_open_i(mcapi_pktchan_send_hndl_t* handle, mcapi_endpoint_t from, mcapi_request_t* request,
                               mcapi_status_t* status);
void mcapi_pktchan_send_i(mcapi_pktchan_send_hndl_t handle, const void* buffer, size_t size, mcapi_request_t* request,
                          mcapi_status_t* status);
void mcapi_pktchan_send(mcapi_pktchan_send_hndl_t handle, const void* buffer, size_t size, mcapi_status_t* status);
void mcapi_pktchan_recv_i(mcapi_pktchan_recv_hndl_t handle, void** buffer, mcapi_request_t* request, mcapi_status_t* status);
void mcapi_pktchan_recv(mcapi_pktchan_recv_hndl_t handle, void** buffer, size_t* received, mcapi_status_t* status);
mcapi_uint_t mcapi_pktchan_available(mcapi_pktchan_recv_hndl_t handle, mcapi_status_t* status);
void mcapi_pktchan_release(void* buffer, mcapi_status_t* status);
mcapi_boolean_t mcapi_pktchan_release_test(void* buffer, mcapi_status_t* status);
void mcapi_pktchan_recv_close_i(mcapi_pktchan_recv_hndl_t handle, mcapi_request_t* request, mcapi_status_t* status);
void mcapi_pktchan_send_close_i(mcapi_pktchan_send_hndl_t handle, mcapi_request_t* request, mcapi_status_t* status);

/* Scalar channels. */
void mcapi_sclchan_connect_i(mcapi_endpoint_t from, mcapi_endpoint_t to, mcapi_request_t* request, mcapi_status_t* status);
void mcapi_sclchan_recv_open_i(mcapi_sclchan_recv_hndl_t* handle, mcapi_endpoint_t at, mcapi_request_t* request,
                               mcapi_status_t* status);
void mcapi_sclchan_send_open_i(mcapi_sclchan_send_hndl_t* handle, mcapi_endpoint_t from, mcapi_request_t* request,
                               mcapi_status_t* status);
void mcapi_sclchan_send_uint64(mcapi_sclchan_send_hndl_t handle, mcapi_uint64_t value, mcapi_status_t* status);
void mcapi_sclchan_send_uint32(mcapi_sclchan_send_hndl_t handle, mcapi_uint32_t value, mcapi_status_t* status);
void mcapi_sclchan_send_uint16(mcapi_sclchan_send_hndl_t handle, mcapi_uint16_t value, mcapi_status_t* status);
void mcapi_sclchan_send_uint8(mcapi_sclchan_send_hndl_t handle, mcapi_uint8_t value, mcapi_status_t* status);
mcapi_uint64_t mcapi_sclchan_recv_uint64(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status);
mcapi_uint32_t mcapi_sclchan_recv_uint32(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status);
mcapi_uint16_t mcapi_sclchan_recv_uint16(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status);
mcapi_uint8_t mcapi_sclchan_recv_uint8(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status);
mcapi_uint_t mcapi_sclchan_available(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status);
void mcapi_sclchan_recv_close_i(mcapi_sclchan_recv_hndl_t handle, mcapi_request_t* request, mcapi_status_t* status);
void mcapi_sclchan_send_close_i(mcapi_sclchan_send_hndl_t handle, mcapi_request_t* request, mcapi_status_t* status);

/* Completion. */
mcapi_boolean_t mcapi_test(mcapi_request_t* request, size_t* size, mcapi_status_t* status);
mcapi_boolean_t mcapi_wait(mcapi_request_t* request, size_t* size, mcapi_timeout_t timeout, mcapi_status_t* status);
mcapi_uint_t mcapi_wait_any(size_t count, mcapi_request_t** requests, size_t* size, mcapi_timeout_t timeout,
                            mcapi_status_t* status);
void mcapi_cancel(mcapi_request_t* request, mcapi_status_t* status);
char* mcapi_display_status(mcapi_status_t status, char* text, size_t size);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
