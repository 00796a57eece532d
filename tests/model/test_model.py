"""The brute-force model against what is known by counting."""

import math
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from language import (ANY, Barrier, Bcast, Cancel, If, Probe, Recv, Send, Test, Wait, Waitany, Waitsome)  # noqa: E402
from model import BUFFERINGS, MismatchedCollectives, is_deadlock, outcomes  # noqa: E402


def racing(senders):
    return [[Recv() for _ in range(senders)]] + [[Send(0)] for _ in range(senders)]


class Counts(unittest.TestCase):
    def check(self, program, count, deadlocks=0, bufferings=BUFFERINGS):
        for buffering in bufferings:
            found = outcomes(program, buffering)
            self.assertEqual(len(found), count, buffering)
            self.assertEqual(sum(map(is_deadlock, found)), deadlocks, buffering)

    def test_racing_senders(self):
        for senders in (1, 2, 3, 4):
            self.check(racing(senders), math.factorial(senders))

    def test_figure_1_1_of_the_paper(self):
        self.check([[Recv(), Recv(), Recv(), Barrier()]] + [[Send(0), Barrier()] for _ in range(3)], 6)

    def test_two_independent_receivers(self):
        self.check([[Recv(), Recv()], [Recv(), Recv()], [Send(0), Send(1)], [Send(0), Send(1)]], 4)

    def test_wildcard_after_barrier(self):
        # The second sender's message cannot be there before the barrier; the first one's may be late.
        self.check([[Barrier(), Recv(), Recv()], [Send(0), Barrier()], [Barrier(), Send(0)]], 2, bufferings=["infinite"])
        self.check([[Recv(), Barrier(), Recv()], [Send(0), Barrier()], [Barrier(), Send(0)]], 1)

    def test_messages_of_one_sender_stay_in_order(self):
        self.check([[Recv(), Recv()], [Send(0, tag=1), Send(0, tag=2)]], 1)
        self.check([[Recv(tag=2), Recv(tag=1)], [Send(0, tag=1), Send(0, tag=2)]], 1, bufferings=["infinite"])
        self.check([[Recv(tag=2), Recv(tag=1)], [Send(0, tag=1), Send(0, tag=2)]], 1, 1, bufferings=["none"])

    def test_communicators_do_not_mix(self):
        self.check([[Recv(comm=1), Recv(comm=0)], [Send(0, comm=0)], [Send(0, comm=1)]], 1)

    def test_collectives_do_not_match_other_collectives(self):
        with self.assertRaises(MismatchedCollectives):
            outcomes([[Barrier()], [Bcast(0)]])


class Traps(unittest.TestCase):
    """The examples of the rules: an explorer that forces too early, or branches too little, loses some of these."""

    def test_specific_receive_behind_a_wildcard(self):
        program = [[Recv(request="a"), Recv(1, request="b"), Wait("a"), Wait("b")], [Send(0), Send(0)], [Send(0)]]
        taken = {outcome[1][0] for outcome in outcomes(program)}
        self.assertEqual(taken, {((1, 0), (1, 1)), ((2, 0), (1, 0))})

    def test_completion_that_another_wildcard_releases(self):
        # b can be reported first, although rank 2 sends only after its own wildcard receive.
        program = [[Recv(1, request="a"), Recv(2, request="b"), Waitany(("a", "b"), "first")],
                   [Send(0), Send(2)], [Recv(), Send(0)], []]
        first = {outcome[0][0][0][0] for outcome in outcomes(program)}
        self.assertEqual(first, {0, 1})

    def test_message_that_another_wildcard_releases(self):
        # What rank 2 sends after its receive may still be taken first by rank 0.
        program = [[Recv(), Recv()], [Send(0), Send(2)], [Recv(), Send(0)]]
        self.assertEqual({outcome[1][0] for outcome in outcomes(program)}, {((1, 0), (2, 0)), ((2, 0), (1, 0))})

    def test_cross_coupled_wildcards(self):
        program = [[Recv(), Send(1), Recv()], [Recv(), Send(0), Recv()], [Send(0), Send(1)], [Send(0), Send(1)]]
        found = outcomes(program)
        # Each takes two of: a message of rank 2, of rank 3, and of the other. The other's comes after its first receive,
        # so it cannot be first on both sides.
        self.assertFalse(any(map(is_deadlock, found)))
        firsts = {(outcome[1][0][0][0], outcome[1][1][0][0]) for outcome in found}
        self.assertNotIn((1, 0), firsts)
        self.assertIn((1, 2), firsts)
        self.assertIn((2, 0), firsts)

    def test_probe_pins_nothing_but_presence(self):
        # Shown by a probe, a message is there: a poll for it cannot fail afterwards.
        program = [[Probe(into="p"), Probe(into="q", waits=False), Recv(), Recv()], [Send(0)], [Send(0)]]
        seen = [outcome[0][0] for outcome in outcomes(program)]
        self.assertFalse(any(what[1] == ("nothing",) for what in seen))
        # But the wildcard receive may take another message than the one shown.
        self.assertTrue(any(what[0] != what[2] for what in seen))

    def test_a_poll_may_fail_first(self):
        program = [[Probe(waits=False), Recv()], [Send(0)]]
        self.assertEqual({outcome[0][0][0] for outcome in outcomes(program)}, {("nothing",), (1, 0)})

    def test_cancel_comes_in_time_or_not(self):
        program = [[Recv(request="a"), Cancel("a"), Wait("a"), If("x", None, (), ())], [Send(0)]]
        self.assertEqual({outcome[0][0][0] for outcome in outcomes(program)}, {("cancelled",), (1, 0)})

    def test_waitsome_reports_any_set(self):
        program = [[Recv(1, request="a"), Recv(2, request="b"), Waitsome(("a", "b"))], [Send(0)], [Send(0)]]
        self.assertEqual({tuple(i for i, _ in outcome[0][0][0]) for outcome in outcomes(program)}, {(0,), (1,), (0, 1)})

    def test_test_may_say_no(self):
        program = [[Recv(request="a"), Test("a", "t"), Wait("a")], [Send(0)]]
        self.assertEqual(len(outcomes(program)), 2)


class Buffering(unittest.TestCase):
    def deadlocks(self, program):
        return {buffering: any(map(is_deadlock, outcomes(program, buffering))) for buffering in BUFFERINGS}

    def test_head_to_head(self):
        program = [[Send(1), Recv(1)], [Send(0), Recv(0)]]
        self.assertEqual(self.deadlocks(program), {"none": True, "infinite": False, "mixed": True})

    def test_modes(self):
        head = lambda mode: [[Send(1, mode=mode), Recv(1)], [Send(0, mode=mode), Recv(0)]]
        self.assertEqual(self.deadlocks(head("synchronous")), dict.fromkeys(BUFFERINGS, True))
        self.assertEqual(self.deadlocks(head("buffered")), dict.fromkeys(BUFFERINGS, False))

    def test_only_mixed_buffering_fails(self):
        # Rank 1 hears rank 2 before rank 0 only if rank 0's first send is buffered. It then sends to rank 2 first, which
        # waits for rank 0, which waits for rank 1: fatal only if that send is not buffered.
        program = [[Send(1, tag=1), Send(2, tag=2), Recv(1, tag=9), Send(2, tag=5)],
                   [Recv(tag=1, into="x"),
                    If("x", 2, (Send(2, tag=7), Recv(0, tag=1), Send(0, tag=9)),
                       (Recv(2, tag=1), Send(0, tag=9), Send(2, tag=7)))],
                   [Recv(0, tag=2), Send(1, tag=1), Recv(0, tag=5), Recv(1, tag=7)]]
        self.assertEqual(self.deadlocks(program), {"none": False, "infinite": False, "mixed": True})

    def test_a_root_runs_ahead(self):
        program = [[Bcast(0), Send(1)], [Recv(0), Bcast(0)]]
        self.assertEqual(self.deadlocks(program), {"none": True, "infinite": False, "mixed": False})

    def test_deadlock_that_depends_on_a_race(self):
        program = [[Recv(into="x"), If("x", 2, (Recv(1),), (Recv(1), Recv(1)))], [Send(0)], [Send(0)]]
        found = outcomes(program)
        self.assertEqual((len(found), sum(map(is_deadlock, found))), (2, 1))


if __name__ == "__main__":
    unittest.main()
