// A datatype as C source: for programs that show what goes wrong without the one in which it did.
#pragma once

#include <string>

#include "engine/type_tree.hpp"

namespace reprise::flow {

// No program needs to make it, nor may free it.
bool is_predefined(const engine::TypeTree& tree);

// Whether all of it is known.
bool can_be_made(const engine::TypeTree& tree);

// Statements (C99) that make the type, without the leading declaration of `variable`; indented by two spaces. Types
// that it is made of become variables named after it (`variable`_1 ...), which are freed as soon as they are not
// needed. The type itself is committed. One that cannot be made becomes MPI_DATATYPE_NULL.
std::string type_code(const engine::TypeTree& tree, const std::string& variable);

}  // namespace reprise::flow
