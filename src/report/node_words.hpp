// Calls of MCAPI in words. Their four arguments are those of an endpoint, and a size: domain, node, port, bytes.
#pragma once

#include <string>
#include <string_view>

#include "engine/call_stream.hpp"

namespace reprise::report {

bool is_mcapi(std::string_view function);
// "node:port", with the domain if that is not 0; empty: it has none.
std::string endpoint_words(const engine::Arguments& values);
// Where a message came from, as it is logged (frontends/mcapi/identity.hpp).
std::string origin_words(const engine::WildcardOutcome& outcome);

}  // namespace reprise::report
