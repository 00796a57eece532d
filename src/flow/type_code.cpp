#include "flow/type_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "flow/reproducer_parts.hpp"

namespace reprise::flow {
namespace {

using engine::TypeTree;
using Made = TypeTree::Made;
using Numbers = std::span<const std::int64_t>;

// Longer lists would not fit on the stack.
constexpr std::size_t kLongestLiteral = 1000;

bool fits_int(std::int64_t value) {
  return value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
}

// C has no negative literals, and the least number has no positive counterpart.
std::string number(std::int64_t value) {
  return value == std::numeric_limits<std::int64_t>::min() ? fmt::format("({} - 1)", value + 1)
                                                           : fmt::format("{}", value);
}

std::string order(std::int64_t value) { return value == TypeTree::kOrderFortran ? "MPI_ORDER_FORTRAN" : "MPI_ORDER_C"; }

std::string distribution(std::int64_t value) {
  return value == TypeTree::kBlock    ? "MPI_DISTRIBUTE_BLOCK"
         : value == TypeTree::kCyclic ? "MPI_DISTRIBUTE_CYCLIC"
                                      : "MPI_DISTRIBUTE_NONE";
}

std::string argument(std::int64_t value) {
  return value == TypeTree::kDefaultArgument ? "MPI_DISTRIBUTE_DFLT_DARG" : number(value);
}

// Of the types for Fortran either may be left open.
std::string precision(std::int64_t value) {
  constexpr std::int64_t kUndefined = -32766;  // in all MPI libraries
  return value == kUndefined ? "MPI_UNDEFINED" : number(value);
}

// It was read from a file, and shall not become anything else than a name.
bool is_name(std::string_view name) {
  const auto belongs = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, belongs);
}

bool has_names(const TypeTree& tree) {
  return (tree.made != Made::Named || is_name(tree.name)) && std::ranges::all_of(tree.types, has_names);
}

class Writer {
 public:
  explicit Writer(std::string variable) : root_(std::move(variable)) {}

  void make(const TypeTree& tree, const std::string& variable);
  void statement(std::string_view text);
  const std::string& text() const { return text_; }

 private:
  std::string call(const TypeTree& tree, const std::vector<std::string>& types);
  std::string list(std::string_view of, const std::vector<std::string>& entries);
  template <class Write>
  std::string list(std::string_view of, Numbers values, Write write) {
    std::vector<std::string> entries;
    for (const std::int64_t value : values) entries.push_back(write(value));
    return list(of, entries);
  }

  std::string root_;
  std::string text_;
  int types_ = 0;
  int lists_ = 0;
};

void Writer::statement(std::string_view text) { text_ += reproducing::wrapped(fmt::format("  {}", text)); }

std::string Writer::list(std::string_view of, const std::vector<std::string>& entries) {
  if (entries.empty()) return fmt::format("({}[]){{0}}", of);  // C has no empty lists
  if (entries.size() <= kLongestLiteral || of == "MPI_Datatype")
    return fmt::format("({}[]){{{}}}", of, fmt::join(entries, ", "));
  std::string name = fmt::format("{}_list_{}", root_, ++lists_);
  statement(fmt::format("static const {} {}[] = {{{}}};", of, name, fmt::join(entries, ", ")));
  return name;
}

// The call, up to the type that it makes.
std::string Writer::call(const TypeTree& tree, const std::vector<std::string>& types) {
  const Numbers integers(tree.integers);
  const Numbers addresses(tree.addresses);
  const bool is_darray = tree.made == Made::Darray;
  // Functions for large counts take the same arguments, but all counts and places are MPI_Count.
  const bool is_large = !std::ranges::all_of(integers, [&](std::int64_t value) {
    return fits_int(value) || (is_darray && value == TypeTree::kDefaultArgument);
  });
  const std::string_view count_type = is_large ? "MPI_Count" : "int";
  const std::string_view place_type = is_large ? "MPI_Count" : "MPI_Aint";
  const std::size_t many = integers.empty() ? 0 : static_cast<std::size_t>(integers[is_darray ? 2 : 0]);
  const auto plain = [&](std::size_t at) { return number(integers[at]); };
  const auto counts = [&](std::size_t from) { return list(count_type, integers.subspan(from, many), number); };
  const auto places = [&] { return list(place_type, addresses, number); };
  // Lists may become statements of their own, so it matters that the arguments are written from left to right.
  const auto written = [&](std::string_view function, std::initializer_list<std::string> arguments) {
    return fmt::format("MPI_Type_{}{}({}", function, is_large ? "_c" : "", fmt::join(arguments, ", "));
  };
  switch (tree.made) {
    case Made::Dup: return written("dup", {types[0]});
    case Made::Contiguous: return written("contiguous", {plain(0), types[0]});
    case Made::Vector: return written("vector", {plain(0), plain(1), plain(2), types[0]});
    case Made::Hvector: return written("create_hvector", {plain(0), plain(1), number(addresses[0]), types[0]});
    case Made::Indexed: return written("indexed", {plain(0), counts(1), counts(1 + many), types[0]});
    case Made::Hindexed: return written("create_hindexed", {plain(0), counts(1), places(), types[0]});
    case Made::IndexedBlock: return written("create_indexed_block", {plain(0), plain(1), counts(2), types[0]});
    case Made::HindexedBlock: return written("create_hindexed_block", {plain(0), plain(1), places(), types[0]});
    case Made::Struct: return written("create_struct", {plain(0), counts(1), places(), list("MPI_Datatype", types)});
    case Made::Subarray:
      return written("create_subarray",
                     {plain(0), counts(1), counts(1 + many), counts(1 + 2 * many), order(integers.back()), types[0]});
    case Made::Darray:
      return written(
          "create_darray",
          {plain(0), plain(1), plain(2), counts(3), list("int", integers.subspan(3 + many, many), distribution),
           list("int", integers.subspan(3 + 2 * many, many), argument),
           list("int", integers.subspan(3 + 3 * many, many), number), order(integers.back()), types[0]});
    case Made::Resized: return written("create_resized", {types[0], number(addresses[0]), number(addresses[1])});
    case Made::F90Integer: return written("create_f90_integer", {precision(integers[0])});
    case Made::F90Real: return written("create_f90_real", {precision(integers[0]), precision(integers[1])});
    case Made::F90Complex: return written("create_f90_complex", {precision(integers[0]), precision(integers[1])});
    case Made::Named:
    case Made::Unknown: break;
  }
  return {};
}

void Writer::make(const TypeTree& tree, const std::string& variable) {
  if (tree.made == Made::Named) return statement(fmt::format("{} = {};", variable, tree.name));
  std::vector<std::string> types;
  std::vector<std::string> to_free;
  // Large structs are often made of few types: each is made once.
  std::map<std::vector<std::uint8_t>, std::string> made;
  for (const TypeTree& type : tree.types) {
    if (type.made == Made::Named) {
      types.push_back(type.name);
      continue;
    }
    std::string& part = made[engine::to_bytes(type)];
    if (part.empty()) {
      part = fmt::format("{}_{}", root_, ++types_);
      statement(fmt::format("MPI_Datatype {};", part));
      make(type, part);
      if (!is_predefined(type)) to_free.push_back(part);
    }
    types.push_back(part);
  }
  statement(fmt::format("{}, &{});", call(tree, types), variable));
  for (const std::string& part : to_free) statement(fmt::format("MPI_Type_free(&{});", part));
}

}  // namespace

bool is_predefined(const TypeTree& tree) {
  return tree.made == Made::Named || tree.made == Made::F90Integer || tree.made == Made::F90Real ||
         tree.made == Made::F90Complex;
}

bool can_be_made(const TypeTree& tree) { return engine::is_sound(tree) && has_names(tree); }

std::string type_code(const engine::TypeTree& tree, const std::string& variable) {
  Writer writer(variable);
  if (!can_be_made(tree)) {
    writer.statement(fmt::format("{} = MPI_DATATYPE_NULL;  // how it was made is not known", variable));
    return writer.text();
  }
  writer.make(tree, variable);
  if (!is_predefined(tree)) writer.statement(fmt::format("MPI_Type_commit(&{});", variable));
  return writer.text();
}

}  // namespace reprise::flow
