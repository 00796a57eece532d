// The run's facts that every table of `show` begins with.
#pragma once

#include <string>

#include "analyze/run_end.hpp"
#include "report/terminal.hpp"
#include "trace/manifest.hpp"

namespace reprise::report {

void print_trace_head(const Paint& paint, const std::string& path, const trace::Manifest& manifest,
                      const analyze::RunEnd& end);

// "SIGABRT of rank 0", "still running"
std::string ended_words(const trace::Manifest& manifest, const analyze::RunEnd& end);

// number_ranges(), cut to what fits into a line: "0-3, 7, ... (512 in all)"
std::string some_ranks(const std::vector<std::uint32_t>& ascending, std::size_t width = 60);

}  // namespace reprise::report
