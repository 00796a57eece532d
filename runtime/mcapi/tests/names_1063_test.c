/* A program as those of MCAPI 1.063 are written. */
#include <mcapi_1063.h>
#include <string.h>

int names_1063_work(void) {
  mcapi_version_t version;
  mcapi_status_t status;
  mcapi_request_t request;
  mcapi_request_t* requests[] = {&request};
  mcapi_endpoint_t own, found;
  mcapi_uint_t size = 0;
  size_t received = 0;
  char text[8] = "";
  mcapi_initialize(5, &version, &status);
  if (status != MCAPI_SUCCESS || version != 1063 || mcapi_get_node_id(&status) != 5) return 1;
  own = mcapi_create_endpoint(1, &status);
  if (status != MCAPI_SUCCESS || mcapi_get_endpoint(5, 1, &status) != own) return 2;
  mcapi_get_endpoint_i(5, 1, &found, &request, &status);
  if (status != MCAPI_SUCCESS || !mcapi_wait(&request, &received, &status, 1000) || found != own) return 3;
  mcapi_get_endpoint_attribute(own, MCAPI_ENDP_ATTR_NUM_PRIORITIES, &size, sizeof size, &status);
  mcapi_set_endpoint_attribute(own, MCAPI_ENDP_ATTR_NUM_PRIORITIES, &size, sizeof size, &status);
  if (status != MCAPI_SUCCESS) return 4;
  mcapi_msg_recv_i(own, text, sizeof text, &request, &status);
  if (status != MCAPI_SUCCESS) return 5;
  mcapi_msg_send(own, own, "hello", 6, 0, &status);
  if (mcapi_wait_any(1, requests, &received, 1000, &status) != 0 || strcmp(text, "hello") != 0) return 6;
  mcapi_delete_endpoint(own, &status);
  mcapi_finalize(&status);
  return status == MCAPI_SUCCESS ? 0 : 7;
}
