// The bodies of the functions that decide something. Each logs its outcome in record mode and forces it in replay.
#pragma once

#include "frontends/mpi/body_completion.hpp"
#include "frontends/mpi/body_life.hpp"
#include "frontends/mpi/body_receive.hpp"
