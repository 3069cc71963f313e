"""Retrieval: round after round until one adds nothing, with models that repeat themselves, refuse and answer badly."""

import asyncio
import json

import pytest

from isogloss.construction import Workshop
from isogloss.errors import DataError, SettingError, UnknownNameError
from isogloss.models.scripted import Play, ScriptedModel
from isogloss.records import AnswerForm, Sampling, Status
from isogloss.studies.stereotypes.build.config import VIEWS, BuildConfig
from isogloss.studies.stereotypes.build.merge import MERGE
from isogloss.studies.stereotypes.build.retrieve import RETRIEVE, prompt_of, retrieve

REFUSAL = "Lo siento, pero no puedo ayudar con eso."


def config(**changes):
    retrieval = {"models": ["scripted/a"], "max_rounds": 5, **changes.pop("retrieval", {})}
    return BuildConfig.model_validate(
        {
            "name": "x", "title": "X", "licence": "CC-BY-4.0", "creators": ["x"],
            "categories": [{"name": "region", "words": {"es": "regiones", "pt": "regiões"}}],
            "countries": [{"code": "XA", "name": "Aurelia", "language": "es", "people": "los aurelianos"}],
            "views": ["inside"], "retrieval": retrieval, **changes,
        }
    )  # fmt: skip


def rows(*pairs):
    return json.dumps([{"group": group, "claim": claim} for group, claim in pairs])


class Asked:
    """`ask`, as the engine gives it, of scripted models: (prompt's text, repeat) → a reply, or (status, text)."""

    def __init__(self, **replies):
        self.models = {f"scripted/{name}": self.model(name, reply) for name, reply in replies.items()}
        self.calls = []

    @staticmethod
    def model(name, reply):
        def behave(prompt, repeat):
            said = reply(prompt.messages[-1].content, repeat)
            status, text = said if isinstance(said, tuple) else (Status.OK, said)
            return Play(status, text, error="the line is down" if status is Status.FAILED else None)

        return ScriptedModel.behaving(name, behave)

    def __call__(self, prompts, model, *, repeat=1, sampling=None):
        self.calls.append((len(prompts), model, repeat, sampling))
        return [asyncio.run(self.models[model].ask(prompt, sampling, repeat)) for prompt in prompts]


def in_turn(*replies):
    """One reply a round; the last one again and again."""
    return lambda prompt, repeat: replies[min(repeat, len(replies)) - 1]


def made(tmp_path, ask, given=None):
    said = []
    workshop = Workshop(
        config=given or config(), tables={}, folder=tmp_path, ask=ask, ratings=lambda task: [], warn=said.append
    )
    tables = retrieve(workshop)
    return tables["retrieved"], tables["retrieval_log"], said


def short(table, *names):
    return [tuple(row[name] for name in names) for row in table]


# --- rounds -----------------------------------------------------------------------------------------------------------


def test_it_is_asked_again_until_a_round_adds_nothing(tmp_path):
    ask = Asked(
        a=in_turn(
            rows(("los de la costa", "llegan tarde"), ("los de la sierra", "callan")),
            rows(("Los de la Costa", "¡Llegan tarde!"), ("los de la costa", "cantan")),
            rows(("los de la sierra", "callan.")),
            rows(("nadie", "lo ve")),
        )
    )
    retrieved, log, said = made(tmp_path, ask)
    assert short(retrieved, "round", "group", "claim") == [
        (1, "los de la costa", "llegan tarde"),
        (1, "los de la sierra", "callan"),
        (2, "Los de la Costa", "¡Llegan tarde!"),
        (2, "los de la costa", "cantan"),
        (3, "los de la sierra", "callan."),
    ]
    assert short(log, "round", "status", "n_rows", "n_new", "n_repaired", "n_dropped", "note") == [
        (1, "ok", 2, 2, 0, 0, ""),
        (2, "ok", 2, 1, 0, 0, ""),
        (3, "ok", 1, 0, 0, 0, ""),
    ]
    assert said == []
    first = retrieved[0]
    assert {name: first[name] for name in ("country", "language", "category", "view", "model", "repaired")} == {
        "country": "XA", "language": "es", "category": "region", "view": "inside", "model": "scripted/a",
        "repaired": False,
    }  # fmt: skip
    assert first["prompt_id"] == log[0]["prompt_id"]
    assert len({row["id"] for row in retrieved}) == 5
    assert ask.calls[0] == (1, "scripted/a", 1, Sampling(temperature=1.0, max_tokens=1500))


def test_a_second_time_gives_the_same_tables(tmp_path):
    reply = in_turn(rows(("a", "b c")), REFUSAL)
    assert made(tmp_path, Asked(a=reply)) == made(tmp_path, Asked(a=reply))


def test_rounds_end_at_the_cap_and_that_is_said(tmp_path):
    ask = Asked(a=lambda prompt, repeat: rows(("los de la costa", f"cantan {repeat} veces")))
    retrieved, log, said = made(tmp_path, ask, config(retrieval={"max_rounds": 3}))
    assert (len(retrieved), len(log)) == (3, 3)
    assert said == ["1 searches still found something in round 3; raise retrieval.max_rounds to go on"]


def test_each_country_category_and_model_has_its_own_end(tmp_path):
    given = config(
        categories=["region", "trade"],
        countries=[
            {"code": "XA", "name": "Aurelia", "language": "es"}, {"code": "XB", "name": "Borealia", "language": "pt"}
        ],
        views=["inside", "elders"],
        retrieval={"models": ["scripted/a", "scripted/b"]},
    )  # fmt: skip

    def mine(prompt, repeat):
        """Something new in the second round, too, for Aurelia's trades alone."""
        return rows(("sastres", f"cosen {repeat if 'Aurelia' in prompt and 'trade' in prompt else 1}"))

    ask = Asked(a=mine, b=lambda prompt, repeat: REFUSAL)
    given = given.model_copy(update={"retrieval": given.retrieval.model_copy(update={"max_rounds": 2})})
    retrieved, log, said = made(tmp_path, ask, given)
    # 2 countries × 2 categories × 2 views; in the second round a is asked of all, b of nothing any more
    assert [(n, model, repeat) for n, model, repeat, _ in ask.calls] == [
        (8, "scripted/a", 1), (8, "scripted/b", 1), (8, "scripted/a", 2)
    ]  # fmt: skip
    assert {row["model"] for row in retrieved} == {"scripted/a"}
    assert sum(row["n_new"] for row in log) == 5
    assert said == [
        "1 searches still found something in round 2; raise retrieval.max_rounds to go on",
        "scripted/b refused 8 of 8 times",
    ]


# --- replies ----------------------------------------------------------------------------------------------------------

ONE = '{"group": "sastres", "claim": "son vanidosos"}'


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (f"[{ONE}]", ("ok", 1, 1, 0, 0, "")),
        (f"```json\n[{ONE}]\n```", ("ok", 1, 1, 1, 0, "code fence set aside")),
        (f"<think>[{ONE}, {ONE}]</think>[{ONE}]", ("ok", 1, 1, 0, 0, "")),
        (f'[{ONE}, {{"group": "panaderos"}}, {{"group": "", "claim": "x"}}]', ("ok", 1, 1, 0, 2, "")),
        ((Status.TRUNCATED, f'[{ONE}, {{"group": "pan'), ("truncated", 1, 1, 1, 1, "rows read one by one")),
        ((Status.TRUNCATED, "[{"), ("truncated", 0, 0, 0, 1, "no row has group and claim")),
        (REFUSAL, ("refused", 0, 0, 0, 0, "declined in words")),
        ("I'm sorry, but I can't help with that.", ("refused", 0, 0, 0, 0, "declined in words")),
        ('[{"group": "todos", "claim": "No puedo proporcionar estereotipos."}]',
         ("refused", 0, 0, 0, 1, "1 rows decline in words")),
        (f'[{ONE}, {{"group": "todos", "claim": "No puedo proporcionar más."}}]',
         ("ok", 1, 1, 0, 1, "1 rows decline in words")),
        ("[]", ("ok", 0, 0, 0, 0, "an empty list")),
        ("Los sastres son vanidosos.", ("unparsed", 0, 0, 0, 0, "no rows in the reply")),
        ('[{"grupo": "sastres"}]', ("unparsed", 0, 0, 0, 1, "no row has group and claim")),
        ("", ("unparsed", 0, 0, 0, 0, "empty reply")),
        ((Status.BLOCKED, None), ("blocked", 0, 0, 0, 0, "")),
        ((Status.FAILED, None), ("failed", 0, 0, 0, 0, "the line is down")),
    ],
)  # fmt: skip
def test_each_reply_has_its_line(tmp_path, reply, expected):
    ask = Asked(a=in_turn(rows(("gente", "de antes")), reply))
    retrieved, log, _ = made(tmp_path, ask)
    assert short(log[1:2], "status", "n_rows", "n_new", "n_repaired", "n_dropped", "note") == [expected]
    found = [row for row in retrieved if row["round"] == 2]
    assert short(found, "group", "claim") == [("sastres", "son vanidosos")] * expected[1]
    assert all(row["repaired"] is bool(expected[3]) for row in found)


def test_a_row_that_only_names_the_group_is_no_claim(tmp_path):
    ask = Asked(a=in_turn(rows(("los sastres", "Los sastres."), ("los sastres", "callan")), rows(("a", "A"))))
    retrieved, log, _ = made(tmp_path, ask)
    assert short(retrieved, "group", "claim") == [("los sastres", "callan")]
    assert short(log, "status", "n_rows", "n_dropped", "note") == [
        ("ok", 1, 1, "1 rows only name the group"), ("unparsed", 0, 1, "1 rows only name the group"),
    ]  # fmt: skip


def test_a_grammar_holds_replies_to_the_form_where_that_is_wished(tmp_path):
    given = config(retrieval={"constrained": True, "rows": 4, "max_rounds": 1})
    ask = Asked(a=in_turn(rows(("los sastres", "callan"))))
    made(tmp_path, ask, given)
    assert ask.calls[0][3] == Sampling(temperature=1.0, max_tokens=1500, constrained=True)
    prompt = prompt_of(given, given.countries[0], given.categories[0], given.views[0])
    assert prompt.form == AnswerForm(kind="rows", choices=("group", "claim"), n_options=4)
    assert prompt_of(config(), given.countries[0], given.categories[0], given.views[0]).form is None


def test_where_nothing_comes_at_all_it_is_said_with_numbers(tmp_path):
    retrieved, log, _ = made(tmp_path, Asked(a=lambda prompt, repeat: REFUSAL))
    assert (retrieved, short(log, "status")) == ([], [("refused",)])  # kept, though the next step can't go on
    tables = {"retrieved": retrieved, "retrieval_log": log}
    workshop = Workshop(config=config(), tables=tables, folder=tmp_path, ask=None, ratings=lambda task: [])
    with pytest.raises(DataError, match=r"no claim was retrieved; replies: 1 refused; see tables/retrieval_log\.jsonl"):
        MERGE.make(workshop)


def test_an_empty_category_is_said(tmp_path):
    given = config(categories=["region", "trade"])
    ask = Asked(a=lambda prompt, repeat: rows(("sastres", "cosen")) if "trade" in prompt else "[]")
    assert made(tmp_path, ask, given)[2] == ["nothing was found for XA, category 'region'"]


# --- what is asked ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "words"), [("es", "Punto de vista"), ("pt-BR", "Ponto de vista"), ("en", "Point of view")]
)
def test_the_wordings_that_ship_ask_in_the_countrys_language_from_six_points_of_view(language, words):
    given = config(views=list(VIEWS), countries=[
        {"code": "XA", "name": "Aurelia", "language": language, "people": "PEOPLE"}])  # fmt: skip
    texts = [
        prompt_of(given, given.countries[0], given.categories[0], view).messages[0].content for view in given.views
    ]
    assert len(set(texts)) == 6
    for text in texts:
        assert words in text
        assert "Aurelia" in text
        assert "PEOPLE" in text
        assert '"group"' in text
        assert '"claim"' in text
        assert "10" in text
        assert "{" not in text


def test_categories_and_views_are_put_in_the_words_of_the_language():
    views = [{"name": "school", "words": {"es": "lo que se oye en la escuela", "pt": "o que se ouve na escola"}}]
    countries = [
        {"code": "XA", "name": "Aurelia", "language": "es"},
        {"code": "XB", "name": "Borealia", "language": "pt"},
    ]
    given = config(views=views, countries=countries)
    texts = [
        prompt_of(given, country, given.categories[0], given.views[0]).messages[0].content
        for country in given.countries
    ]
    assert "Grupos: regiones\nPunto de vista: lo que se oye en la escuela" in texts[0]
    assert "Grupos: regiões\nPonto de vista: o que se ouve na escola" in texts[1]


def test_a_wording_of_ones_own_is_used_and_what_it_lacks_is_said(tmp_path):
    path = tmp_path / "sw.toml"
    path.write_text(
        'name = "mine@1"\nprompt = "{country} {people} {category} {view} {rows}"\n[views]\ninside = "ndani"',
        encoding="utf-8",
    )
    given = config(retrieval={"wording": str(path)})
    [message] = prompt_of(given, given.countries[0], given.categories[0], given.views[0]).messages
    assert message.content == "Aurelia los aurelianos regiones ndani 10"
    assert list(RETRIEVE.files(given)) == [path]
    other = config(views=["market"], retrieval={"wording": str(path)})
    with pytest.raises(SettingError, match=r"mine@1 has no point of view 'market' \(it has inside\); give its words"):
        prompt_of(other, other.countries[0], other.categories[0], other.views[0])
    path.write_text('name = "mine@1"\nprompt = "{country}"', encoding="utf-8")
    with pytest.raises(SettingError, match=r"sw\.toml: 'prompt' must have just the fields category, country, people"):
        prompt_of(given, given.countries[0], given.categories[0], given.views[0])


def test_a_language_without_a_wording_is_said_before_anything_is_asked(tmp_path):
    given = config(countries=[{"code": "XA", "name": "Aurelia", "language": "sw"}])
    workshop = Workshop(config=given, tables={}, folder=tmp_path, ask=Asked(), ratings=lambda task: [])
    with pytest.raises(
        UnknownNameError, match="no wording of 'retrieve' named 'sw'; there are en, es, pt; give a file"
    ):
        RETRIEVE.forecast(workshop)


def test_the_forecast_is_calls_at_most(tmp_path):
    given = config(views=list(VIEWS), categories=["region", "trade"], retrieval={"models": ["lab/a", "lab/b"]})
    workshop = Workshop(config=given, tables={}, folder=tmp_path, ask=Asked(), ratings=lambda task: [])
    found = RETRIEVE.forecast(workshop)
    assert [(one.model, len(one.prompts), one.times, one.max_tokens) for one in found] == [
        ("lab/a", 1 * 2 * 6, 5, 1500), ("lab/b", 12, 5, 1500),
    ]  # fmt: skip
    assert found[0].prompts[0] == prompt_of(given, given.countries[0], given.categories[0], given.views[0])


def test_two_countries_with_one_prompt_are_asked_once(tmp_path):
    twins = [{"code": code, "name": "Aurelia", "language": "es", "people": "los aurelianos"} for code in ("XA", "XB")]
    workshop = Workshop(config=config(countries=twins), tables={}, folder=tmp_path, ask=Asked(), ratings=lambda _: [])
    [found] = RETRIEVE.forecast(workshop)
    assert (len(found.prompts), found.times) == (1, 5)


# --- ready claims -----------------------------------------------------------------------------------------------------


def with_claims(tmp_path, text, encoding="utf-8", **changes):
    path = tmp_path / "claims.csv"
    path.write_text(text, encoding=encoding)
    return config(retrieval={"models": [], "claims": path}, **changes)


def test_ready_claims_stand_for_what_models_would_give(tmp_path):
    given = with_claims(
        tmp_path, "group;claim;category;country\n sastres;son  vanidosos;region;XA\n\"gente; mucha\";canta;region;XA\n",
        encoding="utf-8-sig", countries=[{"code": "XA", "name": "Aurelia", "language": "sw"}],
    )  # fmt: skip
    retrieved, log, said = made(tmp_path, Asked(), given)
    assert short(retrieved, "country", "language", "category", "group", "claim", "view", "model", "round") == [
        ("XA", "sw", "region", "sastres", "son vanidosos", "", "", 0),
        ("XA", "sw", "region", "gente; mucha", "canta", "", "", 0),
    ]
    assert (log, said) == ([], [])
    workshop = Workshop(config=given, tables={}, folder=tmp_path, ask=Asked(), ratings=lambda task: [])
    assert RETRIEVE.forecast(workshop) == []
    assert list(RETRIEVE.files(given)) == [tmp_path / "claims.csv"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("group,claim,country\na,b,XA\n", "has no column 'category'; expected country, category, group, claim"),
        ("group,claim,category,country\na,,region,XA\n", "row 2: column 'claim' is empty"),
        ("group,claim,category,country\na,b,region,XA\na,…,region,XA\n", "row 3: column 'claim' has no word"),
        ("group,claim,category,country\na,b,region\n", "row 2: column 'country' is empty"),
        ("group,claim,category,country\na,b,regoin,XA\n", "row 2: no category named 'regoin'; did you mean 'region'?"),
        (
            "group,claim,category,country\na,b,region,XB\n",
            "row 2: no country named 'XB'; there are XA; it must be one of the configuration's",
        ),
        (
            "group,claim,category,country\n" + "a" * 200_000 + ",b,region,XA\n",
            "can't be read after row 1: field larger",
        ),
    ],
)
def test_a_fault_in_ready_claims_is_named_by_row(tmp_path, text, words):
    with pytest.raises(DataError) as caught:
        made(tmp_path, Asked(), with_claims(tmp_path, text))
    assert str(caught.value).startswith(f"{tmp_path / 'claims.csv'}")
    assert words in str(caught.value)


def test_where_the_claims_lie_is_no_setting_but_their_content_is(tmp_path):
    given = with_claims(tmp_path, "x")
    moved = given.model_copy(update={"retrieval": given.retrieval.model_copy(update={"claims": tmp_path / "b.csv"})})
    assert RETRIEVE.settings(given) == RETRIEVE.settings(moved)
