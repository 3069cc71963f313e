"""StereoSet's scores are those published for ten models, and behave as they must."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isogloss.errors import DataError, EmptyInputError
from isogloss.metrics import stereoset_counts, stereoset_scores

SPLITS = {"intrasentence": ("intrasentence",), "intersentence": ("intersentence",),
          "overall": ("intrasentence", "intersentence")}  # fmt: skip
DOMAINS = ("gender", "profession", "race", "religion", "overall")
ROLES = ("stereotype", "anti-stereotype", "unrelated")


def triples(gold, predictions, splits, domain):
    """Terms and the three columns of scores of one split (or both) and domain."""
    rows = []
    for split in splits:
        score = {row["id"]: row["score"] for row in predictions[split]}
        for example in gold["data"][split]:
            if domain in ("overall", example["bias_type"]):
                by_role = {sentence["gold_label"]: score[sentence["id"]] for sentence in example["sentences"]}
                rows.append((example["target"], *(by_role[role] for role in ROLES)))
    return tuple(zip(*rows, strict=True))


def read(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", ["en", "ptbr"])
def test_published_scores_of_all_models_splits_and_domains_are_reproduced(language, shared):
    folder = shared / "data" / "stereoset"
    gold, expected = read(folder / f"dev_{language}.json"), read(folder / "expected_scores.json")[language]
    n_checked = 0
    for model, by_split in expected.items():
        file = folder / "predictions" / f"{language}_{model}.json"
        if not file.exists():
            continue
        predictions = read(file)
        for split, parts in SPLITS.items():
            for domain in DOMAINS:
                published = by_split.get(split, {})
                published = published.get(domain, published if domain == "overall" else None)
                if not published or "SS Score" not in published:
                    continue
                found = stereoset_scores(*triples(gold, predictions, parts, domain))
                close = {"abs": 1e-9} if language == "en" else {"abs": 0.00501}
                wanted = [published[name] for name in ("SS Score", "LM Score", "ICAT Score")]
                assert list(found) == pytest.approx(wanted, **close), (model, split, domain)
                n_checked += 1
    assert n_checked >= (7 if language == "en" else 3) * 10


def test_a_tie_counts_as_anti_stereotype_and_as_not_related():
    counts = stereoset_counts(["a"], [1.0], [1.0], [1.0])
    assert (counts.n_pro.tolist(), counts.n_related.tolist()) == ([0], [0])


def test_a_term_with_one_example_weighs_as_much_as_any_other():
    terms = ["often"] * 9 + ["once"]
    scores = stereoset_scores(terms, [2.0] * 9 + [0.0], [1.0] * 10, [-1.0] * 10)
    assert scores.ss == 50.0  # not 90
    assert scores == (50.0, 100.0, 100.0)


def test_what_cannot_be_scored_is_said():
    with pytest.raises(EmptyInputError, match="at least one example"):
        stereoset_scores([], [], [], [])
    with pytest.raises(DataError, match=r"anti_stereotype: expected 2 scores, one an example, got shape \(1,\)"):
        stereoset_scores(["a", "b"], [1, 2], [1], [1, 2])
    with pytest.raises(DataError, match="unrelated: score of example 1 is no number"):
        stereoset_scores(["a", "b"], [1, 2], [1, 2], [0, float("nan")])
