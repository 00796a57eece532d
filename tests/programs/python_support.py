"""What the Python test programs share, as common.h for those in C: one output file per rank, delays, a digest.

Random numbers only ever delay: nothing random may reach the output by another way than the order of messages.
"""

import os
import sys
import time
import zlib


class Output:
    def __init__(self, rank):
        directory = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OUT_DIR", ".")
        self.file = open(os.path.join(directory, f"out-{rank}.txt"), "w", buffering=1)
        self.digest = 0

    def say(self, *words):
        line = " ".join(map(str, words))
        self.digest = zlib.crc32(line.encode(), self.digest)
        self.file.write(line + "\n")

    def finish(self, comm):
        """Everybody learns what rank 0 saw, so every rank's output depends on the order of messages."""
        own = self.digest
        self.say("rank 0 saw", comm.bcast(own, root=0), "and I saw", own)
        self.say("done")


def jitter(most):
    """Sleeps for up to `most` seconds."""
    time.sleep(most * int.from_bytes(os.urandom(2), "little") / 65536)
