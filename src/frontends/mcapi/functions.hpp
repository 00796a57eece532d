// The functions of MCAPI that are followed.
#pragma once

namespace reprise::mcapi {

#define REPRISE_MCAPI_FUNCTIONS(X)                                                                                             \
  X(initialize) X(finalize) X(domain_id_get) X(node_id_get) X(node_init_attributes) X(node_get_attribute) X(node_set_attribute)  \
  X(endpoint_create) X(endpoint_get_i) X(endpoint_get) X(endpoint_release) X(endpoint_delete) X(endpoint_get_attribute)         \
  X(endpoint_set_attribute) X(msg_send_i) X(msg_send) X(msg_recv_i) X(msg_recv) X(msg_available) X(pktchan_connect_i)           \
  X(pktchan_recv_open_i) X(pktchan_send_open_i) X(pktchan_send_i) X(pktchan_send) X(pktchan_recv_i) X(pktchan_recv)             \
  X(pktchan_available) X(pktchan_release) X(pktchan_release_test) X(pktchan_recv_close_i) X(pktchan_send_close_i)               \
  X(sclchan_connect_i) X(sclchan_recv_open_i) X(sclchan_send_open_i) X(sclchan_send_uint64) X(sclchan_send_uint32)              \
  X(sclchan_send_uint16) X(sclchan_send_uint8) X(sclchan_recv_uint64) X(sclchan_recv_uint32) X(sclchan_recv_uint16)             \
  X(sclchan_recv_uint8) X(sclchan_available) X(sclchan_recv_close_i) X(sclchan_send_close_i) X(test) X(wait) X(wait_any)        \
  X(cancel)

enum class Function : unsigned {
#define REPRISE_MCAPI_ID(name) name,
  REPRISE_MCAPI_FUNCTIONS(REPRISE_MCAPI_ID)
#undef REPRISE_MCAPI_ID
};

inline constexpr const char* kFunctionNames[] = {
#define REPRISE_MCAPI_NAME(name) "mcapi_" #name,
    REPRISE_MCAPI_FUNCTIONS(REPRISE_MCAPI_NAME)
#undef REPRISE_MCAPI_NAME
};

}  // namespace reprise::mcapi
