"""Every study, taken all the way by informants whose behaviour is known: what each must come to."""

from __future__ import annotations

import pytest

from isogloss import run_study, studies
from isogloss.records import Estimate

STUDIES = [(name, sample) for name in studies.names() for sample in studies.get(name).samples]
LIMIT = 60
IN_WORDS = {"stereotypes": {"rule": "forced_choice"}}
"""Settings under which a study asks for words rather than for log-probabilities."""


def measured(study: str, sample: str, informant: str, out) -> list[Estimate]:
    """Estimates that stand on a model's answers, each with the statuses of all it was asked."""
    settings = {"resamples": "50", **IN_WORDS.get(study, {})}
    run = run_study(study, sample, models=[f"scripted/{informant}"], out=out, limit=LIMIT, settings=settings)
    return [estimate for estimate in run.records if "model" in estimate.group and "(" not in estimate.measure]


@pytest.mark.parametrize(("study", "sample"), STUDIES)
@pytest.mark.parametrize(
    ("informant", "status"),
    [
        ("refuses", "refused"),
        ("empty", "unparsed"),
        ("rambles", "unparsed"),
        ("truncated", "truncated"),
        ("crashes", "failed"),
    ],
)
def test_silence_is_missing_and_never_a_value(study, sample, informant, status, tmp_path):
    estimates = measured(study, sample, informant, tmp_path)
    assert estimates
    for estimate in estimates:
        assert estimate.value is None
        assert estimate.n_scored == 0
        assert dict(estimate.missing) == ({status: estimate.n_answers} if estimate.n_answers else {})


@pytest.mark.parametrize(("study", "sample"), STUDIES)
@pytest.mark.parametrize("language", ["es", "pt", "en"])
def test_refusals_are_told_in_every_language_of_the_wordings(study, sample, language, tmp_path):
    estimates = measured(study, sample, f"refuses-{language}", tmp_path)
    assert {status for estimate in estimates for status in estimate.missing} == {"refused"}


def overall(estimates: list[Estimate], measure: str, reading: str = "strict") -> list[Estimate]:
    return [
        e
        for e in estimates
        if e.measure == measure and e.group.get("reading") == reading and not {"country", "area"} & set(e.group)
    ]


def test_a_perfect_informant_of_lexicon_gets_everything(tmp_path):
    estimates = measured("lexicon", "sample", "perfect", tmp_path)
    for reading in ("strict", "lenient"):
        for measure in ("f1", "youden_j", "mcc", "adjusted_jaccard", "adjusted_jaccard_first_order"):
            [estimate] = overall(estimates, measure, reading)
            assert (estimate.value, estimate.n_scored, dict(estimate.missing)) == (1.0, LIMIT, {})


def test_always_yes_gets_2p_over_1_plus_p_and_no_information(tmp_path):
    estimates = measured("lexicon", "sample", "always-yes", tmp_path)
    run = run_study("lexicon", "sample", models=["scripted/always-yes"], out=tmp_path, limit=LIMIT,
                    settings={"resamples": "50"})  # fmt: skip
    [share] = [e.value for e in run.records if e.measure == "share_plus" and dict(e.group) == {"format": "yes_no"}]
    [f1] = overall(estimates, "f1")
    [youden] = overall(estimates, "youden_j")
    assert f1.value == pytest.approx(2 * share / (1 + share))
    assert youden.value == 0
    against_itself = [e for e in overall(estimates, "delta_f1") if e.group["baseline"] == "always_yes"]
    assert [e.value for e in against_itself] == [pytest.approx(0)]
