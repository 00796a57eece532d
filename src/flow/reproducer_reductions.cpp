// Reductions in a reproducer: the elements, what each rank contributes, and what is made of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "flow/reproducer_parts.hpp"
#include "flow/reproducer_template.hpp"

namespace reprise::flow::reproducing {
namespace {

using trace::Operation;

struct Element {
  enum class Kind : std::uint8_t { Signed, Unsigned, Byte, Logical, Real, Complex, Pair };
  Kind kind = Kind::Signed;
  std::string type;   // in C
  std::string index;  // of a pair
  std::size_t size = 0;
  bool operator==(const Element&) const = default;
};

template <class Value, class Index>
Element pair(const char* value, const char* index) {
  struct Both {
    Value value;
    Index index;
  };
  return {Element::Kind::Pair, value, index, sizeof(Both)};
}

bool starts_with_any(const std::string& name, std::initializer_list<const char*> beginnings) {
  return std::ranges::any_of(beginnings, [&](const char* one) { return name.starts_with(one); });
}

// By the name of the predefined type: nothing if it is none that can be combined.
std::optional<Element> element_of(const std::string& name, std::uint64_t size) {
  using Kind = Element::Kind;
  if (name == "MPI_FLOAT_INT") return pair<float, int>("float", "int");
  if (name == "MPI_DOUBLE_INT") return pair<double, int>("double", "int");
  if (name == "MPI_LONG_INT") return pair<long, int>("long", "int");
  if (name == "MPI_SHORT_INT") return pair<short, int>("short", "int");
  if (name == "MPI_2INT" || name == "MPI_2INTEGER") return pair<int, int>("int", "int");
  if (name == "MPI_LONG_DOUBLE_INT") return pair<long double, int>("long double", "int");
  if (name == "MPI_2REAL") return pair<float, float>("float", "float");
  if (name == "MPI_2DOUBLE_PRECISION") return pair<double, double>("double", "double");
  const bool is_complex = name.find("COMPLEX") != std::string::npos;
  const std::uint64_t number = is_complex ? size / 2 : size;
  if (is_complex || starts_with_any(name, {"MPI_FLOAT", "MPI_DOUBLE", "MPI_LONG_DOUBLE", "MPI_REAL"})) {
    // Fortran's reals of 16 bytes are not C's.
    const bool is_long = name.find("LONG_DOUBLE") != std::string::npos && number == sizeof(long double);
    const char* const type = is_long ? "long double" : number == sizeof(double) ? "double" : number == sizeof(float) ? "float" : nullptr;
    if (!type || name == "MPI_2COMPLEX" || name == "MPI_2DOUBLE_COMPLEX") return std::nullopt;
    return Element{is_complex ? Kind::Complex : Kind::Real, type, {}, static_cast<std::size_t>(size)};
  }
  if (size != 1 && size != 2 && size != 4 && size != 8) return std::nullopt;
  const auto integer = [&](Kind kind) {
    return Element{kind, fmt::format("{}int{}_t", kind == Kind::Signed ? "" : "u", 8 * size), {}, static_cast<std::size_t>(size)};
  };
  if (name == "MPI_BYTE") return integer(Kind::Byte);
  if (starts_with_any(name, {"MPI_LOGICAL", "MPI_C_BOOL", "MPI_CXX_BOOL"})) return integer(Kind::Logical);
  if (starts_with_any(name, {"MPI_UNSIGNED", "MPI_UINT"})) return integer(Kind::Unsigned);
  if (starts_with_any(name, {"MPI_INT", "MPI_LONG", "MPI_SHORT", "MPI_SIGNED_CHAR", "MPI_AINT", "MPI_COUNT", "MPI_OFFSET"}))
    return integer(Kind::Signed);
  return std::nullopt;
}

Element element_of(const LoggedType& type) {
  const engine::TypeTree* tree = &type.tree;
  while (tree->made == engine::TypeTree::Made::Dup && tree->types.size() == 1) tree = &tree->types[0];
  std::optional<Element> element;
  if (tree->made == engine::TypeTree::Made::Named && type.flat.known) element = element_of(tree->name, type.flat.size);
  if (!element || static_cast<std::int64_t>(element->size) != type.flat.extent)
    throw Impossible{"a reduction of a type that is not known"};
  return *element;
}

// MPI 4.0, 6.9.2.
bool fits(Element::Kind kind, Operation operation) {
  using Kind = Element::Kind;
  const bool extreme = operation == Operation::Max || operation == Operation::Min;
  const bool arithmetic = operation == Operation::Sum || operation == Operation::Prod;
  const bool logical = operation == Operation::Land || operation == Operation::Lor || operation == Operation::Lxor;
  const bool bits = operation == Operation::Band || operation == Operation::Bor || operation == Operation::Bxor;
  if (operation == Operation::Replace) return true;
  switch (kind) {
    case Kind::Signed:
    case Kind::Unsigned: return extreme || arithmetic || logical || bits;
    case Kind::Byte: return bits;
    case Kind::Logical: return logical;
    case Kind::Real: return extreme || arithmetic;
    case Kind::Complex: return arithmetic;
    case Kind::Pair: return operation == Operation::Minloc || operation == Operation::Maxloc;
  }
  return false;
}

// Sums and products of small integers are exact in any order and in any type, if `ranks` of them do not overflow; of a
// product, all but four factors are one. x: something arbitrary.
std::string contribution(const Element& element, Operation operation, std::size_t ranks) {
  const std::string few = "(of + i + turn) % RANKS < 4";
  if (element.kind == Element::Kind::Pair) return fmt::format("{{({})(x % 5), ({})((x >> 8) % 100)}}", element.type, element.index);
  if (element.kind == Element::Kind::Complex && operation == Operation::Prod)
    return fmt::format("{{{0} ? 1 + x % 2 : 1, {0} ? (x >> 8) % 2 : 0}}", few);
  if (element.kind == Element::Kind::Complex) return "{(int)(x % 100) - 50, (int)((x >> 8) % 100) - 50}";
  switch (operation) {
    case Operation::Prod: return fmt::format("{} ? 1 + x % 3 : 1", few);
    case Operation::Land: return "x % (RANKS + 1) != 0";
    case Operation::Lor: return "x % (RANKS + 1) == 0";
    case Operation::Lxor: return "x % 2";
    case Operation::Band: return fmt::format("(element)~(1ULL << x % {})", 8 * element.size);
    case Operation::Bor: return fmt::format("(element)(1ULL << x % {})", 8 * element.size);
    case Operation::Bxor: return "(element)x";
    case Operation::Max:
    case Operation::Min:
    case Operation::Replace:
      if (element.kind != Element::Kind::Real) return "(element)x";
      break;
    default: break;
  }
  const std::size_t most = element.size == 1 ? std::min<std::size_t>(100, 127 / ranks) : 100;
  if (most < 2) return fmt::format("{} ? x % 2 : 0", few);
  if (element.kind == Element::Kind::Unsigned) return fmt::format("x % {}", most);
  return fmt::format("(int)(x % {}) - {}", most, most / 2);
}

std::string combined(const Element& element, Operation operation) {
  const bool is_real = element.kind == Element::Kind::Real;
  if (element.kind == Element::Kind::Complex && operation != Operation::Replace)
    return operation == Operation::Sum ? "(element){a.real + b.real, a.imaginary + b.imaginary}"
                                       : "(element){a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real}";
  switch (operation) {
    case Operation::Replace: return "(void)b, a";
    case Operation::Max: return "a > b ? a : b";
    case Operation::Min: return "a < b ? a : b";
    case Operation::Sum: return is_real ? "a + b" : "(element)((unsigned long long)a + (unsigned long long)b)";
    case Operation::Prod: return is_real ? "a * b" : "(element)((unsigned long long)a * (unsigned long long)b)";
    case Operation::Land: return "a && b";
    case Operation::Lor: return "a || b";
    case Operation::Lxor: return "!a != !b";
    case Operation::Band: return "(element)(a & b)";
    case Operation::Bor: return "(element)(a | b)";
    case Operation::Bxor: return "(element)(a ^ b)";
    default:
      return fmt::format("a.value {} b.value || (a.value == b.value && a.index < b.index) ? a : b",
                         operation == Operation::Maxloc ? ">" : "<");
  }
}

std::string same(const Element& element, Operation operation) {
  if (element.kind == Element::Kind::Pair) return "a.value == b.value && a.index == b.index";
  if (element.kind == Element::Kind::Complex) return "a.real == b.real && a.imaginary == b.imaginary";
  const bool logical = operation == Operation::Land || operation == Operation::Lor || operation == Operation::Lxor;
  return logical ? "!a == !b" : "a == b";  // of a truth value only that counts
}

std::string shown(const Element& element) {
  switch (element.kind) {
    case Element::Kind::Pair: return R"("%Lg at %Lg", (long double)one.value, (long double)one.index)";
    case Element::Kind::Complex: return R"("%Lg%+Lgi", (long double)one.real, (long double)one.imaginary)";
    case Element::Kind::Real: return R"("%Lg", (long double)one)";
    case Element::Kind::Signed: return R"("%lld", (long long)one)";
    default: return R"("%llu", (unsigned long long)one)";
  }
}

std::string code(const Element& element, std::uint64_t number, std::size_t ranks) {
  const auto operation = static_cast<Operation>(number - 2);
  if (number < 2 || number - 2 > static_cast<std::uint64_t>(Operation::Replace) || !fits(element.kind, operation))
    throw Impossible{"MPI does not say what this operation makes of this type"};
  const std::string type =
      element.kind == Element::Kind::Pair      ? fmt::format("struct {{\n  {} value;\n  {} index;\n}}", element.type, element.index)
      : element.kind == Element::Kind::Complex ? fmt::format("struct {{\n  {} real, imaginary;\n}}", element.type)
                                                : element.type;
  return fmt::format(R"(
typedef {} element;

// Nothing is rounded, and no sum or product overflows.
static element contribution(int of, long long i) {{
  const unsigned long long x = mixed(of, i);
  const element one = {};
  return one;
}}
static element combined(element a, element b) {{ return {}; }}
static int same(element a, element b) {{ return {}; }}
static void show(char* text, size_t size, element one) {{ snprintf(text, size, {}); }}
)",
                     type, contribution(element, operation, ranks), combined(element, operation), same(element, operation), shown(element));
}

}  // namespace

std::string element_code(const Plan& plan) {
  const std::uint64_t operation = plan.members[0].shape->operation;
  if (operation == 1) throw Impossible{"the operation is the program's own"};
  std::optional<Element> element;
  for (const Member& member : plan.members) {
    const LoggedShape& shape = *member.shape;
    if (shape.operation != operation) throw Impossible{"the members combine with different operations"};
    for (const LoggedType* type : {shape.gives.empty() ? nullptr : shape.gives[0].type, gets_result(shape) ? shape.element : nullptr}) {
      if (!type) continue;
      const Element one = element_of(*type);
      if (element && *element != one) throw Impossible{"the members combine different types"};
      element = one;
    }
  }
  if (!element) throw Impossible{"MPI does not say what this operation makes of this type"};
  return code(*element, operation, plan.members.size()) + std::string(kPlainPlaces);
}

namespace {

// The predefined type that all of it consists of; null if there are several.
const engine::TypeTree* only_element(const engine::TypeTree& tree) {
  if (tree.made == engine::TypeTree::Made::Named) return &tree;
  const engine::TypeTree* only = nullptr;
  for (const engine::TypeTree& type : tree.types) {
    const engine::TypeTree* const one = only_element(type);
    if (!one || (only && only->name != one->name)) return nullptr;
    only = one;
  }
  return only;
}

}  // namespace

std::string element_code(Types& types, const LoggedBlock& block, std::uint64_t operation, std::uint64_t& elements) {
  const engine::TypeTree* const tree = only_element(block.type->tree);
  const engine::FlatType& flat = block.type->flat;
  const auto element = tree ? element_of(tree->name, tree->size) : std::nullopt;
  // Pairs may have padding of their own, which does not travel.
  const bool is_named = tree == &block.type->tree;
  if (!element || static_cast<std::int64_t>(element->size) != tree->extent || (element->size != tree->size && !is_named))
    throw Impossible{"an accumulate of a type that consists of several, or is not known"};
  elements = block.count * (flat.size / tree->size);
  std::string text = code(*element, operation, 2);  // the window, and who accesses it
  if (is_named) return text + std::string(kPlainPlaces);
  std::string places(kLayoutPlaces);
  const auto put = [&](std::string_view mark, const std::string& value) {
    for (std::size_t at; (at = places.find(mark)) != std::string::npos;) places.replace(at, mark.size(), value);
  };
  put("@LAYOUT@", types.layout(block));
  put("@BYTES@", fmt::format("{}", flat.size));
  return text + places;
}

}  // namespace reprise::flow::reproducing
