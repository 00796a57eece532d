// The calls of a trace, written as they are read: a header, then rank after rank. What is written how is the view's
// business.
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
  virtual void call(const analyze::Call& call, const analyze::Timeline& timeline, const analyze::SourceLine& at) = 0;
  // `left_out` calls that match were not asked for; `trouble` says where the log stops being readable.
  virtual void end_rank(std::uint64_t left_out, const std::string& trouble) = 0;
  virtual void end() = 0;
};

// `filtered`: only some calls are shown, so ranks without any of them, notes, and communicators that none of them uses
// are left out.
std::unique_ptr<TraceView> table_view(Paint paint, bool filtered);
std::unique_ptr<TraceView> json_view();

}  // namespace reprise::report
