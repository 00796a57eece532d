// Runs when the preload library is loaded, into whatever process that may be.
#include "engine/session.hpp"

namespace {

// Reads the settings before the program changes its environment, and registers for exit before the program does.
__attribute__((constructor)) void arm() { reprise::engine::Session::get(); }

}  // namespace
