// One order of all messages that the program's nodes have received (DR-MCAPI, section 3.3.1: unique arrival order). Only where the user
// wants a replay that is identical, and not only equivalent.
//
// The paper holds sends back until their turn has come, by a thread that makes them later. Here the arrivals wait for each other, in the
// receives: a node that had to wait in a send could not send what others wait for.
#pragma once

#include <cstdint>

namespace reprise::mcapi {

// Is there such an order, in this recording or in the recorded run?
bool orders_arrivals();
// Recording: the number of the message that has just come.
std::int64_t next_arrival();
// Replaying: waits until all before it have come. Then it has, too.
void await_arrival(std::int64_t number);

}  // namespace reprise::mcapi
