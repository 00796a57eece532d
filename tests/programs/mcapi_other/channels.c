/* Calls what that library does not have. */
#include <mcapi.h>
#include <stdio.h>

extern void mcapi_pktchan_connect_i(mcapi_endpoint_t, mcapi_endpoint_t, mcapi_request_t*, mcapi_status_t*) __attribute__((weak));

int main(void) {
  mcapi_status_t status;
  mcapi_request_t request;
  mcapi_initialize(0, 1, NULL, NULL, NULL, &status);
  const mcapi_endpoint_t own = mcapi_endpoint_create(1, &status);
  if (mcapi_pktchan_connect_i) mcapi_pktchan_connect_i(own, own, &request, &status);
  else puts("no channels");
  mcapi_finalize(&status);
  return 0;
}
