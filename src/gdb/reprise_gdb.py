"""Commands for gdb while a rank is replayed alone: where it is in the recorded run, and how to get elsewhere.

    reprise where            number of the last call, the call, its source line, whom it heard
    reprise until EVENT      go on to this call, and stop before the program sees its outcome
    reprise message [N]      go on to the N-th call that sends or receives a message, or to the next one
    reprise calls [A-B]      the recorded calls around here, or some others

Loaded by `reprise replay --rank R --gdb`. The place of the rank lies in memory that it shares with the replay command:
eight bytes, calls made << 4 | state, and behind them the number of the call at which it is to stop (0: none).
"""

import json
import os
import struct
import subprocess

import gdb

PLACE_BYTES = 64
STATES = {0: "after", 1: "in", 2: "in", 3: "at the end of its log, after", 4: "after", 5: "after"}


def rank():
    return int(os.environ["REPRISE_RANK"])


def places(mode):
    try:
        return open(os.environ["REPRISE_PLACES"], mode)
    except (KeyError, OSError) as trouble:
        raise gdb.GdbError(f"reprise: the place of the rank is not known: {trouble}")


def place():
    with places("rb") as file:
        file.seek(rank() * PLACE_BYTES)
        word = struct.unpack("=Q", file.read(8))[0]
    return word >> 4, word & 15


def stop_at(event):
    with places("r+b") as file:
        file.seek(rank() * PLACE_BYTES + 8)
        file.write(struct.pack("=Q", event))


def recorded_calls(first, last):
    command = [os.environ["REPRISE_COMMAND"], "show", "--rank", str(rank()), "--events", f"{first}-{last}", "--json",
               os.environ["REPRISE_DIR"]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise gdb.GdbError(done.stderr.strip())
    logs = [log for log in json.loads(done.stdout)["logs"] if "thread" not in log]
    return logs[0]["calls"] if logs else []


def words(call):
    text = call["function"]
    for key in ("peer", "tag", "bytes"):
        if key in call:
            value = call[key]
            text += f", {key} {'ANY' if value == -1 and key != 'bytes' else value}"
    for outcome in call.get("wildcards", []):
        if outcome.get("state") == "matched":
            text += f", heard rank {outcome.get('source_world', outcome['source'])} with tag {outcome['tag']}"
    at = call.get("at", {})
    if "file" in at:
        text += f" at {os.path.basename(at['file'])}:{at['line']} ({at.get('function', '?')})"
    return text


class Reprise(gdb.Command):
    """Where a replayed rank is in its recorded run. See: reprise where, until, message, calls."""

    def __init__(self):
        super().__init__("reprise", gdb.COMMAND_RUNNING, prefix=True)


class Where(gdb.Command):
    """Number and place of the last recorded call, and whom it heard."""

    def __init__(self):
        super().__init__("reprise where", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        count, state = place()
        if count == 0:
            gdb.write(f"rank {rank()}: before its first recorded call\n")
            return
        calls = recorded_calls(count - 1, count - 1)
        text = words(calls[0]) if calls else "?"
        gdb.write(f"rank {rank()}: {STATES.get(state, 'after')} call {count - 1}: {text}\n")


class Until(gdb.Command):
    """reprise until EVENT: go on to the recorded call with this number (see reprise show), and stop there."""

    def __init__(self):
        super().__init__("reprise until", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        try:
            event = int(argument)
        except ValueError:
            raise gdb.GdbError("reprise until: which call? A number, as reprise show prints it")
        go_to(event)


def go_to(event):
    started = gdb.selected_inferior().pid != 0
    if started and place()[0] > event:
        raise gdb.GdbError(f"reprise: call {event} has been made already; begin again with run")
    stop_at(event + 1)
    gdb.execute("continue" if started else "run")
    leave_library()


class Message(gdb.Command):
    """reprise message [N]: go on to the N-th call, from 1, that sends or receives a message; without N, to the next."""

    PAGE = 1000

    def __init__(self):
        super().__init__("reprise message", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        try:
            left = int(argument or 1)
        except ValueError:
            raise gdb.GdbError("reprise message: the how manieth? A number, from 1")
        first = 0 if argument or gdb.selected_inferior().pid == 0 else place()[0]
        while calls := recorded_calls(first, first + self.PAGE - 1):
            for call in calls:
                # Splitting a communicator has a colour in the place of the tag.
                left -= "peer" in call and "tag" in call and not call["function"].startswith("MPI_Comm_")
                if left == 0:
                    go_to(call["number"])
                    return
            first += self.PAGE
        raise gdb.GdbError("reprise message: the recorded run has no such message")


class Calls(gdb.Command):
    """reprise calls [A-B]: recorded calls of this rank, by default those around the current one."""

    def __init__(self):
        super().__init__("reprise calls", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        count, _ = place()
        first, last = (argument.split("-") + [None])[:2] if argument else (max(0, count - 6), count + 4)
        for call in recorded_calls(first, last or first):
            mark = ">" if call["number"] == count - 1 else " "
            gdb.write(f"{mark} {call['number']:8}  {words(call)}\n")


def leave_library():
    """Shows the program's own frame: the ones above it are those of the preload library."""
    frame = gdb.selected_frame() if gdb.selected_inferior().pid else None
    while frame is not None and frame.is_valid():
        library = gdb.solib_name(frame.pc()) or ""
        symbol = frame.name() or ""
        if "libreprise" not in library and "libc.so" not in library and symbol not in ("raise", "__pthread_kill"):
            frame.select()
            gdb.execute("frame")
            return
        frame = frame.older()


Reprise()
Where()
Until()
Message()
Calls()
