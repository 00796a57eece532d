// The names of what can happen.
#include <cstdio>

#include "mcapi.h"

namespace {

constexpr const char* kNames[] = {"",
                                  "MCAPI_SUCCESS",
                                  "MCAPI_PENDING",
                                  "MCAPI_TIMEOUT",
                                  "MCAPI_ERR_PARAMETER",
                                  "MCAPI_ERR_DOMAIN_INVALID",
                                  "MCAPI_ERR_NODE_INVALID",
                                  "MCAPI_ERR_NODE_INITFAILED",
                                  "MCAPI_ERR_NODE_INITIALIZED",
                                  "MCAPI_ERR_NODE_NOTINIT",
                                  "MCAPI_ERR_NODE_FINALFAILED",
                                  "MCAPI_ERR_PORT_INVALID",
                                  "MCAPI_ERR_ENDP_INVALID",
                                  "MCAPI_ERR_ENDP_EXISTS",
                                  "MCAPI_ERR_ENDP_GET_LIMIT",
                                  "MCAPI_ERR_ENDP_DELETED",
                                  "MCAPI_ERR_ENDP_NOTOWNER",
                                  "MCAPI_ERR_ENDP_REMOTE",
                                  "MCAPI_ERR_ATTR_INCOMPATIBLE",
                                  "MCAPI_ERR_ATTR_SIZE",
                                  "MCAPI_ERR_ATTR_NUM",
                                  "MCAPI_ERR_ATTR_VALUE",
                                  "MCAPI_ERR_ATTR_NOTSUPPORTED",
                                  "MCAPI_ERR_ATTR_READONLY",
                                  "MCAPI_ERR_MSG_LIMIT",
                                  "MCAPI_ERR_MSG_TRUNCATED",
                                  "MCAPI_ERR_CHAN_OPEN",
                                  "MCAPI_ERR_CHAN_TYPE",
                                  "MCAPI_ERR_CHAN_DIRECTION",
                                  "MCAPI_ERR_CHAN_CONNECTED",
                                  "MCAPI_ERR_CHAN_OPENPENDING",
                                  "MCAPI_ERR_CHAN_CLOSEPENDING",
                                  "MCAPI_ERR_CHAN_NOTOPEN",
                                  "MCAPI_ERR_CHAN_INVALID",
                                  "MCAPI_ERR_PKT_SIZE",
                                  "MCAPI_ERR_TRANSMISSION",
                                  "MCAPI_ERR_PRIORITY",
                                  "MCAPI_ERR_BUF_INVALID",
                                  "MCAPI_ERR_MEM_LIMIT",
                                  "MCAPI_ERR_REQUEST_INVALID",
                                  "MCAPI_ERR_REQUEST_LIMIT",
                                  "MCAPI_ERR_REQUEST_CANCELLED",
                                  "MCAPI_ERR_WAIT_PENDING",
                                  "MCAPI_ERR_GENERAL"};
static_assert(sizeof kNames / sizeof *kNames == MCAPI_ERR_GENERAL + 1);

}  // namespace

char* mcapi_display_status(mcapi_status_t status, char* text, size_t size) {
  if (!text || size == 0) return nullptr;
  const bool known = status >= MCAPI_SUCCESS && status <= MCAPI_ERR_GENERAL;
  std::snprintf(text, size, "%s", known ? kNames[status] : "(no status of MCAPI)");
  return text;
}
