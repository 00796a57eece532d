#include "flow/reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace reprise::flow {
namespace {

using trace::Operation;

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(static_cast<void*>(&value), from, sizeof value);
  return value;
}

// One element: what the contributions make of it against what is there.
struct Element {
  std::vector<const std::uint8_t*> contributions;
  const std::uint8_t* result = nullptr;
};

template <class T>
std::string told(T expected, T found) {
  return fmt::format("is {}, should be {}", found, expected);
}

template <class T>
std::string check_integer(Operation operation, const Element& element) {
  using U = std::make_unsigned_t<T>;
  T sum = load<T>(element.contributions[0]);
  for (std::size_t i = 1; i < element.contributions.size(); ++i) {
    const T next = load<T>(element.contributions[i]);
    switch (operation) {
      case Operation::Max: sum = std::max(sum, next); break;
      case Operation::Min: sum = std::min(sum, next); break;
      case Operation::Sum: sum = static_cast<T>(static_cast<U>(sum) + static_cast<U>(next)); break;
      case Operation::Prod:
        sum = static_cast<T>(static_cast<std::uint64_t>(static_cast<U>(sum)) * static_cast<U>(next));
        break;
      case Operation::Land: sum = sum && next; break;
      case Operation::Lor: sum = sum || next; break;
      case Operation::Lxor: sum = !sum != !next; break;
      case Operation::Band: sum = static_cast<T>(sum & next); break;
      case Operation::Bor: sum = static_cast<T>(sum | next); break;
      case Operation::Bxor: sum = static_cast<T>(sum ^ next); break;
      default: return {};
    }
  }
  const T found = load<T>(element.result);
  // Of a truth value only that counts.
  const bool logical = operation == Operation::Land || operation == Operation::Lor || operation == Operation::Lxor;
  if (logical ? !found == !sum : found == sum) return {};
  if constexpr (sizeof(T) == 1) return told(static_cast<int>(sum), static_cast<int>(found));
  else return told(sum, found);
}

// The error of a sum or product of n numbers in any order is at most (n - 1) roundings of what its terms add up to in size;
// twice that leaves room for our own.
template <class T>
std::string check_real(Operation operation, const Element& element) {
  const std::size_t n = element.contributions.size();
  const T found = load<T>(element.result);
  long double sum = operation == Operation::Prod ? 1 : 0;
  long double size = sum;
  T extreme = load<T>(element.contributions[0]);
  bool strange = false;
  for (const std::uint8_t* from : element.contributions) {
    const T next = load<T>(from);
    strange |= !std::isfinite(next);
    switch (operation) {
      case Operation::Max: extreme = std::max(extreme, next); break;
      case Operation::Min: extreme = std::min(extreme, next); break;
      case Operation::Sum: sum += next; size += std::fabs(static_cast<long double>(next)); break;
      case Operation::Prod: sum *= next; break;
      default: return {};
    }
  }
  if (strange) return {};  // what comes of these depends on the order
  if (operation == Operation::Max || operation == Operation::Min)
    return found == extreme ? std::string() : told(extreme, found);
  if (operation == Operation::Prod) size = std::fabs(sum);
  const auto largest = static_cast<long double>(std::numeric_limits<T>::max());
  if (size > largest / 4) return {};  // it may overflow on its way
  if (operation == Operation::Prod && size < static_cast<long double>(std::numeric_limits<T>::min()) * 4) return {};
  const long double bound = 2 * static_cast<long double>(n) * size * static_cast<long double>(std::numeric_limits<T>::epsilon()) +
                            static_cast<long double>(std::numeric_limits<T>::denorm_min());
  if (std::isfinite(found) && std::fabs(static_cast<long double>(found) - sum) <= bound) return {};
  // A product may have come by way of numbers that are too large or too small.
  if (operation == Operation::Prod) {
    long double log_largest = 0;
    for (const std::uint8_t* from : element.contributions)
      log_largest += std::fabs(std::log2(std::fabs(static_cast<long double>(load<T>(from))) +
                                         static_cast<long double>(std::numeric_limits<T>::denorm_min())));
    if (log_largest > std::numeric_limits<T>::max_exponent - 2) return {};
  }
  return told(static_cast<T>(sum), found);
}

template <class T>
std::string check_complex(Operation operation, const Element& element) {
  using Wide = std::complex<long double>;
  const auto at = [](const std::uint8_t* from) { return Wide(load<T>(from), load<T>(from + sizeof(T))); };
  Wide sum = operation == Operation::Prod ? 1 : 0;
  long double size = operation == Operation::Prod ? 1 : 0;
  for (const std::uint8_t* from : element.contributions) {
    const Wide next = at(from);
    if (!std::isfinite(next.real()) || !std::isfinite(next.imag())) return {};
    if (operation == Operation::Sum) {
      sum += next;
      size += std::abs(next);
    } else if (operation == Operation::Prod) {
      sum *= next;
      size *= std::max<long double>(std::abs(next), 1e-30L);
    } else {
      return {};
    }
  }
  if (size > static_cast<long double>(std::numeric_limits<T>::max()) / 4) return {};
  const Wide found = at(element.result);
  const long double bound = 8 * static_cast<long double>(element.contributions.size()) * size *
                                static_cast<long double>(std::numeric_limits<T>::epsilon()) +
                            8 * static_cast<long double>(std::numeric_limits<T>::denorm_min());
  if (std::abs(found - sum) <= bound) return {};
  return fmt::format("is {}{:+}i, should be {}{:+}i", found.real(), found.imag(), sum.real(), sum.imag());
}

// The value decides, among equals the lower index (MPI 4.0, 6.9.4).
template <class T, class Index>
std::string check_pair(Operation operation, const Element& element) {
  const auto index = [](const std::uint8_t* from) { return load<Index>(from + sizeof(T)); };
  T value = load<T>(element.contributions[0]);
  Index where = index(element.contributions[0]);
  for (const std::uint8_t* from : element.contributions) {
    const T next = load<T>(from);
    if (next != next) return {};
    if (next == value) where = std::min(where, index(from));
    else if (operation == Operation::Maxloc ? next > value : next < value) {
      value = next;
      where = index(from);
    }
  }
  const T found = load<T>(element.result);
  if (found == value && index(element.result) == where) return {};
  return fmt::format("is {} at {}, should be {} at {}", found, index(element.result), value, where);
}

using Check = std::string (*)(Operation, const Element&);

template <class Signed>
Check integer_of(std::uint64_t size) {
  switch (size) {
    case 1: return check_integer<std::conditional_t<std::is_signed_v<Signed>, std::int8_t, std::uint8_t>>;
    case 2: return check_integer<std::conditional_t<std::is_signed_v<Signed>, std::int16_t, std::uint16_t>>;
    case 4: return check_integer<std::conditional_t<std::is_signed_v<Signed>, std::int32_t, std::uint32_t>>;
    case 8: return check_integer<std::conditional_t<std::is_signed_v<Signed>, std::int64_t, std::uint64_t>>;
    default: return nullptr;
  }
}
Check real_of(std::uint64_t size) {
  if (size == sizeof(float)) return check_real<float>;
  if (size == sizeof(double)) return check_real<double>;
  if (size == sizeof(long double)) return check_real<long double>;
  return nullptr;
}
Check complex_of(std::uint64_t size) {
  if (size == 2 * sizeof(float)) return check_complex<float>;
  if (size == 2 * sizeof(double)) return check_complex<double>;
  if (size == 2 * sizeof(long double)) return check_complex<long double>;
  return nullptr;
}

bool starts_with_any(const std::string& name, std::initializer_list<const char*> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](const char* one) { return name.starts_with(one); });
}

// By the name of the predefined type.
Check check_for(const std::string& name, std::uint64_t size) {
  if (name == "MPI_FLOAT_INT") return check_pair<float, int>;
  if (name == "MPI_DOUBLE_INT") return check_pair<double, int>;
  if (name == "MPI_LONG_INT") return check_pair<long, int>;
  if (name == "MPI_SHORT_INT") return check_pair<short, int>;
  if (name == "MPI_2INT" || name == "MPI_2INTEGER") return check_pair<int, int>;
  if (name == "MPI_LONG_DOUBLE_INT") return check_pair<long double, int>;
  if (name == "MPI_2REAL") return check_pair<float, float>;
  if (name == "MPI_2DOUBLE_PRECISION") return check_pair<double, double>;
  if (name.find("COMPLEX") != std::string::npos) return complex_of(size);
  if (starts_with_any(name, {"MPI_FLOAT", "MPI_DOUBLE", "MPI_LONG_DOUBLE", "MPI_REAL"})) return real_of(size);
  if (starts_with_any(name, {"MPI_UNSIGNED", "MPI_UINT", "MPI_BYTE"})) return integer_of<unsigned>(size);
  if (starts_with_any(name, {"MPI_INT", "MPI_LONG", "MPI_SHORT", "MPI_SIGNED_CHAR", "MPI_AINT", "MPI_COUNT", "MPI_OFFSET", "MPI_LOGICAL",
                             "MPI_C_BOOL", "MPI_CXX_BOOL"}))
    return integer_of<int>(size);
  return nullptr;
}

}  // namespace

ReductionCheck check_element(const std::string& type, std::uint64_t size, std::uint64_t operation,
                             const std::vector<const std::uint8_t*>& contributions, const std::uint8_t* result) {
  const Check check = check_for(type, size);
  if (!check || operation < 2 || operation - 2 > static_cast<std::uint64_t>(Operation::Maxloc)) return {false, {}};
  return {true, check(static_cast<Operation>(operation - 2), {contributions, result})};
}

ReductionCheck check_reduction(const LoggedShape& shape, const std::vector<const std::vector<std::uint8_t>*>& contributions,
                               const std::vector<std::uint8_t>& result) {
  const LoggedType& type = *shape.element;
  const engine::TypeTree* tree = &type.tree;
  while (tree->made == engine::TypeTree::Made::Dup && tree->types.size() == 1) tree = &tree->types[0];
  const std::uint64_t size = type.flat.size;
  const Check check = tree->made == engine::TypeTree::Made::Named ? check_for(tree->name, size) : nullptr;
  const auto operation = static_cast<Operation>(shape.operation - 2);
  // What is logged is without the holes of the type: a pair's index follows its value.
  if (!check || size == 0 || operation > Operation::Maxloc) return {false, {}};
  const std::uint64_t samples = trace::samples_of(shape.all);
  for (const auto* one : contributions)
    if (one->size() != samples * size) return {false, {}};
  std::uint64_t number = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t element = trace::sample(shape.all, i);
    if (element < shape.first || element >= shape.first + shape.count) continue;
    if ((number + 1) * size > result.size()) return {false, {}};
    Element one;
    for (const auto* contribution : contributions) one.contributions.push_back(contribution->data() + i * size);
    one.result = result.data() + number++ * size;
    if (const std::string wrong = check(operation, one); !wrong.empty())
      return {true, fmt::format("element {} of the result {}", element - shape.first, wrong)};
  }
  return {};
}

}  // namespace reprise::flow
