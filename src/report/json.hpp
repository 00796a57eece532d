// What the JSON outputs of `show` have in common. The keys are documented in docs/show.md and stay as they are.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analyze/run_end.hpp"
#include "analyze/source_lines.hpp"
#include "trace/manifest.hpp"

namespace reprise::report {

using Json = nlohmann::ordered_json;

// Texts of the program may be anything; what is not UTF-8 is replaced.
std::string dump(const Json& json);

Json place_json(const analyze::SourceLine& at);
// The facts of the run that every output begins with.
Json trace_json(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end);
Json rank_json(const analyze::RankEnd& rank);

}  // namespace reprise::report
