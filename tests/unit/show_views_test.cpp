// What a person sees stays a screenful, however many ranks there are.
#include <gtest/gtest.h>

#include <algorithm>

#include "report/blocked_view.hpp"
#include "report/summary_view.hpp"

namespace reprise::report {
namespace {

constexpr std::uint32_t kRanks = 1000;

template <class Print>
std::string printed(Print print) {
  testing::internal::CaptureStdout();
  print();
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

analyze::Position in_call(std::uint32_t rank, const char* function) {
  analyze::Position position;
  position.rank = rank;
  position.place = analyze::RankPlace::InCall;
  position.call.emplace();
  position.call->function = function;
  position.call->kind = analyze::kind_of(function);
  position.call->arguments = {0, (rank + 1) % kRanks, 7, 8};
  position.waits_for = (rank + 1) % kRanks;
  return position;
}

TEST(ShowViews, BlockedOfThousandRanks) {
  analyze::Blocked blocked;
  for (std::uint32_t rank = 0; rank < kRanks; rank += 2) {
    if (rank < 200) blocked.groups.emplace_back().ranks = {in_call(rank, "MPI_Recv")};
    else blocked.groups.back().ranks.push_back(in_call(rank, "MPI_Recv"));
  }
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) blocked.groups.back().missing.push_back(rank);
  blocked.circles.emplace_back();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) blocked.circles.back().push_back(rank);
  std::reverse(blocked.groups.begin(), blocked.groups.end());
  analyze::RunEnd end;
  end.world = kRanks;
  const std::string text = printed([&] { print_blocked(Paint(false), "trace", {}, end, blocked, 0.5); });
  EXPECT_LT(lines_in(text), 60u) << text;
  EXPECT_LT(text.size(), 60u * 200) << text;
  EXPECT_NE(text.find("MPI_Recv peer various tag 7, 8 bytes, on world"), std::string::npos) << text;
  EXPECT_NE(text.find("more places"), std::string::npos) << text;
}

TEST(ShowViews, SummaryOfThousandRanks) {
  analyze::RunSummary summary;
  summary.matrix.complete = false;
  summary.matrix.group_size = (kRanks + 15) / 16;
  for (std::uint32_t i = 0; i < 16; ++i)
    for (std::uint32_t k = 0; k < 16; ++k) summary.matrix.group_pairs.push_back({i, k, {5'000'000, 1}});
  for (std::uint32_t i = 0; i < 20; ++i) summary.matrix.pairs.push_back({i, i + 1, {10, 10}});
  for (std::uint32_t i = 0; i < 500; ++i) {
    summary.functions["MPI_" + std::to_string(i)].calls = i;
    summary.events["event " + std::to_string(i)] = i;
    analyze::RacingSite site;
    site.function = "MPI_Recv";
    site.receives = i;
    site.most_senders = 2;
    summary.racing.push_back(site);
  }
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    auto& one = summary.ranks.emplace_back();
    one.end.rank = rank;
    one.end.end.kind = rank % 2 ? trace::EndKind::Finalized : trace::EndKind::Exited;
  }
  analyze::RunEnd end;
  end.world = kRanks;
  const std::string text = printed([&] { print_summary(Paint(false), "trace", {}, end, summary, false); });
  EXPECT_LT(lines_in(text), 80u) << text;
  EXPECT_NE(text.find("20.0 M"), std::string::npos) << text;  // four groups of 5 million in a cell
  const std::string json = printed([&] { print_summary_json("trace", {}, end, summary); });
  EXPECT_EQ(lines_in(json), 1u);
}

}  // namespace
}  // namespace reprise::report
