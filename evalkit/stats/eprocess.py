"""Evidence that may be looked at whenever one likes: for audits, and for going on after a plan has ended.

The likelihood ratio of two rates, run by run, is an e-process: were the first rate true, or one further off, it exceeds
1 / alpha at any time with probability at most alpha (Ville 1939; Wald 1945; Grünwald, de Heide and Koolen 2024). That
holds for every rule of stopping, whatever was seen before, as long as the runs are independent with one rate each. A
plan of `sprt` needs fewer runs, but holds only at its own looks.
"""

from __future__ import annotations

from math import log, log1p

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.errors import InputError
from evalkit.stats.arguments import check_rates, check_share
from evalkit.stats.stopping import Step

__all__ = ["audit", "log_evidence"]


def log_evidence(failures: ArrayLike, runs: ArrayLike, p_good: float, p_bad: float) -> NDArray[np.float64]:
    """The natural log of the likelihood ratio of pass rate `p_bad` to `p_good`, after some failures in some runs.

    Its exponential is the e-value against "the rate is `p_good` or more", that of its negative the one against "the
    rate is `p_bad` or less".

    Raises:
        InputError: counts can't be, a rate is no share, or `p_bad` is not below `p_good`.
    """
    check_rates(p_good, p_bad)
    failed, ran = np.asarray(failures, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    if not ((failed >= 0) & (failed <= ran) & np.isfinite(ran)).all():
        raise InputError("more failures than runs, or fewer than none", cure="give 0 <= failures <= runs")
    ratio: NDArray[np.float64] = failed * (log1p(-p_bad) - log1p(-p_good)) + (ran - failed) * log(p_bad / p_good)
    return ratio


def audit(
    passed: ArrayLike, p_good: float, p_bad: float, alpha: float = 0.05, beta: float = 0.05
) -> tuple[Step, int | None]:
    """What a sequence of runs shows, judged after every single one.

    Args:
        passed: whether each run passed, in the order of the runs' index.
        p_good: a pass rate that must pass.
        p_bad: a lower pass rate that must fail.
        alpha: the probability of ever failing when the rate is `p_good` or more.
        beta: the probability of ever passing when the rate is `p_bad` or less.

    Returns:
        PASS or FAIL and after how many runs it was first shown; RUN_ON and None while neither is.

    Raises:
        InputError: an argument is outside of its range.
    """
    check_share("alpha", alpha)
    check_share("beta", beta)
    outcomes = np.asarray(passed, dtype=bool).reshape(-1)
    runs = np.arange(1, len(outcomes) + 1)
    evidence = log_evidence(np.cumsum(~outcomes), runs, p_good, p_bad)
    shown = np.flatnonzero((evidence >= -log(alpha)) | (evidence <= log(beta)))
    if not len(shown):
        return "RUN_ON", None
    first = int(shown[0])
    return ("FAIL" if evidence[first] > 0 else "PASS"), first + 1
