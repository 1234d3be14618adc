"""Notices: signs that samples of one case were not runs of one thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evalkit.suite.case_ref import CaseRef
from evalkit.suite.model import Outcome, Policy, Sample, Served, Suite
from evalkit.verdict.compare import case_verdicts
from evalkit.verdict.notices import run_notices
from evalkit.verdict.plans import make_plans

LETTERS: dict[str, Outcome] = {"p": "passed", "f": "failed", "m": "missed"}


def case(letters: str, served: Sequence[Served | None] = (), start: int = 0, case_id: str = "a") -> list[Sample]:
    """A case's samples in the order of their letters."""
    answers = served or [None] * len(letters)
    return [
        Sample(case_id, 1, at, LETTERS[letter], served=one, order=start + at, input_tokens=100)
        for at, (letter, one) in enumerate(zip(letters, answers, strict=True))
    ]


def test_ordinary_runs_have_no_notices() -> None:
    """Without a live model; flaky in any order; with one model and one configuration all along."""
    assert run_notices({"a": case("pppppppp")}) == ()
    assert run_notices({"a": case("pfppfpppfp")}) == ()
    assert run_notices({"a": case("pfpp", [Served(("m",), ("fp_1",), ("s",), ("t",))] * 4)}) == ()
    assert run_notices({}) == ()


def test_an_order_that_mattered_is_noticed() -> None:
    """All failures in the later half of the run, over two cases; where cases differ but not their halves, none is."""
    found = run_notices({"a": case("pppppfffff"), "b": case("pppppffpff", start=10, case_id="b")})
    assert len(found) == 1
    assert "earlier half passed 10 of 10, the later half 1 of 10" in found[0]
    assert run_notices({"a": case("pppppppppp"), "b": case("ffffffffff", start=10, case_id="b")}) == ()


def test_an_order_that_comes_about_by_chance_once_in_twenty_runs_is_no_sign() -> None:
    """Five of five, then one of five: p 0.048."""
    assert run_notices({"a": case("pppppffffp")}) == ()


def test_the_order_is_that_of_the_run_not_of_the_index() -> None:
    """Samples were finished the other way round: the failures came first."""
    samples = case("pppppfffff")
    turned = [Sample("a", 1, one.index, one.outcome, order=9 - one.order) for one in samples]
    (notice,) = run_notices({"a": turned})
    assert "earlier half passed 0 of 5, the later half 5 of 5" in notice


def test_a_run_that_goes_on_until_one_fails_is_no_sign_of_an_order() -> None:
    """Where failures end a case's samples they are always late; between two looks they are not."""
    refs = [CaseRef("", f"c{at:02}", 1, "", "reviewed", "t", "", "", ()) for at in range(12)]
    suite = Suite("s", samples=10, policy=Policy("zero_failures"))
    letters = ("pppppfpppp", "ppppppppfp")  # where in the last five it is does not matter
    samples = {ref.id: case(letters[at % 2], start=10 * at, case_id=ref.id) for at, ref in enumerate(refs)}
    assert run_notices(samples, plans=make_plans(suite, refs, {})) == ()
    fixed = make_plans(replace(suite, sequential=False), refs, {})
    (notice,) = run_notices(samples, plans=fixed)
    assert notice.startswith("the order of the samples mattered")


def test_a_providers_new_configuration_is_noticed() -> None:
    """With where it changed, or how the configurations were mixed."""
    old, new = Served(("m",), ("fp_1",)), Served(("m",), ("fp_2",))
    (changed,) = run_notices({"a": case("pppp", [old] * 2 + [new] * 2)})
    assert "of m was not one and the same during the run: fp_1, then fp_2" in changed
    (mixed,) = run_notices({"a": case("pppp", [old, new, old, old])})
    assert "fp_1 in 3, fp_2 in 1 samples" in mixed


def test_two_models_have_two_configurations() -> None:
    """Cases that ask different models are no change of either."""
    one, other = Served(("m",), ("fp_1",)), Served(("n",), ("fp_2",))
    samples = {"a": case("ppp", [one] * 3), "b": case("ppp", [other] * 3, start=3, case_id="b")}
    assert run_notices(samples) == ()


def test_a_change_is_noticed_while_many_replays_are_under_way() -> None:
    """Those in the middle asked both models; those before and after asked one each."""
    old, both, new = (Served(models) for models in (("m-0301",), ("m-0301", "m-0401"), ("m-0401",)))
    (notice,) = run_notices({"a": case("pppppp", [old, old, both, both, new, new])})
    assert notice == "the model changed during the run: m-0301, then m-0401 (case a)"
    assert run_notices({"a": case("pppppp", [both, old, both, both, new, both])}) == ()
    overtaken = [old] * 5 + [new, old] + [both] * 3 + [new] * 5
    assert len(run_notices({"a": case("p" * len(overtaken), overtaken)})) == 1
    assert run_notices({"a": case("p" * 12, [old, new] * 6)}) == ()


def test_another_model_behind_the_name_is_noticed() -> None:
    """First one answers a case, then the other; an agent that asks both in turn is none."""
    old, new = Served(("m-0301",)), Served(("m-0401",))
    (notice,) = run_notices({"a": case("pppp", [old] * 2 + [new] * 2)})
    assert notice == "the model changed during the run: m-0301, then m-0401 (case a)"
    assert run_notices({"a": case("pppp", [old, new, old, new])}) == ()


def test_an_edited_prompt_is_noticed() -> None:
    """Half of the samples were sent another one; prompts that differ in each sample are no edit."""
    old, new = Served(prompts=("1",)), Served(prompts=("2",))
    (notice,) = run_notices({"a": case("pppp", [old] * 2 + [new] * 2)})
    assert "system prompt changed during the run (case a)" in notice
    assert run_notices({"a": case("pppp", [Served(prompts=(str(at),)) for at in range(4)])}) == ()


def test_cached_answers_are_noticed() -> None:
    """Equal ids of a case's answers are one answer; ids that all cases have are no ids."""
    samples = {"a": case("pppp", [Served(answers=name) for name in ("x", "x", "y", "x")])}
    (notice,) = run_notices(samples)
    assert notice.startswith("2 of 4 samples got answers with the ids of an earlier sample's")
    constant = {**samples, "b": case("pp", [Served(answers="x")] * 2, start=4, case_id="b")}
    assert run_notices(constant) == ()


def test_a_providers_cache_is_noticed() -> None:
    """Tokens, their share, and in how many samples."""
    (notice,) = run_notices({"a": case("pp", [Served(cached_tokens=0), Served(cached_tokens=80)])})
    assert notice == "the provider read 80 input tokens from its cache, 40% of all (in 1 of 2 samples)"


def test_samples_that_were_tried_again_are_told() -> None:
    """An agent that ends its process in one run of ten is replayed until it does not: its rate would look perfect."""
    spoiled = [replace(one, outcome="errored", reason="its process died") for one in case("ppp")]
    (notice,) = run_notices({"a": case("p" * 10), "b": case("p" * 10, case_id="b")}, spoiled=[*spoiled, spoiled[0]])
    assert notice.startswith(
        "3 of 20 samples are those of a further attempt, most of them of case a (3 of 10; before: its process died): "
    )


def test_samples_that_were_raised_after_a_look_are_told() -> None:
    """Going on until it is told doubles a policy's errors; where none may fail there is nothing to go on for."""
    raised = ({"from": 20, "to": 40, "at": "now", "actor": "me"},)
    refs = [CaseRef("", "a", 1, "", "permanent", "t", "", "", (), check_text="[]")]
    samples = {"a": case("p" * 40)}
    for policy, told in ((Policy("min_rate"), True), (Policy("zero_failures"), False)):
        plans = make_plans(Suite("s", samples=40, policy=policy, sequential=False), refs, {})
        verdicts = case_verdicts(refs, samples, plans, None, frozen=False)
        notices = run_notices(samples, verdicts, raised=raised)
        assert any("raised from 20 to 40 after some were seen" in one for one in notices) is told
