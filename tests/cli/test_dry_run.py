"""--dry-run: what would be asked and what it may cost, by hand; nothing is sent, nothing is written."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isogloss import api
from isogloss.cli.dry_run import dry_run
from isogloss.errors import SettingError
from isogloss.models.config import Config, read_config
from isogloss.models.weights import available, cache_folder, locate
from isogloss.records import AnswerForm, Condition, Item, Message, Price, Prompt
from isogloss.run.plan import Cost, Forecast, Held, cost_of, forecast, prompt_tokens
from isogloss.run.tokens import NOTHING, Range, text_tokens
from isogloss.study import Question

WIDE = """item,description,gloss,variant,XA,XB
K1,Fruta roja y redonda,red fruit,tolo,+,-
K1,Fruta roja y redonda,red fruit,maru,-,+
K2,Casa pequeña de campo,cottage,pirca,+,+
K2,Casa pequeña de campo,cottage,losa,-,+
"""
PLACES = "code,name,area,latitude,longitude\nXA,Alta,Norte,10,-60\nXB,Baja,Sur,-20,-60\n"
PAID = '[models."openai/mine"]\ninput_price = 2\noutput_price = 10\nbatch_price_share = 0.25\n'

NO_CONFIG = Config()


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., api.Job]:
    """job(*models, **options): a survey of two made-up places, 8 yes–no and 4 multiple-choice questions."""
    monkeypatch.chdir(tmp_path)
    Path("words.csv").write_text(WIDE, encoding="utf-8")
    Path("places.csv").write_text(PLACES, encoding="utf-8")

    def make(*models: str, **options: Any) -> api.Job:
        settings = {"places": "places.csv", **options.pop("settings", {})}
        return api.prepare("lexicon", "words.csv", models=models, settings=settings, **options)

    return make


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """shown(job, …) → what the command prints: text, or with json=True the value."""

    def run(job: api.Job, config: Config = NO_CONFIG, *, as_json: bool = True, **options: Any) -> Any:
        given = {"base_url": None, "out": None, "batch": False, "prompts_out": None, "environment": {}, **options}
        dry_run(job, config=config, json=as_json, **given)
        text = capsys.readouterr().out
        return json.loads(text) if as_json else text

    return run


def written(text: str) -> Config:
    Path("isogloss.toml").write_text(text, encoding="utf-8")
    return read_config(None, environment={})


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_characters_make_tokens_by_script():
    assert text_tokens("") == NOTHING
    assert text_tokens("a" * 2310) == Range(420, 660, 1100)  # 5.5, 3.5 and 2.1 characters each
    assert text_tokens("ж" * 360) == Range(80, 144, 450)  # 4.5, 2.5, 0.8
    assert text_tokens("字" * 396) == Range(180, 360, 1100)  # 2.2, 1.1, 0.36
    assert text_tokens("a" * 2310 + "字" * 396) == Range(600, 1020, 2200)


ENGLISH = "Everyone has the right to speak the language of their home."
CHINESE = "这个国家的人说到四个轮子的车时，会用“汽车”这个词吗？请只用一个词回答：会或不会。"
VIETNAMESE = "Người dân ở nước này có dùng từ “xe hơi” khi nói về loại xe có bốn bánh không?"
ARABIC = "هل يستعمل الناس في هذا البلد كلمة «سيارة» عندما يتحدثون عن المركبة التي تسير على أربع عجلات؟"
KOREAN = "이 나라 사람들은 네 바퀴로 달리는 탈것을 말할 때 “자동차”라는 낱말을 씁니까?"
AMHARIC = "የዚህ አገር ሰዎች ባለ አራት ጎማ ተሽከርካሪን «መኪና» ይላሉ? በአንድ ቃል ብቻ ይመልሱ፦ አዎ ወይም አይደለም።"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        # Counted with SmolLM2, cl100k_base and o200k_base.
        (ENGLISH, (12, 12, 12)),
        (CHINESE, (60, 45, 31)),
        (VIETNAMESE, (64, 38, 24)),
        (ARABIC, (84, 64, 27)),
        (KOREAN, (88, 48, 30)),
        (AMHARIC, (162, 160, 123)),
    ],
)
def test_real_counts_lie_between_low_and_high(text, counts):
    estimate = text_tokens(text)
    assert estimate.low <= min(counts) <= max(counts) <= estimate.high
    assert estimate.low <= estimate.expected <= estimate.high


@pytest.fixture(scope="module")
def tokeniser() -> Callable[[str], int]:
    """Counts tokens as SmolLM2 does, with the vocabulary of its GGUF file; skips where that can't be, fails in CI."""
    missing = [name for name in ("gguf", "tokenizers") if importlib.util.find_spec(name) is None]
    if not available(os.environ)[0].present:
        missing.append("the weights of smollm2")
    if missing:
        words = f"no real tokeniser: {', '.join(missing)} missing"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    tokenizers, gguf = importlib.import_module("tokenizers"), importlib.import_module("gguf")
    fields = gguf.GGUFReader(locate("smollm2", cache_folder(os.environ))).fields

    def words_of(name: str) -> list[str]:
        return [bytes(fields[name].parts[place]).decode() for place in fields[name].data]

    vocabulary = {word: number for number, word in enumerate(words_of("tokenizer.ggml.tokens"))}
    merges = [tuple(pair.split(" ")) for pair in words_of("tokenizer.ggml.merges")]
    loaded = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    before = tokenizers.pre_tokenizers
    loaded.pre_tokenizer = before.Sequence(
        [before.Digits(individual_digits=True), before.ByteLevel(add_prefix_space=False)]
    )
    return lambda text: len(loaded.encode(text).ids)


@pytest.mark.slow
def test_a_real_tokeniser_counts_between_low_and_high(tokeniser, shared):
    texts = [
        shared.joinpath("data", "sentence_pool", f"{language}_pud_no_propn.txt").read_text(encoding="utf-8")[:9000]
        for language in ("es", "pt")
    ]
    sample = api.prepare("lexicon", "sample", limit=50)
    texts += [message.content for question in sample.questions() for message in question.prompt.messages]
    for text in (*texts, ARABIC, KOREAN):
        estimate = text_tokens(text)
        assert estimate.low <= tokeniser(text) <= estimate.high, text[:60]


# --- forecast and cost ------------------------------------------------------------------------------------------------


def question(text: str, **fields: Any) -> Question:
    prompt = Prompt.make([Message(role="user", content=text)], form=AnswerForm(kind="letter", n_options=3), **fields)
    reading = "logprob" if prompt.candidates else "text"
    return Question(Item(id=text, text=text), Condition(format="f", reading=reading), prompt)


def test_questions_with_the_same_words_share_a_call():
    questions = [question("a" * 231), question("a" * 231), question("b" * 231)]
    parts = forecast(questions, max_tokens=8, held={"m": Held((frozenset(),) * 2)})["m"]
    one = prompt_tokens(questions[0].prompt)
    assert one == Range(42 + 5, 66 + 5, 110 + 5)
    assert parts["f"] == Forecast(3, 4, one.times(4), Range(1, 2, 8).times(4), 0)


def test_what_is_settled_is_held_and_what_cannot_be_asked_is_neither():
    questions = [question("one"), question("two"), question("three", candidates=("A", "B"))]
    settled = frozenset({questions[0].prompt.id})
    parts = forecast(
        questions, max_tokens=8, held={"all": Held((settled, frozenset())), "chat": Held((settled,), scores=False)}
    )
    assert [(part.n_prompts, part.n_held) for part in parts["all"].values()] == [(3, 1), (2, 0)]
    assert [(part.n_prompts, part.n_held) for part in parts["chat"].values()] == [(1, 1), (0, 0)]


def test_cost_is_unknown_without_a_price_and_nothing_where_nothing_is_asked():
    part = Forecast(1, 1, Range(1_000_000, 2_000_000, 3_000_000), Range(0, 100_000, 1_000_000))
    assert cost_of(part, Price(input=2, output=10)) == Cost(2.0, 5.0, 16.0)
    assert cost_of(part, None) is None
    assert cost_of(Forecast(1, 0, NOTHING, NOTHING, n_held=1), None) == Cost(0.0, 0.0, 0.0)


# --- the command ------------------------------------------------------------------------------------------------------


def test_cost_is_tokens_times_price(job, shown):
    done = shown(job("openai/mine", repeats=2), written(PAID))
    assert [(part["kind"], part["calls"]) for part in done["parts"]] == [("multiple_choice", 8), ("yes_no", 16)]
    for cells in (*done["parts"], *done["by_model"][0]["parts"], done):
        for end in ("low", "expected", "high"):
            dollars = (2 * cells["input_tokens"][end] + 10 * cells["output_tokens"][end]) / 1e6
            assert cells["cost"][end] == pytest.approx(dollars)
    assert done["calls"] == 24
    assert done["by_model"][0]["price"]["source"] == "isogloss.toml"


def test_a_batch_costs_its_share(job, shown):
    whole = shown(job("openai/mine"), written(PAID))
    batch = shown(job("openai/mine"), written(PAID), batch=True)
    assert batch["cost"]["high"] == pytest.approx(whole["cost"]["high"] / 4)
    shipped = [shown(job("openai/gpt-4.1-mini"), batch=given)["cost"]["high"] for given in (False, True)]
    assert shipped[1] == pytest.approx(shipped[0] / 2)


def test_unknown_is_unknown_and_never_nothing(job, shown):
    models = ("openai/gpt-4.1-mini", "openai/nobody-knows", "scripted/random")
    done = shown(job(*models))
    known, unknown, free = done["by_model"]
    assert known["cost"]["low"] > 0
    assert unknown["cost"] is None
    assert unknown["price"] is None
    assert free["cost"] == {"low": 0, "expected": 0, "high": 0}
    assert done["cost"] is None
    assert done["cost_at_least"] == pytest.approx(known["cost"]["low"])
    text = shown(job(*models), as_json=False)
    assert f"unknown (at least {known['cost']['low']:.3g} US$)" in text
    assert '[models."openai/nobody-knows"] in isogloss.toml' in text
    assert "OpenAI's page of API prices, 2026-10-04" in text
    assert max(map(len, text.splitlines())) <= 80


def test_without_a_model_the_cost_is_unknown(job, shown):
    done = shown(job())
    assert (done["models"], done["cost"], done["calls"]) == ([], None, 12)
    assert "unknown" in shown(job(), as_json=False)


def test_a_shipped_price_is_not_that_of_another_server(job, shown):
    assert shown(job("openai/gpt-4.1-mini"))["cost"] is not None
    assert shown(job("openai/gpt-4.1-mini"), base_url="http://127.0.0.1:9/v1")["cost"] is None
    elsewhere = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert shown(job("openai/gpt-4.1-mini"), environment=elsewhere)["cost"] is None


def test_a_run_that_is_there_is_taken_off(job, shown, tmp_path):
    first = job("scripted/random", limit=2)
    api.ask(first, "run")
    before = {path.name: path.read_bytes() for path in sorted(Path("run").glob("*.json"))}
    done = shown(job("scripted/random"), out=Path("run"))
    assert (done["calls"], done["held"]) == (8, 4)  # two of each format are held
    again = shown(job("scripted/random", repeats=2), out=Path("run"))
    assert (again["calls"], again["held"]) == (20, 4)
    other = shown(job("scripted/always-yes", limit=2), out=Path("run"))
    assert (other["calls"], other["held"]) == (4, 0)
    same = shown(first, out=Path("run"))
    assert (same["calls"], same["held"], same["cost"]) == (0, 4, {"low": 0, "expected": 0, "high": 0})
    assert "0 calls left, 2 held already" in shown(first, as_json=False, out=Path("run"))
    assert {path.name: path.read_bytes() for path in sorted(Path("run").glob("*.json"))} == before


def test_failed_calls_are_asked_again_and_so_not_held(job, shown):
    api.ask(job("scripted/crashes", limit=2), "run")
    done = shown(job("scripted/crashes", limit=2), out=Path("run"))
    assert (done["calls"], done["held"]) == (4, 0)


def test_a_folder_that_is_not_there_stays_so(job, shown):
    assert shown(job("scripted/random"), out=Path("nowhere"))["held"] == 0
    assert not Path("nowhere").exists()


def test_a_run_of_something_else_is_refused(job, shown):
    api.ask(job("scripted/random", limit=1), "run")
    with pytest.raises(SettingError, match="differs in its seed"):
        shown(job("scripted/random", limit=1, seed=3), out=Path("run"))
