"""Triples for each stereotype: asked of a model, put to the rules, counted. Countries and stereotypes are made up."""

import doctest
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from isogloss.construction import WaitingError, Workshop, content_words
from isogloss.construction.content_words import is_inflected, names_group, word_share
from isogloss.construction.language_check import other_language
from isogloss.errors import DataError, SettingError
from isogloss.records import Rating, Response, Sampling, Status
from isogloss.studies.stereotypes.build.config import BuildConfig
from isogloss.studies.stereotypes.build.figures import sections
from isogloss.studies.stereotypes.build.instance_rules import About, fault_of
from isogloss.studies.stereotypes.build.people_writing import assigned
from isogloss.studies.stereotypes.build.write import WRITE, Desk, prompt_of, write

TRIPLE = {
    "context": "Un sastre abrió su taller el lunes.",
    "stereotype": "Se miró en el espejo durante una hora.",
    "anti_stereotype": "Ni siquiera se fijó en su propia ropa.",
}
ABOUT = About("los sastres", "son muy vanidosos", "es", frozenset({"es", "pt"}))


def config(**changes):
    return BuildConfig.model_validate(
        {
            "name": "x", "title": "X", "licence": "CC-BY-4.0", "creators": ["x"], "categories": ["trade"],
            "countries": [
                {"code": "XA", "name": "Aurelia", "language": "es", "people": "los aurelianos"},
                {"code": "XB", "name": "Borealia", "language": "pt"},
            ],
            "retrieval": {"models": ["lab/a"]}, "instances": {"writer": "lab/w", "number": 2, **changes},
        }
    )  # fmt: skip


def stereotype(id="s1", country="XA", group="los sastres", claim="son muy vanidosos", kept=True):
    return {"id": id, "country": country, "language": "es" if country == "XA" else "pt", "category": "trade",
            "group": group, "claim": claim, "kept": kept}  # fmt: skip


class Model:
    """Gives one reply after the other for each stereotype, and keeps what it was asked."""

    def __init__(self, *replies):
        self.replies, self.asked = replies, []

    def __call__(self, prompts, model, *, repeat=1, sampling=None):
        found = []
        for prompt in prompts:
            said = self.replies[min(len(self.asked), len(self.replies) - 1)]
            self.asked.append((prompt.messages[0].content, repeat, sampling))
            status, text = said if isinstance(said, tuple) else (Status.OK, said)
            found.append(Response(prompt_id=prompt.id, model=model, repeat=repeat, status=status, text=text))
        return found


def made(tmp_path, ask, rows=None, given=None, ratings=(), **more):
    said = []
    workshop = Workshop(
        config=given or config(), tables={"validated": rows or [stereotype()]}, folder=tmp_path, ask=ask,
        ratings=lambda task: [one for one in ratings if one.task == task], warn=said.append, **more,
    )  # fmt: skip
    tables = write(workshop)
    return tables["instances"], tables["rejects"], said


def triples(*contexts):
    return [
        {"context": f"Un sastre {context}.", "stereotype": f"Dijo que {context} le quedaba mejor que a los demás.",
         "anti_stereotype": f"Contó que {context} ya no le importaba nada."}
        for context in contexts
    ]  # fmt: skip


FOUR = triples("cosía pantalones", "bebía café", "leía periódicos", "compraba botones")


# --- asking -----------------------------------------------------------------------------------------------------------


def test_a_model_is_asked_once_and_what_it_wrote_is_kept_in_order(tmp_path):
    ask = Model(json.dumps(FOUR[:3]))
    instances, rejects, said = made(tmp_path, ask)
    assert [row["context"] for row in instances] == ["Un sastre cosía pantalones.", "Un sastre bebía café."]
    assert [row["number"] for row in instances] == [1, 2]
    assert {(row["stereotype_id"], row["country"], row["group"], row["writer"], row["origin"], row["repaired"])
            for row in instances} == {("s1", "XA", "los sastres", "lab/w", "model", False)}  # fmt: skip
    assert len({row["id"] for row in instances}) == 2
    assert (rejects, said) == ([], [])
    [(text, repeat, sampling)] = ask.asked
    assert repeat == 1
    assert sampling == Sampling(temperature=0.7, max_tokens=1500)
    assert "Grupo: los sastres\nEstereotipo: son muy vanidosos" in text
    assert "Escribe 2 tríos" in text
    assert "ya están usados" not in text


def test_what_is_lacking_is_asked_again_and_told_which_contexts_are_taken(tmp_path):
    ask = Model(json.dumps(FOUR[:1]), json.dumps(FOUR[1:]))
    instances, rejects, _ = made(tmp_path, ask)
    assert [row["number"] for row in instances] == [1, 2]
    assert rejects == []
    assert [repeat for _, repeat, _ in ask.asked] == [1, 1]
    assert "Escribe 1 tríos" in ask.asked[1][0]
    assert "ya están usados; busca otras situaciones:\n- Un sastre cosía pantalones." in ask.asked[1][0]


def test_a_prompt_that_gave_nothing_is_put_anew_as_a_repeat_up_to_the_cap(tmp_path):
    ask = Model(
        "Lo siento, pero no puedo responder.", "No sé, qué calor hace.", (Status.BLOCKED, None), json.dumps(FOUR)
    )
    rows = [stereotype()]
    instances, rejects, said = made(tmp_path, ask, rows)
    assert (instances, [row["rule"] for row in rejects]) == ([], ["refused", "unparsed", "blocked"])
    assert "turned down: 1 refused, 1 unparsed, 1 blocked; see tables/rejects.jsonl" in said[-1]
    assert [repeat for _, repeat, _ in ask.asked] == [1, 2, 3]
    assert len({text for text, _, _ in ask.asked}) == 1


def test_every_fault_of_a_reply_has_its_line_and_too_few_are_said(tmp_path):
    ask = Model(
        "Lo siento, pero no puedo ayudar con eso.",
        f"Claro: {json.dumps([FOUR[0], {'context': 'Un sastre.'}])}",
        (Status.TRUNCATED, '[{"context": "Un sas'),
    )
    instances, rejects, said = made(tmp_path, ask)
    assert [row["repaired"] for row in instances] == [True]
    assert [row["rule"] for row in rejects] == ["refused", "incomplete row", "truncated"]
    assert all(row["stereotype_id"] == "s1" and row["writer"] == "lab/w" for row in rejects)
    assert rejects[1]["words"] == "1 rows of a reply lack one of context, stereotype, anti_stereotype"
    [line] = said
    assert line.startswith("1 of 1 stereotypes have fewer than 2 triples; turned down: 1 refused, ")


def test_stereotypes_that_people_dropped_are_not_written_for(tmp_path):
    ask = Model(json.dumps(FOUR))
    instances, _, _ = made(tmp_path, ask, [stereotype(), stereotype("s2", kept=False)])
    assert {row["stereotype_id"] for row in instances} == {"s1"}
    with pytest.raises(DataError, match="no stereotype was kept"):
        made(tmp_path, ask, [stereotype(kept=False)])


def test_counts_of_a_published_set_come_out_five_triples_a_stereotype(tmp_path, shared):
    """538 × 5 = 2,690, country by country."""
    expected = json.loads((shared / "data/published_tables/espanstereo_counts.json").read_text(encoding="utf-8"))
    counts = expected["validated_stereotypes"]
    given = BuildConfig.model_validate(
        {
            "name": "x", "title": "X", "licence": "CC-BY-4.0", "creators": ["x"], "categories": ["trade"],
            "countries": [{"code": code, "name": code, "language": "es"} for code in counts],
            "retrieval": {"models": ["lab/a"]}, "instances": {"writer": "lab/w"},
        }
    )  # fmt: skip
    rows = [
        {**stereotype(f"{code}-{k}", code, group=f"los del valle {k}"), "language": "es"}
        for code, n in counts.items() for k in range(n)
    ]  # fmt: skip
    verbs = (
        "cosía pantalones",
        "bebía café",
        "leía periódicos",
        "compraba botones",
        "regaba plantas",
        "pintaba puertas",
    )

    def reply(prompts, model, *, repeat=1, sampling=None):
        found = []
        for prompt in prompts:
            text = prompt.messages[0].content
            group = re.search(r"Grupo: (.*)", text)[1]
            wanted = [{**one, "context": f"{one['context'][:-1]} con {group}."} for one in triples(*verbs)]
            number = int(re.search(r"Escribe (\d+)", text)[1])
            taken = text.count("\n- ")
            said = [*wanted[taken : taken + number - (not taken)], wanted[0]]  # one is lacking at first
            found.append(
                Response(prompt_id=prompt.id, model=model, repeat=repeat, status=Status.OK, text=json.dumps(said))
            )
        return found

    instances, rejects, said = made(tmp_path, reply, rows, given)
    assert {code: sum(row["country"] == code for row in instances) for code in counts} == {
        code: 5 * n for code, n in counts.items()
    }
    assert len(instances) == len({row["id"] for row in instances}) == 2690 == expected["total_triples"]
    assert {row["rule"] for row in rejects} == {"near-copy"}
    assert len(rejects) == 538
    assert said == []


# --- people -----------------------------------------------------------------------------------------------------------


def person(item, texts, rater="w1"):
    return Rating(task="write", item_id=item, rater=rater, values=texts)


def test_people_write_for_their_country_and_a_model_for_the_others_under_the_same_rules(tmp_path):
    given = config(writers={"XA": ["w1"]})
    rows = [stereotype(), stereotype("t1", "XB", "os alfaiates", "são vaidosos")]
    reply = [
        {"context": "O alfaiate abriu a loja cedo.", "stereotype": "Passou uma hora ao espelho.",
         "anti_stereotype": "Nem olhou para a roupa que trazia."},
        {"context": "Um alfaiate foi ao baile.", "stereotype": "Falou toda a noite do seu casaco.",
         "anti_stereotype": "Vestiu o primeiro casaco que achou."},
    ]  # fmt: skip
    ask = Model(json.dumps(reply))
    with pytest.raises(WaitingError, match="w1 has"):
        made(tmp_path, ask, rows, given)
    ratings = [person("s1/1", TRIPLE), person("s1/2", {**TRIPLE, "context": "Llegó a casa y abrió la puerta."})]
    instances, rejects, said = made(tmp_path, ask, rows, given, ratings)
    assert [(row["country"], row["origin"], row["writer"]) for row in instances] == [
        ("XA", "person", "w1"), ("XB", "model", "lab/w"), ("XB", "model", "lab/w"),
    ]  # fmt: skip
    assert [(row["rule"], row["writer"], row["number"]) for row in rejects] == [("group not named", "w1", 2)]
    assert said == [
        "turned down of what people wrote: 1. w1, 'los sastres: son muy vanidosos': group not named (the context "
        f"doesn't name 'los sastres'). To correct them: 'isogloss annotate export {tmp_path} --task write', change "
        f"those rows, 'isogloss annotate import {tmp_path} SHEET', then build again",
        "1 of 2 stereotypes have fewer than 2 triples; turned down: 1 group not named; see tables/rejects.jsonl",
    ]
    assert len(ask.asked) == 1
    with pytest.raises(SettingError, match="--skip-people leaves them out"):
        made(tmp_path, ask, rows, given, ratings, skip_people=True)
    with pytest.raises(SettingError, match="names nobody for XA"):
        made(tmp_path, ask, [stereotype()], config(writer="people"))


def test_a_few_of_the_rows_turned_down_are_named_and_the_rest_counted(tmp_path):
    given = config(writer="people", writers={"XA": ["w1"], "XB": ["w2"]})
    rows = [stereotype(f"s{n}") for n in range(1, 4)]
    nameless = {**TRIPLE, "context": "Llegó a casa y abrió la puerta."}
    ratings = [person(f"s{n}/{k}", nameless) for n in range(1, 4) for k in (1, 2)]
    instances, rejects, said = made(tmp_path, Model(), rows, given, ratings)
    assert (instances, len(rejects)) == ([], 6)
    assert said[0].startswith("turned down of what people wrote: 6. w1, 'los sastres: son muy vanidosos': group not ")
    assert said[0].count("w1, 'los sastres") == 3
    assert "; and 3 more in tables/rejects.jsonl. To correct them: " in said[0]


def test_who_writes_what_stays_when_stereotypes_come_and_go():
    """So that nobody writes anew what was written, and sheets that are out still hold."""
    given = config(writer="people", writers={"XA": ["w1", "w2", "w3"]})

    def shared(n, ratings=()):
        rows = [{**stereotype(f"s{k}"), "kept": True} for k in range(n)]
        workshop = Workshop(config=given, tables={"validated": rows}, folder=Path(), ask=None,
                            ratings=lambda task: ratings if task == "write" else [])  # fmt: skip
        return {row["item_id"]: writer for writer, mine in assigned(workshop).items() for row in mine}

    few, many = shared(60), shared(90)
    assert few == {item: many[item] for item in few}
    assert min(Counter(many.values()).values()) >= 40  # of 180 rows; each stereotype's by one writer
    assert all(many[f"s{k}/1"] == many[f"s{k}/2"] for k in range(90))
    other = next(writer for writer in ("w1", "w2") if writer != few["s0/1"])
    began = shared(60, [person("s0/1", TRIPLE, rater=other)])
    assert (began["s0/1"], began["s0/2"]) == (other, other)
    assert {**began, "s0/1": few["s0/1"], "s0/2": few["s0/2"]} == few
    whole = [person("s0/1", TRIPLE, rater="w1"), *(person(f"s0/{k}", TRIPLE, rater="w2") for k in (1, 2))]
    assert shared(60, whole)["s0/1"] == "w2"  # who has finished, whoever comes back


def test_the_report_lists_what_people_wrote_and_a_rule_turned_down():
    given = config(writers={"XA": ["w1", "w2"]})
    row = {"stereotype_id": "s1", "number": 1, **TRIPLE, "rule": "too long", "words": "context has 400 characters"}
    rejects = [{**row, "writer": "w2"}, {**row, "writer": "lab/w"}, {**row, "writer": "w1", "rule": "empty"}]
    found = {one.id: one for one in sections({"rejects": rejects, "stereotypes": [stereotype()]}, given)}
    about, context = "los sastres: son muy vanidosos", TRIPLE["context"]
    assert found["corrections"].rows == (
        ("w1", about, "empty", "context has 400 characters", context),
        ("w2", about, "too long", "context has 400 characters", context),
    )
    assert "annotate export DIR --task write" in found["corrections"].note
    assert "corrections" not in {one.id for one in sections({"rejects": rejects[1:2]}, given)}


# --- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({}, None),
        ({"context": "¡¡LOS SASTRES ya llegan!!"}, None),
        ({"context": "Una sastra abrió su taller."}, None),
        ({"context": "Una persona abrió su taller."}, "group not named"),
        ({"context": "..."}, "empty"),
        ({"stereotype": "Se miró " * 50}, "too long"),
        ({"context": "Los sastres vanidosos abrieron."}, None),  # one word of the claim alone doesn't tell it
        ({"anti_stereotype": "En el espejo, durante horas, se miró una."}, "sentences alike"),
        ({"anti_stereotype": "No se miró en el espejo durante una hora."}, None),
        ({"stereotype": "Un sastre abrió su taller el lunes, sí."}, "repeats the context"),
        ({"anti_stereotype": "He didn't even look at his own clothes."}, "wrong language"),
        ({"stereotype": "Ficou uma hora olhando para si mesmo no espelho."}, "wrong language"),
        ({"stereotype": "Ok.", "anti_stereotype": "No."}, None),  # too short to be judged
    ],
)
def test_the_first_rule_that_a_triple_breaks_is_named(changes, rule):
    fault = fault_of({**TRIPLE, **changes}, ABOUT, [])
    assert (fault.rule if fault else None) == rule


def test_a_context_must_not_tell_the_claim():
    about = ABOUT._replace(claim="Los sastres llegan siempre tarde a la fiesta")
    fault = fault_of({**TRIPLE, "context": "El sastre llega tarde a las fiestas."}, about, [])
    assert fault is not None
    assert fault.rule == "context tells the claim"


def test_near_copies_among_the_triples_of_a_stereotype_are_turned_down():
    copy = {**TRIPLE, "context": "Una sastra abrió su taller el martes."}
    fault = fault_of(copy, ABOUT, [FOUR[0], TRIPLE])
    assert fault is not None
    assert (fault.rule, fault.words) == ("near-copy", "nearly the same as triple 2 of this stereotype")
    assert fault_of(FOUR[1], ABOUT, [FOUR[0], TRIPLE]) is None
    other = {"context": "Vino un sastre nuevo con maletas y mapas.", **{k: TRIPLE[k].upper() for k in list(TRIPLE)[1:]}}
    assert fault_of(other, ABOUT, [TRIPLE]).rule == "near-copy"  # both sentences are the same


@pytest.mark.parametrize(
    ("text", "group", "language", "is_named"),
    [
        ("La gente llegó a la plaza.", "la gente de la costa", "es", False),
        ("Mi vecina es de la costa.", "la gente de la costa", "es", True),
        ("Un juez entró.", "jueces", "es", True),
        ("A woman came in.", "women", "en", True),
        ("Every lady left.", "ladies", "en", True),
        ("He took the train.", "trainers", "en", False),
        ("Mwalimu aliingia.", "walimu", "sw", True),
        ("医者が来た。", "医者", "ja", True),
        ("جاء المهندسون أمس", "مهندس", "ar", True),
        ("El norte es frío.", "la norma", "es", False),
        ("People came.", "people", "en", True),
        ("Anybody", "", "en", False),
    ],
)
def test_a_group_is_named_in_any_inflected_form(text, group, language, is_named):
    assert names_group(text, group, language) is is_named


def test_words_are_compared_by_shape_and_share():
    assert is_inflected("llegan", "llega")
    assert not is_inflected("costa", "cosas")
    assert not is_inflected("sol", "sombra")
    assert word_share("llegan tarde", "tarde llega") == 1.0
    assert word_share("llegan tarde", "llegan pronto ya") == pytest.approx(0.4)
    assert word_share("", "") == 1.0
    assert doctest.testmod(content_words).failed == 0


def test_another_language_is_said_only_where_it_is_sure():
    assert other_language("They never arrive on time for dinner.", "es") == "en"
    assert other_language("Llegan tarde.", "pt", ["es"]) is None  # too short
    assert other_language("Ñande róga ipyahu ha iporãiterei.", "gn", ["es"]) is None  # not known, so not judged
    assert other_language("Siempre llegan tarde a la reunión de vecinos.", "es-MX", ["pt-BR"]) is None


# --- wordings ---------------------------------------------------------------------------------------------------------


def test_every_wording_that_ships_and_one_of_the_users_can_be_used(tmp_path):
    desk = Desk(stereotype(), ABOUT)
    for name in ("es", "pt", "en"):
        given = config(wording=name)
        assert "los sastres" in prompt_of(given, given.countries[0], desk).messages[0].content
    own = tmp_path / "own.toml"
    own.write_text('name = "own@1"\nprompt = "{country} {people} {group} {claim} {number} {again}"\n', encoding="utf-8")
    with pytest.raises(SettingError, match=r"own@1 needs a text 'again'"):
        prompt_of(config(wording=str(own)), config().countries[0], desk)
    own.write_text(own.read_text(encoding="utf-8") + 'again = "not {used}"\n', encoding="utf-8")
    text = prompt_of(config(wording=str(own)), config().countries[0], desk).messages[0].content
    assert text == "Aurelia los aurelianos los sastres son muy vanidosos 2 "
    assert WRITE.files(config(wording=str(own))) == [own]


def test_a_dry_run_counts_calls_at_most(tmp_path):
    def forecast(tables, given=None):
        workshop = Workshop(
            config=given or config(), tables=tables, folder=tmp_path, ask=Model(""), ratings=lambda _: ()
        )
        return [(one.model, len(one.prompts), one.times, one.max_tokens) for one in WRITE.forecast(workshop)]

    assert WRITE.forecast(Workshop(config(), {}, tmp_path, Model(""), lambda _: ())) is None
    assert forecast({}, config(writer="people", writers={"XA": ["w1"]})) == []
    assert forecast({"stereotypes": [stereotype(), stereotype("s2")]}) == [("lab/w", 2, 1, 1500), ("lab/w", 2, 2, 1500)]
    assert forecast({"validated": [stereotype(), stereotype("s2", kept=False)]}) == [
        ("lab/w", 1, 1, 1500), ("lab/w", 1, 2, 1500),
    ]  # fmt: skip
    assert forecast({"validated": [stereotype()]}, config(writers={"XA": ["w1"]})) == []


def test_a_dry_run_takes_later_prompts_for_longer_since_they_tell_what_is_taken(tmp_path):
    workshop = Workshop(
        config=config(), tables={"validated": [stereotype()]}, folder=tmp_path, ask=Model(""), ratings=lambda _: ()
    )
    first, later = (one.prompts[0].messages[0].content for one in WRITE.forecast(workshop))
    assert first == prompt_of(config(), config().countries[0], Desk(stereotype(), ABOUT)).messages[0].content
    assert later.count("\n- los sastres son muy vanidosos") == config().instances.number - 1
