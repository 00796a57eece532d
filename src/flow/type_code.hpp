// A datatype as C source: for programs that show what goes wrong without the one in which it did.
#pragma once

#include <string>

#include "engine/type_tree.hpp"

namespace reprise::flow {

// Statements (C99) that make the type, without the leading declaration of `variable`; indented by two spaces. Types
// that it is made of become variables named after it (`variable`_1 ...), which are freed as soon as they are not
// needed. The type itself is committed. Only a type that is not sound cannot be made: it becomes MPI_DATATYPE_NULL.
std::string type_code(const engine::TypeTree& tree, const std::string& variable);

}  // namespace reprise::flow
