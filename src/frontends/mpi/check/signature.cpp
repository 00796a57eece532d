#include "frontends/mpi/check/signature.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/spin.hpp"

namespace reprise::mpi::check {
namespace {

constexpr std::size_t kMostRuns = 4096;  // of one element; what is more complicated is not compared

struct Known {
  const char* name;
  Kind kind;
};

// By name: each MPI has its own handles, and they have the names of the standard.
constexpr Known kNamed[] = {
    {"MPI_CHAR", Kind::Character},
    {"MPI_CHARACTER", Kind::Character},
    {"MPI_WCHAR", Kind::Wide},
    {"MPI_SIGNED_CHAR", Kind::Signed},
    {"MPI_SHORT", Kind::Signed},
    {"MPI_INT", Kind::Signed},
    {"MPI_LONG", Kind::Signed},
    {"MPI_LONG_LONG", Kind::Signed},
    {"MPI_LONG_LONG_INT", Kind::Signed},
    {"MPI_INT8_T", Kind::Signed},
    {"MPI_INT16_T", Kind::Signed},
    {"MPI_INT32_T", Kind::Signed},
    {"MPI_INT64_T", Kind::Signed},
    {"MPI_AINT", Kind::Signed},
    {"MPI_COUNT", Kind::Signed},
    {"MPI_OFFSET", Kind::Signed},
    {"MPI_INTEGER", Kind::Signed},
    {"MPI_INTEGER1", Kind::Signed},
    {"MPI_INTEGER2", Kind::Signed},
    {"MPI_INTEGER4", Kind::Signed},
    {"MPI_INTEGER8", Kind::Signed},
    {"MPI_INTEGER16", Kind::Signed},
    {"MPI_UNSIGNED_CHAR", Kind::Unsigned},
    {"MPI_UNSIGNED_SHORT", Kind::Unsigned},
    {"MPI_UNSIGNED", Kind::Unsigned},
    {"MPI_UNSIGNED_LONG", Kind::Unsigned},
    {"MPI_UNSIGNED_LONG_LONG", Kind::Unsigned},
    {"MPI_UINT8_T", Kind::Unsigned},
    {"MPI_UINT16_T", Kind::Unsigned},
    {"MPI_UINT32_T", Kind::Unsigned},
    {"MPI_UINT64_T", Kind::Unsigned},
    {"MPI_FLOAT", Kind::Floating},
    {"MPI_DOUBLE", Kind::Floating},
    {"MPI_LONG_DOUBLE", Kind::Floating},
    {"MPI_REAL", Kind::Floating},
    {"MPI_REAL2", Kind::Floating},
    {"MPI_REAL4", Kind::Floating},
    {"MPI_REAL8", Kind::Floating},
    {"MPI_REAL16", Kind::Floating},
    {"MPI_DOUBLE_PRECISION", Kind::Floating},
    {"MPI_COMPLEX", Kind::Complex},
    {"MPI_COMPLEX4", Kind::Complex},
    {"MPI_COMPLEX8", Kind::Complex},
    {"MPI_COMPLEX16", Kind::Complex},
    {"MPI_COMPLEX32", Kind::Complex},
    {"MPI_DOUBLE_COMPLEX", Kind::Complex},
    {"MPI_C_COMPLEX", Kind::Complex},
    {"MPI_C_FLOAT_COMPLEX", Kind::Complex},
    {"MPI_C_DOUBLE_COMPLEX", Kind::Complex},
    {"MPI_C_LONG_DOUBLE_COMPLEX", Kind::Complex},
    {"MPI_CXX_FLOAT_COMPLEX", Kind::Complex},
    {"MPI_CXX_DOUBLE_COMPLEX", Kind::Complex},
    {"MPI_CXX_LONG_DOUBLE_COMPLEX", Kind::Complex},
    {"MPI_LOGICAL", Kind::Logical},
    {"MPI_C_BOOL", Kind::Logical},
    {"MPI_CXX_BOOL", Kind::Logical},
    {"MPI_BYTE", Kind::Byte},
    {"MPI_PACKED", Kind::Packed},
};

using SizeOf = int (*)(MPI_Datatype, MPI_Count*);
std::uint64_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  singleton_function<SizeOf>(Function::Type_size_x)(type, &size);
  return size > 0 ? static_cast<std::uint64_t>(size) : 0;
}

void append(Signature& to, const Signature::Run& run) {
  if (run.count == 0) return;
  if (run.kind == Kind::Packed || run.kind == Kind::Unknown) to.fits_everything = true;
  if (!to.runs.empty() && to.runs.back().is_same_kind(run)) to.runs.back().count += run.count;
  else if (to.runs.size() < kMostRuns) to.runs.push_back(run);
  else to.fits_everything = true;
}

void append(Signature& to, const Signature& what, std::uint64_t times) {
  to.fits_everything |= what.fits_everything && times > 0;
  if (what.runs.size() == 1) {
    Signature::Run run = what.runs[0];
    run.count *= times;
    append(to, run);
    return;
  }
  for (std::uint64_t i = 0; i < times && !to.fits_everything; ++i)
    for (const Signature::Run& run : what.runs) append(to, run);
}

// What is not in the list (pairs for MPI_MINLOC) fits everything.
Signature named(MPI_Datatype type) {
  char name[MPI_MAX_OBJECT_NAME + 1] = "";
  int length = 0;
  singleton_function<int (*)(MPI_Datatype, char*, int*)>(Function::Type_get_name)(type, name, &length);
  Signature signature;
  const auto found = std::find_if(std::begin(kNamed), std::end(kNamed),
                                  [&](const Known& known) { return std::strcmp(known.name, name) == 0; });
  const Kind kind = found == std::end(kNamed) ? Kind::Unknown : found->kind;
  append(signature, {kind, static_cast<std::uint32_t>(size_of(type)), 1});
  return signature;
}

// What a type was made from; those that are not predefined must be given back.
class Contents {
 public:
  explicit Contents(MPI_Datatype type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    using Envelope = int (*)(MPI_Datatype, int*, int*, int*, int*);
    singleton_function<Envelope>(Function::Type_get_envelope)(type, &integers, &addresses, &types, &combiner_);
    if (combiner_ == MPI_COMBINER_NAMED) return;
    integers_.resize(static_cast<std::size_t>(integers) + 1);
    addresses_.resize(static_cast<std::size_t>(addresses) + 1);
    types_.resize(static_cast<std::size_t>(types));
    if (types == 0) return;
    using Ask = int (*)(MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*);
    singleton_function<Ask>(Function::Type_get_contents)(type, integers, addresses, types, integers_.data(),
                                                         addresses_.data(), types_.data());
  }
  ~Contents() {
    for (MPI_Datatype& type : types_) {
      int a = 0;
      int b = 0;
      int c = 0;
      int combiner = 0;
      using Envelope = int (*)(MPI_Datatype, int*, int*, int*, int*);
      singleton_function<Envelope>(Function::Type_get_envelope)(type, &a, &b, &c, &combiner);
      if (combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
          combiner == MPI_COMBINER_F90_INTEGER)
        continue;
      singleton_function<int (*)(MPI_Datatype*)>(Function::Type_free)(&type);
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  int combiner() const { return combiner_; }
  const std::vector<MPI_Datatype>& types() const { return types_; }
  int integer(std::size_t index) const { return integers_[index]; }

 private:
  int combiner_ = MPI_COMBINER_NAMED;
  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
};

Signature ask_signature(MPI_Datatype type) {
  const Contents contents(type);
  Signature signature;
  const auto one = [&](Kind kind) { append(signature, {kind, static_cast<std::uint32_t>(size_of(type)), 1}); };
  switch (contents.combiner()) {
    case MPI_COMBINER_NAMED: return named(type);
    case MPI_COMBINER_F90_INTEGER: one(Kind::Signed); return signature;
    case MPI_COMBINER_F90_REAL: one(Kind::Floating); return signature;
    case MPI_COMBINER_F90_COMPLEX: one(Kind::Complex); return signature;
    case MPI_COMBINER_STRUCT:
      for (std::size_t i = 0; i < contents.types().size(); ++i)
        append(signature, ask_signature(contents.types()[i]), static_cast<std::uint64_t>(contents.integer(i + 1)));
      return signature;
    default: break;
  }
  // All others are made from one type, so many times.
  if (contents.types().size() != 1) {
    one(Kind::Unknown);
    return signature;
  }
  const std::uint64_t size = size_of(contents.types()[0]);
  if (size > 0) append(signature, ask_signature(contents.types()[0]), size_of(type) / size);
  return signature;
}

std::atomic_flag g_lock;
using Cache = std::unordered_map<std::uint64_t, std::shared_ptr<const Signature>>;
Cache& cache() {
  static auto* const all = new Cache();  // never destroyed: see communicators.hpp
  return *all;
}

}  // namespace

std::shared_ptr<const Signature> signature_of(MPI_Datatype type) {
  const std::uint64_t key = handle_key(type);
  {
    const Spin spin(&g_lock);
    const auto found = cache().find(key);
    if (found != cache().end()) return found->second;
  }
  auto signature = std::make_shared<const Signature>(ask_signature(type));
  const Spin spin(&g_lock);
  return cache()[key] = std::move(signature);
}

void forget_signature(MPI_Datatype type) {
  const Spin spin(&g_lock);
  cache().erase(handle_key(type));
}

}  // namespace reprise::mpi::check
