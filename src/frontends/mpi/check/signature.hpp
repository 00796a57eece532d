// What the program's datatypes are made of.
#pragma once

#include <memory>

#include "engine/type_signature.hpp"
#include "frontends/mpi/library.hpp"

namespace reprise::mpi::check {

using Signature = engine::TypeSignature;
using Kind = Signature::Kind;

// Kept until the type is freed.
std::shared_ptr<const Signature> signature_of(MPI_Datatype type);
void forget_signature(MPI_Datatype type);

}  // namespace reprise::mpi::check
