#include "engine/type_signature.hpp"

#include <algorithm>

namespace reprise::engine {
namespace {

constexpr std::uint64_t kMostSteps = 1u << 20;

std::string words_of(const TypeSignature::Run& run) {
  static constexpr const char* kNames[] = {
      "integers",    "unsigned integers", "floating-point numbers", "complex numbers",
      "characters",  "wide characters",   "logical values",         "bytes",
      "packed data", "unknown data"};
  const std::string name = kNames[static_cast<std::size_t>(run.kind)];
  return run.kind == TypeSignature::Kind::Byte ? name
                                : name + " of " + std::to_string(run.size) + (run.size == 1 ? " byte" : " bytes");
}

// Goes through an array of elements, run by run.
class Walk {
 public:
  explicit Walk(const TypeSignature& signature) : runs_(signature.runs), left_(runs_[0].count) {}
  const TypeSignature::Run& run() const { return runs_[at_]; }
  std::uint64_t left() const { return left_; }
  void pass(std::uint64_t count) {
    left_ -= count;
    if (left_ > 0) return;
    at_ = (at_ + 1) % runs_.size();
    left_ = runs_[at_].count;
  }

 private:
  const std::vector<TypeSignature::Run>& runs_;
  std::size_t at_ = 0;
  std::uint64_t left_;
};

}  // namespace

std::vector<std::uint64_t> to_words(const TypeSignature& signature) {
  std::vector<std::uint64_t> words{signature.runs.size() << 1 | (signature.fits_everything ? 1u : 0u)};
  for (const TypeSignature::Run& run : signature.runs) {
    words.push_back(static_cast<std::uint64_t>(run.kind) << 32 | run.size);
    words.push_back(run.count);
  }
  return words;
}

TypeSignature from_words(const std::uint64_t* words) {
  TypeSignature signature;
  signature.fits_everything = (*words & 1) != 0;
  const std::uint64_t count = *words++ >> 1;
  for (std::uint64_t i = 0; i < count; ++i, words += 2)
    signature.runs.push_back({static_cast<TypeSignature::Kind>(words[0] >> 32), static_cast<std::uint32_t>(words[0]), words[1]});
  return signature;
}

std::string difference(const TypeSignature& sent, const TypeSignature& expected, std::uint64_t bytes) {
  if (sent.fits_everything || expected.fits_everything || sent.runs.empty() || expected.runs.empty()) return {};
  const bool both_simple = sent.runs.size() == 1 && expected.runs.size() == 1;
  Walk one(sent);
  Walk other(expected);
  for (std::uint64_t steps = 0; bytes > 0 && steps < kMostSteps; ++steps) {
    if (!one.run().is_same_kind(other.run()))
      return words_of(one.run()) + " sent, " + words_of(other.run()) + " expected";
    if (both_simple) return {};
    const std::uint64_t now = std::min({one.left(), other.left(), bytes / one.run().size});
    if (now == 0) return {};
    bytes -= now * one.run().size;
    one.pass(now);
    other.pass(now);
  }
  return {};
}

}  // namespace reprise::engine
