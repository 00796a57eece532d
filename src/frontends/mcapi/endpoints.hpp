// Endpoints by their names, which are the same in every run, and not by their handles.
#pragma once

#include <mcapi.h>

namespace reprise::mcapi {

struct EndpointName {
  mcapi_domain_t domain = 0;
  mcapi_node_t node = 0;
  mcapi_port_t port = 0;
};

void know_endpoint(mcapi_endpoint_t endpoint, const EndpointName& name);
// Of one that is not known: zeros.
EndpointName name_of(mcapi_endpoint_t endpoint);

}  // namespace reprise::mcapi
