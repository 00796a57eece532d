// The program's version; the trace format has its own (trace/format.hpp).
#pragma once

#ifndef REPRISE_VERSION
#define REPRISE_VERSION "0.1.0"
#endif

namespace reprise::cli {

inline constexpr const char* kVersion = REPRISE_VERSION;

}  // namespace reprise::cli
