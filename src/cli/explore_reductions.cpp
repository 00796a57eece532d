#include "cli/explore_reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analyze/number_set.hpp"
#include "base/text.hpp"
#include "cli/explore_near.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

void add_reduction_options(OptionParser& parser, ReductionOptions& options) {
  parser
      .option(
          "--focus", options.focus,
          "Explore only matches with this rank, or of calls in this function or at these lines; elsewhere one option "
          "is picked by chance. May be given several times",
          "rank=R|func=NAME|FILE:LINE[-LINE]")
      .comma_separated();
  parser.option("--loop-bound", options.loop_bound,
                "Explore only the first K times that a rank comes to the same call; later ones by chance", "K");
  parser.option("--mix", options.mix, "After a changed decision, change only the next K", "K");
  parser.option("--symmetric", options.symmetric,
                "Ranks that stand for each other as long as they have done the same; auto: all of them", "RANKS|auto");
  parser.option("--random", options.random, "N orders by chance, in place of the search", "N");
  parser.option("--seed", options.seed, "Of everything that is picked by chance", "N").default_shown();
  parser.option("--near", options.near, "Begin with the order of this recorded run, then the nearest ones", "DIR");
}

bool FocusedLines::covers(std::uint64_t site) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(site);
  if (known != known_.end()) return known->second;
  const analyze::SourceLine& line = namer_.source(site);
  const bool is = std::any_of(wanted_.begin(), wanted_.end(), [&](const Wanted& wanted) {
    if (!wanted.function.empty())
      return line.function == wanted.function || line.function.starts_with(wanted.function + "(") ||
             std::find(line.inlined.begin(), line.inlined.end(), wanted.function) != line.inlined.end();
    return line.line >= wanted.first && line.line <= wanted.last &&
           (line.file == wanted.file || line.file.ends_with("/" + wanted.file));
  });
  return known_[site] = is;
}

namespace {

int number_of(std::string_view text, const std::string& whole) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    fail("explore: --focus {}: '{}' is no number", printable(whole), printable(text));
  return number;
}

std::set<int> ranks_of(const char* option, const std::string& text, int ranks) {
  const auto parsed = analyze::NumberSet::parse(text);
  if (!parsed) fail("explore: {} {}: {}", option, printable(text), parsed.error().what);
  std::set<int> all;
  for (int rank = 0; rank < ranks; ++rank)
    if (parsed->contains(static_cast<std::uint64_t>(rank))) all.insert(rank);
  if (all.empty()) fail("explore: {} {}: there are only ranks 0 to {}", option, printable(text), ranks - 1);
  return all;
}

}  // namespace

std::unique_ptr<explore::Guide> make_guide(const ReductionOptions& options, int ranks, bool regions,
                                           PlaceNamer& namer) {
  explore::GuideOptions guide;
  std::vector<FocusedLines::Wanted> lines;
  for (const std::string& focus : options.focus) {
    if (focus.starts_with("rank=")) {
      guide.focus.ranks.merge(ranks_of("--focus", focus.substr(5), ranks));
    } else if (focus.starts_with("func=")) {
      lines.push_back({"", 0, 0, focus.substr(5)});
    } else {
      const std::size_t colon = focus.rfind(':');
      if (colon == std::string::npos || colon == 0)
        fail("explore: --focus {}: it should be rank=R, func=NAME or FILE:LINE-LINE", printable(focus));
      const std::string range = focus.substr(colon + 1);
      const std::size_t dash = range.find('-');
      const int first = number_of(std::string_view(range).substr(0, dash), focus);
      const int last = dash == std::string::npos ? first : number_of(std::string_view(range).substr(dash + 1), focus);
      lines.push_back({focus.substr(0, colon), first, last, ""});
    }
  }
  if (!lines.empty()) {
    auto focused = std::make_shared<FocusedLines>(std::move(lines), namer);
    guide.focus.covers = [focused](std::uint64_t site) { return focused->covers(site); };
  }
  guide.focus.regions = regions;
  guide.loop_bound = options.loop_bound;
  if (!options.mix.empty()) guide.mix = static_cast<std::uint32_t>(number_of(options.mix, options.mix));
  if (options.symmetric == "auto") guide.symmetric_by_history = true;
  else if (!options.symmetric.empty()) guide.symmetric = ranks_of("--symmetric", options.symmetric, ranks);
  guide.random_walk = options.random > 0;
  guide.seed = options.seed;
  if (!options.near.empty()) guide.near = recorded_outcomes(options.near, ranks);
  auto made = std::make_unique<explore::Guide>(std::move(guide));
  if (!made->reduces() && options.near.empty()) return nullptr;
  return made;
}

std::string left_out_words(const ReductionOptions& options, const explore::Guide& guide) {
  if (options.random > 0) return "orders were picked by chance: there may be others";
  if (guide.left_out() == 0) return "";
  return fmt::format("left out: {} at {}", counted(guide.left_out(), "alternative"),
                     counted(guide.choices_cut(), "decision"));
}

}  // namespace reprise::cli
