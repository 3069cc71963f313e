"""A next-sentence head trained on a corpus: what it learns and scores, what is said of it, where it is refused."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import isogloss
from isogloss.cli.app import app
from isogloss.errors import AbilityError, DataError, IsoglossError, ModelError, SettingError
from isogloss.models import open_model
from isogloss.models.hf import HfModel
from isogloss.models.hf.corpus_pairs import LEAST_PAIRS, Corpus, make_pairs, read_corpus
from isogloss.models.hf.head_files import FACTS_FILE, WEIGHTS_FILE, HeadFacts
from isogloss.records import AnswerForm, Message, Prompt, Sampling

Tiny = Callable[..., Path]
Opened = Callable[..., Awaitable[HfModel]]
Trained = Callable[[str], Path]

THINGS = [("perro", "jardín"), ("niña", "libro"), ("coche", "España"), ("palta", "Chile"), ("dog", "garden")]
N_PAIRS = 800


def sentences(n_documents: int, length: int, *, is_noise: bool = False) -> list[list[str]]:
    """Documents that each speak of two things, in sentences of their own; in noise any thing may come next."""
    draw = random.Random(1)
    words = [word for pair in THINGS for word in pair]
    return [
        [
            f"La palabra {(word := draw.choice(words if is_noise else THINGS[k % len(THINGS)]))} {word} {k} {j}."
            for j in range(length)
        ]
        for k in range(n_documents)
    ]


def written(path: Path, documents: list[list[str]]) -> Path:
    path.write_text("\n\n".join("\n".join(document) for document in documents) + "\n", encoding="utf-8")
    return path


def corpus_of(documents: list[list[str]]) -> Corpus:
    return Corpus("c.txt", "", tuple(map(tuple, documents)))


def command(*words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)


def train(base: Path, corpus: Path, out: Path, *more: object) -> Result:
    return command("models", "train-head", f"hf/{base}", "--corpus", corpus, "--out", out, "--pairs", N_PAIRS, *more)


def facts_of(head: Path) -> HeadFacts:
    return HeadFacts.model_validate_json((head / FACTS_FILE).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 sentences, 550 of them with a next one in their document."""
    return written(tmp_path_factory.mktemp("corpus") / "cosas.txt", sentences(50, 12))


@pytest.fixture(scope="session")
def trained(tiny: Tiny, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """trained(shape) → folder of a head on a tiny model of that shape."""
    made: dict[str, Path] = {}

    def make(shape: str) -> Path:
        if shape not in made:
            made[shape] = tmp_path_factory.mktemp(f"head-{shape}") / "head"
            assert train(tiny(shape), corpus, made[shape], "--language", "ES").exit_code == 0
        return made[shape]

    return make


# --- pairs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("documents", [sentences(50, 12), sentences(1, 600), sentences(3, 400) + sentences(60, 2)])
@pytest.mark.parametrize("n_pairs", [400, 100_000])
def test_no_sentence_is_in_two_parts_and_none_tells_by_itself_whether_it_follows(
    documents: list[list[str]], n_pairs: int
) -> None:
    documents = [[f"{k}: {text}" for text in document] for k, document in enumerate(documents)]
    follows = {pair for document in documents for pair in pairwise(document)}
    parts = make_pairs(corpus_of(documents), n_pairs=n_pairs, seed=3)
    used = [{text for pair in part for text in (pair.first, pair.second)} for part in parts]
    assert not used[0] & used[1]
    assert not (used[0] | used[1]) & used[2]
    for part in parts:
        consecutive = [pair for pair in part if pair.follows]
        others = [pair for pair in part if not pair.follows]
        assert len(consecutive) == len(others)
        assert {(pair.first, pair.second) for pair in consecutive} <= follows
        assert not {(pair.first, pair.second) for pair in others} & follows
        assert Counter(pair.first for pair in consecutive) == Counter(pair.first for pair in others)
        assert Counter(pair.second for pair in consecutive) == Counter(pair.second for pair in others)
    n = sum(map(len, parts))
    assert n == 400 if n_pairs == 400 else n > 400
    assert 0.2 <= len(parts.held_out) / n < 0.3
    assert parts == make_pairs(corpus_of(documents), n_pairs=n_pairs, seed=3)
    assert parts != make_pairs(corpus_of(documents), n_pairs=n_pairs, seed=4)


def test_a_sentence_that_comes_twice_makes_no_pair() -> None:
    documents = [[*document[:5], "Anuncio.", *document[5:]] for document in sentences(50, 12)]
    parts = make_pairs(corpus_of(documents), n_pairs=10_000, seed=0)
    assert not any("Anuncio." in pair for part in parts for pair in part)


def test_a_corpus_is_read_line_by_line(tmp_path: Path) -> None:
    text = "\ufeff\r\n  Uno.\r\nDos   dos.\r\n \r\n\r\nTres.\r\n" + "".join(f"Y {k}.\n" for k in range(497))
    (tmp_path / "c.txt").write_bytes(text.encode())
    found = read_corpus(tmp_path / "c.txt")
    assert (found.name, found.n_sentences) == ("c.txt", 500)
    assert found.documents[0] == ("Uno.", "Dos dos.")
    assert found.documents[1][:2] == ("Tres.", "Y 0.")


# --- training ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["bert", "roberta", "xlm-r"])
def test_a_head_learns_what_goes_on_and_its_folder_says_how_well(shape: str, trained: Trained, corpus: Path) -> None:
    facts = facts_of(trained(shape))
    assert facts.low > 0.65
    assert facts.low < facts.accuracy < facts.high
    assert facts.accuracy * facts.held_out_pairs == pytest.approx(round(facts.accuracy * facts.held_out_pairs))
    assert facts.training_pairs + facts.held_out_pairs == N_PAIRS
    assert (facts.corpus, facts.sentences, facts.documents, facts.language) == ("cosas.txt", 600, 50, "es")
    assert (facts.corpus_sha256, facts.isogloss) == (read_corpus(corpus).sha256, isogloss.__version__)
    assert {file.name for file in trained(shape).iterdir()} == {FACTS_FILE, WEIGHTS_FILE}


def test_the_scale_of_a_feature_counts_for_nothing(transformers: Any) -> None:
    import torch

    from isogloss.models.hf.following import head_logits
    from isogloss.models.hf.train_head import Examples, fit

    stream = torch.Generator().manual_seed(0)
    classes = torch.arange(300) % 2
    plain = torch.randn(300, 4, generator=stream) + classes[:, None] * torch.tensor([2.0, 0.0, 0.0, 0.0])
    plain[:, 3] = 7.0  # says nothing at all
    found = []
    for scale in (torch.ones(4), torch.tensor([1000.0, 0.01, 1.0, 1.0])):
        parts = [Examples(plain[part] * scale, classes[part]) for part in (slice(0, 200), slice(200, 300))]
        weights, _ = fit(*parts, seed=0)
        found.append(head_logits(weights, plain * scale))
    assert torch.allclose(found[0], found[1], atol=1e-2)
    is_right = (found[0].argmax(1) == classes).float().mean()
    assert is_right > 0.8  # two normals two deviations apart: at best 0.84


def test_the_same_seed_gives_the_same_bytes_and_the_same_revision(
    trained: Trained, tiny: Tiny, corpus: Path, tmp_path: Path
) -> None:
    for name, seed in (("again", 0), ("other", 1)):
        train(tiny("roberta"), corpus, tmp_path / name, "--seed", seed)
    first, again, other = (
        (folder / WEIGHTS_FILE).read_bytes() for folder in (trained("roberta"), tmp_path / "again", tmp_path / "other")
    )
    assert first == again != other


def test_a_head_that_is_there_is_not_trained_again_and_another_one_not_overwritten(
    trained: Trained, tiny: Tiny, corpus: Path, tmp_path: Path
) -> None:
    head = trained("roberta")
    before = {file.name: file.stat().st_mtime_ns for file in head.iterdir()}
    done = train(tiny("roberta"), corpus, head, "--language", "es", "--json")
    assert "already" in done.stderr
    assert json.loads(done.stdout)["accuracy"] == facts_of(head).accuracy
    with pytest.raises(DataError, match="with other settings, model or corpus; give --out another folder"):
        train(tiny("roberta"), corpus, head, "--language", "es", "--seed", 5)
    assert {file.name: file.stat().st_mtime_ns for file in head.iterdir()} == before


def test_a_head_that_learnt_nothing_says_so(tiny: Tiny, tmp_path: Path) -> None:
    noise = written(tmp_path / "noise.txt", sentences(50, 12, is_noise=True))
    done = train(tiny("roberta"), noise, tmp_path / "head")
    assert done.exit_code == 0
    assert "careful: the head isn't clearly better than chance on held-out pairs: don't use its scores" in done.stderr
    facts = facts_of(tmp_path / "head")
    assert facts.low <= 0.5
    weak = facts.model_copy(update={"accuracy": 0.65, "low": 0.55, "high": 0.75})
    assert "weak (right on less than 0.7" in str(weak.caution)
    assert weak.model_copy(update={"accuracy": 0.7}).caution is None


# --- scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["bert", "roberta", "xlm-r"])
async def test_the_score_is_the_log_odds_worked_out_from_the_saved_weights(
    shape: str, transformers: Any, tiny: Tiny, trained: Trained, opened: Opened
) -> None:
    import torch
    from safetensors.torch import load_file

    model = await opened(trained(shape), batch_size=2)
    assert [name for name, able in model.abilities if able] == ["nsp_trained"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny(shape))
    bare = transformers.AutoModelForMaskedLM.from_pretrained(tiny(shape)).eval().base_model
    w = load_file(trained(shape) / WEIGHTS_FILE)
    cases = [
        ("La niña lee un libro.", ("La palabra libro.", "La palabra coche es larga.", "Sí.")),
        ("En Chile se dice palta y en México aguacate.", ("No.", "La palabra palta palta.")),
    ]
    form = AnswerForm(kind="next_sentence")
    prompts = [Prompt.make([Message(role="text", content=c)], candidates=cs, form=form) for c, cs in cases]
    responses = await asyncio.gather(*(model.ask(prompt, Sampling(), 1) for prompt in prompts))
    for (context, candidates), response in zip(cases, responses, strict=True):
        expected = []
        for candidate in candidates:
            a, b = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (context, candidate))
            first, last = tokenizer("a")["input_ids"][0], tokenizer("a")["input_ids"][-1]
            between = [last, last] if shape == "xlm-r" else [last]
            ids = [first, *a, *between, *b, last]
            start = 1 + len(a) + len(between)
            types = [0] * len(ids) if shape == "xlm-r" else [0] * start + [1] * (len(b) + 1)
            with torch.no_grad():
                states = bare(torch.tensor([ids]), token_type_ids=torch.tensor([types])).last_hidden_state[0]
            u, v = states[1 : 1 + len(a)].mean(0), states[start : start + len(b)].mean(0)
            inner = torch.tanh(w["dense.weight"] @ torch.cat([states[0], (u - v).abs(), u * v]) + w["dense.bias"])
            p = (w["out.weight"] @ inner + w["out.bias"]).double().softmax(0)
            expected.append(float((p[0] / (1 - p[0])).log()))
        assert response.candidate_logprobs == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("place", ["moved together", "hub's name"])
async def test_the_base_model_is_found_from_the_head(
    place: str, trained: Trained, tiny: Tiny, tmp_path: Path, opened: Opened
) -> None:
    head, base = tmp_path / "a" / "head", tmp_path / "a" / "base"
    shutil.copytree(tiny("roberta"), base)
    shutil.copytree(trained("roberta"), head)
    held = json.loads((head / FACTS_FILE).read_text())
    if place == "moved together":
        (head / FACTS_FILE).write_text(json.dumps({**held, "base": "hf/../base"}))
        (tmp_path / "a").rename(tmp_path / "b")
        head = tmp_path / "b" / "head"
        model = await opened(head)
    else:
        commit = "0123456789abcdef"
        (head / FACTS_FILE).write_text(json.dumps({**held, "base": "hf/owner/name", "base_revision": commit}))
        snapshot = tmp_path / "hub" / "models--owner--name" / "snapshots" / commit
        shutil.copytree(base, snapshot)
        variables = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_ENDPOINT": "http://127.0.0.1:9"}
        model = open_model(f"hf/{head}", environment=variables)
        await model.open()
        await model.close()
    assert "over hf/" in model.remarks[0]
    assert "right on" in model.remarks[0]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("base gone", "its base model isn't at"),
        ("base changed", "bring the old files back, or train the head anew"),
        ("weights", "isn't the one that next_sentence_head.json describes"),
        ("facts", "can't be read as the description of a trained head"),
    ],
)
async def test_a_head_whose_parts_do_not_fit_is_refused(
    damage: str, words: str, trained: Trained, tiny: Tiny, tmp_path: Path
) -> None:
    head, base = tmp_path / "head", tmp_path / "base"
    shutil.copytree(trained("roberta"), head)
    shutil.copytree(tiny("roberta"), base)
    held = json.loads((head / FACTS_FILE).read_text())
    (head / FACTS_FILE).write_text(json.dumps({**held, "base": "hf/../base"}))
    match damage:
        case "base gone":
            base.rename(tmp_path / "elsewhere")
        case "base changed":
            shutil.rmtree(base)
            shutil.copytree(tiny("bert"), base)
        case "weights":
            (head / WEIGHTS_FILE).write_bytes(b"damaged")
        case _:
            (head / FACTS_FILE).write_text("{}")
    with pytest.raises(ModelError, match=words):
        await open_model(f"hf/{head}", environment={}).open()


# --- the rule ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "said"), [("nsp_trained", "trained on a corpus"), ("next_sentence", "that the model came with")]
)
def test_a_run_scores_the_sample_under_a_rule_of_its_own(
    rule: str, said: str, trained: Trained, tiny: Tiny, tmp_path: Path
) -> None:
    folder = trained("roberta") if rule == "nsp_trained" else tiny("bert-next")
    done = command(
        "run", "stereotypes", "sample", "--model", f"hf/{folder}", "--set", f"rule={rule}", "--out", tmp_path / "run"
    )
    assert done.exit_code == 0
    run = isogloss.Run(tmp_path / "run")
    assert set(run.answers["format"]) == {rule}
    assert list(run.answers["status"]) == ["ok"] * 24
    assert {len(value) for value in run.answers["value"]} == {3}
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert f"Rule {rule}: log-odds of" in page
    assert said in page
    assert '<span class="who">log-odds</span>' in page
    assert ("right on" in page) == (rule == "nsp_trained")


@pytest.mark.parametrize(
    ("of_head", "rule", "words"),
    [
        (True, "next_sentence", "needs a model with a next-sentence head of its own"),
        (True, "masked", "needs a masked model"),
        (True, "causal", "needs log-probabilities of given text"),
        (False, "nsp_trained", "train one with 'isogloss models train-head MODEL --corpus FILE --out DIR'"),
    ],
)
def test_a_rule_and_a_model_that_do_not_fit_are_told_apart_before_anything_is_asked(
    of_head: bool, rule: str, words: str, trained: Trained, tiny: Tiny, tmp_path: Path
) -> None:
    folder = trained("roberta") if of_head else tiny("roberta")
    with pytest.raises(AbilityError, match=words):
        isogloss.run_study(
            "stereotypes", "sample", models=[f"hf/{folder}"], settings={"rule": rule}, out=tmp_path / "run"
        )


def test_sentences_without_a_context_cannot_follow_one(tmp_path: Path) -> None:
    sentence = {"labels": [{"label": "stereotype", "human_id": "h"}]}
    example = {
        "id": "1", "target": "chef", "bias_type": "profession", "context": "The chef is BLANK.",
        "sentences": [
            {**sentence, "id": f"1{role}", "sentence": f"The chef is {role}.", "gold_label": role}
            for role in ("stereotype", "anti-stereotype", "unrelated")
        ],
    }  # fmt: skip
    path = tmp_path / "stereoset.json"
    path.write_text(json.dumps({"version": "1", "data": {"intersentence": [], "intrasentence": [example]}}))
    with pytest.raises(SettingError, match=r"rule=nsp_trained can score no row of .*: it needs a context"):
        isogloss.check_data("stereotypes", path, settings={"rule": "nsp_trained"})


# --- what can't have a head -------------------------------------------------------------------------------------------


def test_a_head_is_not_a_base(trained: Trained, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"is a head that was trained on hf/.*; name a base model"):
        train(trained("roberta"), corpus, tmp_path / "head")


@pytest.mark.parametrize("shape", ["gpt2", "llama"])
def test_a_model_that_reads_one_way_gets_no_head(shape: str, tiny: Tiny, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="reads from left to right only"):
        train(tiny(shape), corpus, tmp_path / "head")
    bare = tmp_path / "bare"  # without a word of its config that it writes
    shutil.copytree(tiny(shape), bare)
    config = json.loads((bare / "config.json").read_text())
    (bare / "config.json").write_text(json.dumps({**config, "architectures": None}))
    with pytest.raises(ModelError, match="reads from left to right only"):
        train(bare, corpus, tmp_path / "head")
    assert not (tmp_path / "head").exists()


def test_a_folder_with_other_contents_is_left_alone(tiny: Tiny, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="exists and holds other things; give --out a folder that is new or empty"):
        train(tiny("bert"), corpus, tmp_path / "out")
    with pytest.raises(DataError, match="exists and holds other things"):
        train(tiny("bert"), corpus, tmp_path / "out" / "notes.txt")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("\n".join(f"Frase {k}." for k in range(499)), r"holds 499 sentences; a head needs at least 500 \(a sentence"),
        ("\n\n".join(f"Frase {k}." for k in range(600)), r"has 0 pairs of consecutive sentences .* at least 200"),
        ("Uno.\nDos.\n" * 300, r"has 0 pairs of consecutive sentences that stand in it only once"),
        (b"Uno.\nDos.\nAdi\xf3s.\n", r"c.txt line 3 isn't UTF-8; save the file as UTF-8 text"),
        (None, r"the corpus .*c.txt can't be read: No such file"),
    ],
)
def test_a_corpus_that_cannot_be_used_is_named(content: str | bytes | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=words):
        make_pairs(read_corpus(path), n_pairs=2 * LEAST_PAIRS, seed=0)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["train-head"], "needs a model, a corpus and a folder"),
        (["train-head", "openai/gpt-4o", "--corpus", "c.txt", "--out", "d"], "is trained on a model of hf/"),
        (["train-head", "hf/./f.gguf", "--corpus", "c.txt", "--out", "d"], "reads from left to right only"),
        (["train-head", "hf/./gone", "--corpus", "c.txt", "--out", "d"], "nothing at gone"),
        (["train-head", "hf/./gone", "--corpus", "c.txt", "--out", "d", "--language", "es_CL"], "did you mean 'es-CL'"),
        (["pull", "smollm2", "--out", "d"], "are for 'isogloss models train-head'"),
    ],
)
def test_a_command_that_cannot_work_says_why(
    words: list[str], part: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(corpus, tmp_path / "c.txt")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IsoglossError, match=part):
        command("models", *words)
