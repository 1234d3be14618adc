"""The A/B verdicts on recorded pairs of models, beside SciPy's of the same numbers, and R's where it is installed.

    python ci/bench/ab.py [CORPORA]

tau2-bench: the same tasks by two models, one trial each (``passed``: reward 1). gpt-4.1 against its fine-tuned variant
in three domains, and claude-sonnet-4-5 against qwen2.5-7b. Printed as JSON, per pair: the counts; ours and the other's
p-value and interval for the pass rate (McNemar's exact test, Student's t), latency and steps (t test of the differences
of logs; all 2^C sign flips are too many for SciPy too, so its are 99,999 random ones); the largest difference of any
two numbers; the verdict.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from math import expm1, log
from pathlib import Path
from typing import Any

import numpy as np
from corpora import asked_corpora
from scipy.stats import binomtest, permutation_test, ttest_1samp

from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Sample
from evalkit.verdict.ab import ABVerdict
from evalkit.verdict.ab_compare import ArmSamples, compare_arms

PAIRS = {
    "airline": ("gpt-4.1_airline_default_1trials", "ft-gpt-4.1-tau2-sft_airline_default_1trials"),
    "retail": ("gpt-4.1_retail_default_1trials", "ft-gpt-4.1-tau2-sft_retail_default_1trials"),
    "telecom": ("gpt-4.1_telecom_no-user_1trials", "ft-gpt-4.1-tau2-sft_telecom_no-user_1trials"),
    "airline, other models": ("qwen2.5-7b_airline_default_1trials", "claude-sonnet-4-5_airline_1trials"),
}
FLIPS = 99_999


def main() -> None:
    """Prints a table of each pair."""
    root = asked_corpora() / "tau2-bench"
    print(json.dumps({domain: pair(root, *names) for domain, names in PAIRS.items()}, indent=2))


def pair(root: Path, name_a: str, name_b: str) -> dict[str, Any]:
    """Ours beside theirs, for one domain."""
    a, b = samples(root / f"{name_a}.json"), samples(root / f"{name_b}.json")
    tasks = sorted(a.keys() & b.keys())
    cases = [CaseRef("", task, 1, "", "reviewed", task, "", "", ()) for task in tasks]
    arms = [ArmSamples(name, one, live=True) for name, one in ((name_a, a), (name_b, b))]
    found = compare_arms(cases, *arms)
    first = [(a[task][0], b[task][0]) for task in tasks]
    return {
        "tasks": len(tasks),
        "sentence": found.sentence,
        "notes": list(found.notes),
        "pass_rate": pass_rate(found, first),
        **{metric: change(found, metric, first) for metric in ("latency", "steps")},
    }


def pass_rate(found: ABVerdict, pairs: Sequence[tuple[Sample, Sample]]) -> dict[str, Any]:
    """CMH beside McNemar; the interval over cases beside SciPy's."""
    rate = found.rate
    assert rate is not None
    passed = [(one.outcome == "passed", other.outcome == "passed") for one, other in pairs]
    lost, gained = passed.count((True, False)), passed.count((False, True))
    mcnemar = binomtest(gained, gained + lost).pvalue
    interval = ttest_1samp([int(b) - int(a) for a, b in passed], 0.0).confidence_interval(0.95)
    theirs = {"p": mcnemar, "cases_like_these": [interval.low, interval.high]}
    told: dict[str, Any] = {
        "discordant": {"a_fails_b_passes": gained, "a_passes_b_fails": lost},
        "rates": [rate.a, rate.b],
        "evalkit": {
            "better": rate.better, "p": rate.p, "this_suite": [rate.low, rate.high],
            "cases_like_these": [rate.low_like, rate.high_like], "could_have_seen": rate.detectable,
        },
        "scipy": theirs,
        "largest_difference": largest([rate.p, rate.low_like, rate.high_like], [mcnemar, *interval]),
    }  # fmt: skip
    if r := from_r(passed):
        told["r"] = r
    return told


def change(found: ABVerdict, metric: str, pairs: Sequence[tuple[Sample, Sample]]) -> dict[str, Any]:
    """The change on the logarithm beside SciPy's t interval and sign flips."""
    ours = next(one for one in found.metrics if one.metric == metric)
    assert ours.change is not None
    values = [(value(metric, a) + ours.shift, value(metric, b) + ours.shift) for a, b in pairs]
    logs = np.array([log(b) - log(a) for a, b in values])
    interval = ttest_1samp(logs, 0.0).confidence_interval(0.95)
    theirs = {"change": expm1(logs.mean()), "low": expm1(interval.low), "high": expm1(interval.high)}
    flips = permutation_test((logs,), np.mean, permutation_type="samples", n_resamples=FLIPS, vectorized=True, rng=1)
    own = {"change": ours.change, "low": ours.low_like, "high": ours.high_like}
    suite = {"this_suite": [ours.low, ours.high], "p": ours.p, "p_adjusted": ours.p_adjusted}
    return {
        "evalkit": {**own, **suite, "p_like": ours.p_like, "better": ours.better},
        "scipy": {**theirs, "p": float(flips.pvalue)},
        "largest_difference": largest(list(own.values()), list(theirs.values())),
    }


def from_r(passed: Sequence[tuple[bool, bool]]) -> dict[str, float] | None:
    """R's exact CMH test and binomial test of the same pairs; None without R."""
    if shutil.which("Rscript") is None:
        return None
    a = ",".join(str(int(one)) for one, _ in passed)
    b = ",".join(str(int(other)) for _, other in passed)
    script = f"""
        a <- c({a}); b <- c({b})
        n <- length(a)
        x <- array(rbind(a, 1 - a, b, 1 - b), dim = c(2, 2, n))
        keep <- a != b
        cmh <- mantelhaen.test(x[, , keep, drop = FALSE], exact = TRUE)$p.value
        bin <- binom.test(sum(b > a), sum(keep))$p.value
        t <- t.test(b - a)$conf.int
        cat(sprintf("%.15g %.15g %.15g %.15g", cmh, bin, t[1], t[2]))
    """
    printed = subprocess.run(["Rscript", "-e", script], check=True, capture_output=True, text=True).stdout.split()
    cmh, mcnemar, low, high = map(float, printed)
    return {"mantelhaen.test(exact)": cmh, "binom.test": mcnemar, "t.test low": low, "t.test high": high}


def largest(ours: Sequence[float | None], theirs: Sequence[float]) -> float:
    """The largest difference of two lists of numbers."""
    return max(abs((one or 0.0) - other) for one, other in zip(ours, theirs, strict=True))


def value(metric: str, sample: Sample) -> float:
    """A sample's number, as the verdict takes it."""
    return sample.duration_s if metric == "latency" else float(sample.live_model)


def samples(path: Path) -> dict[str, list[Sample]]:
    """The file's simulations, by task."""
    found: dict[str, list[Sample]] = {}
    for body in json.loads(path.read_text("utf-8"))["simulations"]:
        task = str(body["task_id"])
        found.setdefault(task, []).append(sample(task, len(found.get(task, ())), body))
    return found


def sample(task: str, index: int, body: Mapping[str, Any]) -> Sample:
    """One simulation as a sample; its agent's messages are its steps."""
    return Sample(
        case_id=task,
        case_version=1,
        index=index,
        outcome="passed" if body["reward_info"]["reward"] == 1.0 else "failed",
        live_model=sum(message["role"] == "assistant" for message in body["messages"]),
        cost_usd=body["agent_cost"] or 0.0,
        duration_s=body["duration"],
        trace=f"{task}-{index}",
    )


if __name__ == "__main__":
    main()
