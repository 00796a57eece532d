#!/usr/bin/env python3
"""MCAPI programs of the paper (DR-MCAPI, section 4), plain, recorded and replayed in its three ways: time, trace and memory, as its Figures
21 to 27 and Tables 6 and 9. Prints tables, and with --svg writes plots.

Times are those between the start of the nodes and the end of the last one, as in the paper; runs of all kinds take turns."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# Name, program, arguments, messages.
TREE = [(n, (n + 1) // 2) for n in range(3, 22, 2)]  # nodes, leaves (the rest but the root are inner nodes)
PROGRAMS = {
    "BT": [(f"{n}", ["binary_tree", str(n)], 10 * leaves + 5 * (n - 1 - leaves)) for n, leaves in TREE],
    "CG": [(f"{n}", ["complete_graph", str(n)], n * (n - 1) * 10) for n in range(2, 12)],
    "TN": [(f"{rounds}", ["complete_graph", "10", str(rounds)], 90 * rounds) for rounds in range(1, 11)],
    "Bully": [(f"{n}", ["bully", str(n)], None) for n in range(3, 13)],
    # Not of the paper: as many messages as it takes to see what one costs.
    "many": [(f"{rounds}", ["complete_graph", "10", str(rounds)], 90 * rounds) for rounds in (10, 1000)],
}
MODES = {"R": ["--mode", "receiver"], "S": ["--mode", "sender"], "D": ["--data", "all"]}
PAPER = {"record": {"R": 1.4, "S": 3.0, "D": 1.7}, "replay": {"R": 1.9, "S": 4.7, "D": "below 1"}}


class Bench:
    def __init__(self, build, processes):
        self.build = build.resolve()
        self.processes = ["--processes"] if processes else []
        self.dir = Path(tempfile.mkdtemp(prefix="mcapi-bench-"))
        # What the program itself writes is not what is measured, and making files takes long on some disks.
        memory = Path("/dev/shm")
        self.output = Path(tempfile.mkdtemp(prefix="mcapi-bench-", dir=memory if memory.is_dir() else None))
        self.traces = 0

    def run(self, command, name):
        figures = self.output / "figures"
        figures.unlink(missing_ok=True)
        env = os.environ | {"OUT_DIR": str(self.output), "EXAMPLE_FIGURES": str(figures)}
        done = subprocess.run(list(map(str, command)), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300)
        if done.returncode != 0 or not figures.exists():
            sys.exit(f"{name}: {' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr.decode()}")
        seconds, heap, rss = figures.read_text().split()[-3:]
        return float(seconds), int(heap), int(rss)

    def once(self, words):
        """One round of all kinds: {kind: (seconds, heap, rss)}, and trace bytes of each mode."""
        program = [self.build / "test-programs" / "mcapi" / words[0], *self.processes, *words[1:]]
        reprise = self.build / "bin" / "reprise"
        found, traces = {"plain": self.run(program, "plain")}, {}
        for mode, options in MODES.items():
            # Nothing is deleted before the end: some file systems look long for a place after that.
            self.traces += 1
            trace = self.dir / f"trace-{self.traces}"
            found["record", mode] = self.run([reprise, "record", "-q", *options, "-o", trace, "--", *program], f"record {mode}")
            traces[mode] = sum(path.stat().st_size for path in trace.iterdir() if path.name.endswith((".log", ".data")) or "rank-" in path.name)
            alone = ["--rank", "1"] if mode == "D" else []
            found["replay", mode] = self.run([reprise, "replay", "-q", "--yes", *alone, trace], f"replay {mode}")
        return found, traces


def middle(values):
    return statistics.median(values)


def svg(path, title, series, unit):
    """Lines over the sizes of one program."""
    colours = {"plain": "#555555", "R": "#1f6fb4", "S": "#c2410c", "D": "#2f855a"}
    width, height, left, bottom = 560, 340, 60, 40
    most = max(max(values) for values in series.values()) or 1
    longest = max(len(values) for values in series.values())
    place = lambda i, value: (left + i * (width - left - 110) / max(1, longest - 1), height - bottom - value / most * (height - bottom - 40))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
             f'<rect width="100%" height="100%" fill="white"/><text x="{left}" y="20" font-size="14">{title}</text>']
    for part in range(5):
        y = place(0, most * part / 4)[1]
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{width - 110}" y2="{y:.1f}" stroke="#dddddd"/>'
                     f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{most * part / 4:.3g}</text>')
    for number, (name, values) in enumerate(series.items()):
        points = " ".join("{:.1f},{:.1f}".format(*place(i, value)) for i, value in enumerate(values))
        colour = colours[name.split()[-1]]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
                     f'<text x="{width - 100}" y="{60 + 18 * number}" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{(width - 50) / 2}" y="{height - 10}" text-anchor="middle">{unit}</text></svg>')
    path.write_text("\n".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--programs", default="BT,CG,TN,Bully,many")
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--sizes", type=int, default=10, help="how many sizes of each program: all ten, or fewer of them")
    parser.add_argument("--processes", action="store_true", help="nodes are processes; otherwise threads, as in the paper")
    parser.add_argument("--svg", type=Path, help="a directory for plots")
    args = parser.parse_args()
    bench = Bench(args.build, args.processes)
    print(f"{os.cpu_count()} cores, {os.uname().machine}; nodes are {'processes' if args.processes else 'threads'}; {args.repeat} rounds, medians")
    overall = {}
    try:
        for name in args.programs.split(","):
            sizes = PROGRAMS[name][:: max(1, len(PROGRAMS[name]) // args.sizes)]
            curves = {}
            for size, words, messages in sizes:
                rounds = [bench.once(words) for _ in range(args.repeat)]
                plain = middle([found["plain"][0] for found, _ in rounds])
                line = f"{name} {size:>3}{'' if messages is None else f' ({messages} messages)'}: plain {plain * 1e3:.2f} ms;"
                curves.setdefault(("time", "plain"), []).append(plain * 1e3)
                for mode in MODES:
                    for step in ("record", "replay"):
                        ratio = middle([found[step, mode][0] / found["plain"][0] for found, _ in rounds])
                        heap = middle([found[step, mode][1] / found["plain"][1] for found, _ in rounds])
                        rss = middle([found[step, mode][2] / found["plain"][2] for found, _ in rounds])
                        if name != "many":
                            overall.setdefault((step, mode), []).append((ratio, heap, rss))
                        curves.setdefault((step, mode), []).append(middle([found[step, mode][0] for found, _ in rounds]) * 1e3)
                        line += f" {step} {mode} {ratio:.2f}x"
                    trace = middle([traces[mode] for _, traces in rounds])
                    curves.setdefault(("trace", mode), []).append(trace / 1024)
                    line += f" ({trace} bytes{'' if messages is None else f', {trace / messages:.1f} per message'});"
                print(line, flush=True)
            messages = [messages for _, _, messages in sizes]
            if None not in messages and len(messages) > 1:
                more = {mode: 1024 * (curves["trace", mode][-1] - curves["trace", mode][0]) / (messages[-1] - messages[0]) for mode in MODES}
                print(f"{name}: each further message takes " + ", ".join(f"{mode} {size:.2f}" for mode, size in more.items()) + " bytes", flush=True)
            if args.svg:
                args.svg.mkdir(parents=True, exist_ok=True)
                svg(args.svg / f"trace-{name}.svg", f"{name}: trace, KiB", {mode: curves["trace", mode] for mode in MODES}, "size of the program")
                for mode in MODES:
                    svg(args.svg / f"time-{mode}-{name}.svg", f"{name}, {mode}: time, ms",
                        {"plain": curves["time", "plain"], f"record {mode}": curves["record", mode], f"replay {mode}": curves["replay", mode]}, "size of the program")
    finally:
        shutil.rmtree(bench.dir, ignore_errors=True)
        shutil.rmtree(bench.output, ignore_errors=True)
    print("over all programs, medians: time, heap, resident memory against plain; the paper's average time")
    for (step, mode), figures in overall.items():
        print(f"  {step} {mode}: {middle([f[0] for f in figures]):.2f}x, {middle([f[1] for f in figures]):.2f}x, {middle([f[2] for f in figures]):.2f}x;"
              f" the paper {PAPER[step][mode]}{'x' if isinstance(PAPER[step][mode], float) else ''}")


if __name__ == "__main__":
    main()
