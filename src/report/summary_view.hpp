// A run in numbers: a screenful for people, everything for programs.
#pragma once

#include <string>

#include "analyze/run_summary.hpp"
#include "report/terminal.hpp"
#include "trace/manifest.hpp"

namespace reprise::report {

void print_summary(const Paint& paint, const std::string& path, const trace::Manifest& manifest,
                   const analyze::RunEnd& end, const analyze::RunSummary& summary, bool filtered);
void print_summary_json(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end,
                        const analyze::RunSummary& summary);

}  // namespace reprise::report
