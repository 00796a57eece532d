// Where every rank is: a screenful for people, every rank for programs.
#pragma once

#include <string>

#include "analyze/blocked.hpp"
#include "report/terminal.hpp"
#include "trace/manifest.hpp"

namespace reprise::report {

// `watched`: seconds between two looks at a running program; 0: there was one look.
void print_blocked(const Paint& paint, const std::string& path, const trace::Manifest& manifest,
                   const analyze::RunEnd& end, const analyze::Blocked& blocked, double watched);
void print_blocked_json(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end,
                        const analyze::Blocked& blocked, double watched);

}  // namespace reprise::report
