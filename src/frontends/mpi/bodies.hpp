// The bodies of the functions that decide something. Each logs its outcome in record mode and forces it in replay.
#pragma once

#include "frontends/mpi/body_callback.hpp"
#include "frontends/mpi/body_completion.hpp"
#include "frontends/mpi/body_life.hpp"
#include "frontends/mpi/body_probe.hpp"
#include "frontends/mpi/body_receive.hpp"
#include "frontends/mpi/body_request.hpp"
#include "frontends/mpi/body_send.hpp"
#include "frontends/mpi/body_sendrecv.hpp"
#include "frontends/mpi/body_topology.hpp"
#include "frontends/mpi/body_window.hpp"
