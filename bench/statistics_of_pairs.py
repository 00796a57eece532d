"""Ratios of medians with confidence intervals, from interleaved runs."""

import random
import statistics

RESAMPLES = 4000


def ratio(values, base):
    """Ratio of the medians and its 95 % interval (percentile bootstrap over the rounds: a round's runs stay together,
    because they saw the same state of the machine)."""
    rng = random.Random(len(values))
    rounds = range(len(values))
    ratios = []
    for _ in range(RESAMPLES):
        picked = rng.choices(rounds, k=len(values))
        ratios.append(statistics.median(values[i] for i in picked) / statistics.median(base[i] for i in picked))
    ratios.sort()
    return {"ratio": statistics.median(values) / statistics.median(base),
            "low": ratios[int(0.025 * RESAMPLES)], "high": ratios[int(0.975 * RESAMPLES) - 1]}


def per_call_ns(values, base, calls):
    """Extra nanoseconds per call of the busiest rank, with the same kind of interval."""
    rng = random.Random(len(values))
    rounds = range(len(values))
    differences = []
    for _ in range(RESAMPLES):
        picked = rng.choices(rounds, k=len(values))
        differences.append(statistics.median(values[i] for i in picked) - statistics.median(base[i] for i in picked))
    differences.sort()
    scale = 1e9 / calls
    return {"ns": (statistics.median(values) - statistics.median(base)) * scale,
            "low": differences[int(0.025 * RESAMPLES)] * scale,
            "high": differences[int(0.975 * RESAMPLES) - 1] * scale}
