// A whole trace, written as it is read: a header, then rank after rank. What is written how is the view's business.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyze/run_end.hpp"
#include "analyze/source_lines.hpp"
#include "analyze/timeline.hpp"
#include "report/terminal.hpp"
#include "trace/manifest.hpp"

namespace reprise::report {

class TraceView {
 public:
  virtual ~TraceView() = default;

  virtual void begin(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end) = 0;
  virtual void begin_rank(const analyze::RankEnd& rank) = 0;
  virtual void communicator(std::size_t number, const engine::CommunicatorRecord& communicator) = 0;
  virtual void note(const engine::NoteRecord& note) = 0;
  virtual void call(const analyze::Call& call, const std::string& function, const analyze::SourceLine& at) = 0;
  // `left_out` calls were not asked for; `trouble` says where the log stops being readable.
  virtual void end_rank(std::uint64_t left_out, const std::string& trouble) = 0;
  virtual void end() = 0;
};

std::unique_ptr<TraceView> table_view(Paint paint);
std::unique_ptr<TraceView> json_view();

}  // namespace reprise::report
