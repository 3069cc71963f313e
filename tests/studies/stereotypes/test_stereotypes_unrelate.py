"""Each triple gets a sentence that has nothing to do with it. Triples, pools and groups are made up."""

from collections import Counter

import pytest

from isogloss.construction import Workshop
from isogloss.construction.content_words import Vocabulary, content_words, function_words, word_list
from isogloss.construction.similarity import encode
from isogloss.errors import DataError, SettingError, UnknownNameError
from isogloss.studies.stereotypes.build.config import BuildConfig
from isogloss.studies.stereotypes.build.unrelate import DATA, UNRELATE, pool_of, read_pool, unrelate

TEXTS = {
    "context": "Un sastre abrió su taller el lunes.",
    "stereotype": "Se miró en el espejo durante una hora.",
    "anti_stereotype": "Ni siquiera se fijó en su propia ropa.",
}
FAR = ["El agua hierve a cien grados.", "La luna gira despacio.", "Las hormigas cavan túneles.", "El hierro se oxida.",
       "La raíz crece en la arena."]  # fmt: skip
NEAR = ["Los espejos son frágiles.", "El taller del sastre abrió el martes.", "Tu sastra vive lejos."]


def config(pool=None, **changes):
    return BuildConfig.model_validate(
        {
            "name": "x", "title": "X", "licence": "CC-BY-4.0", "creators": ["x"], "categories": ["trade"],
            "countries": [{"code": "XA", "name": "Aurelia", "language": "es-XA"},
                          {"code": "XB", "name": "Borealia", "language": "pt"}],
            "retrieval": {"models": ["lab/a"]}, "unrelated": {"pool": pool, **changes},
        }
    )  # fmt: skip


def reviewed(number=1, stereotype="s1", accepted=True, **changes):
    return {"id": f"{stereotype}.{number}", "stereotype_id": stereotype, "country": "XA", "language": "es-XA",
            "category": "trade", "group": "los sastres", "number": number, **TEXTS, "writer": "lab/w",
            "origin": "model", "repaired": False, "decisions": [], "accepted": accepted, "reviewed": True,
            **changes}  # fmt: skip


def made(tmp_path, rows, given=None, seed=0):
    ids = {row["stereotype_id"] for row in rows}
    workshop = Workshop(
        config=given or config(),
        tables={"reviewed": rows,
                "validated": [{"id": id, "validated": True, "n_ratings": 5, "median": 4.0} for id in sorted(ids)]},
        folder=tmp_path, ask=lambda *_, **__: [], ratings=lambda _: (), seed=seed,
    )  # fmt: skip
    return unrelate(workshop)["triples"]


def pool_file(tmp_path, *sentences, name="pool.txt"):
    path = tmp_path / name
    path.write_text("\n".join(sentences), encoding="utf-8")
    return path


def test_a_sentence_that_shares_a_word_in_any_form_or_is_alike_is_never_drawn(tmp_path):
    pool = pool_file(tmp_path, *NEAR, FAR[0])
    [row] = made(tmp_path, [reviewed()], config(str(pool), licence="CC-BY-SA-3.0"))
    assert row == {
        "id": "s1.1", "stereotype_id": "s1", "country": "XA", "language": "es-XA", "category": "trade",
        "target": "los sastres", **TEXTS, "unrelated": FAR[0], "unrelated_source": "pool.txt",
        "unrelated_similarity": row["unrelated_similarity"], "origin": "model", "writer": "lab/w",
        "licence": "CC-BY-4.0; unrelated sentence: CC-BY-SA-3.0", "validated": True, "reviewed": True,
        "corrected": False,
        "n_ratings": 5, "median": 4.0,
    }  # fmt: skip
    vectors = encode([FAR[0], *TEXTS.values()], "use", "es")
    assert row["unrelated_similarity"] == pytest.approx(float((vectors[1:] @ vectors[0]).max()), abs=1e-3)
    with pytest.raises(DataError, match="of its 1 sentences 0 fit triple"):  # no word shared, yet nearly the same said
        made(tmp_path, [reviewed(context="Hace mucho frío.", stereotype="Nieva.", anti_stereotype="No nieva.")],
             config(str(pool_file(tmp_path, "Las temperaturas son gélidas.")), most_similarity=0.1))  # fmt: skip


def test_what_a_review_corrected_is_in_the_triples_and_what_it_rejected_is_not(tmp_path):
    rows = [reviewed(1, stereotype="s1", context="Una sastra fue al mar."), reviewed(2, accepted=False)]
    [row] = made(tmp_path, rows)
    assert row["context"] == "Una sastra fue al mar."
    assert row["licence"] == "CC-BY-4.0"
    assert row["unrelated_source"] == "isogloss pool_es"
    with pytest.raises(DataError, match="no triple was accepted"):
        made(tmp_path, rows[1:])


def test_sentences_are_used_evenly_and_differ_within_a_stereotype(tmp_path):
    rows = [reviewed(number, f"s{k}") for k in range(4) for number in range(1, 6)]
    given = config(str(pool_file(tmp_path, *FAR, *NEAR)))
    triples = made(tmp_path, rows, given)
    assert Counter(row["unrelated"] for row in triples) == dict.fromkeys(FAR, 4)
    for k in range(4):
        assert len({row["unrelated"] for row in triples if row["stereotype_id"] == f"s{k}"}) == 5


def test_the_same_seed_draws_the_same_and_another_one_others(tmp_path):
    rows = [reviewed(number, f"s{k}") for k in range(2) for number in range(1, 4)]
    first, again = ([row["unrelated"] for row in made(tmp_path, rows)] for _ in range(2))
    turned = {row["id"]: row["unrelated"] for row in made(tmp_path, rows[::-1])}
    assert first == again == [turned[row["id"]] for row in rows]
    assert [row["unrelated"] for row in made(tmp_path, rows, seed=1)] != first


def test_a_pool_too_small_is_named_with_how_many_fit_and_what_to_do(tmp_path):
    pool = pool_file(tmp_path, *FAR[:2], *NEAR)
    rows = [reviewed(number) for number in range(1, 4)]
    with pytest.raises(DataError) as error:
        made(tmp_path, rows, config(str(pool)))
    assert str(error.value).startswith(f"pool {pool} is too small: of its 5 sentences 2 fit triple s1.")
    assert "whose stereotype needs 3 different ones; none fits 0 of 3 triples" in str(error.value)
    assert "unrelated.most_similarity (0.3)" in str(error.value)


def test_a_pool_for_each_language_or_none_for_one_is_said(tmp_path):
    pool = pool_file(tmp_path, *FAR)
    given = config({"es": str(pool)})
    assert pool_of(given, "es-XA").sentences == tuple(FAR)
    with pytest.raises(SettingError, match=r"unrelated.pool has no file for 'pt'; it has es"):
        pool_of(given, "pt")
    with pytest.raises(UnknownNameError, match="no pool of sentences that ships named 'qu'"):
        pool_of(config(), "qu")
    assert UNRELATE.files(given) == [pool]
    assert UNRELATE.files(config()) == []
    assert UNRELATE.files(config(str(pool))) == [pool]


def test_a_pool_is_read_line_by_line_and_a_bad_one_said(tmp_path):
    path = pool_file(tmp_path, "\ufeffUno  dos.", "", "  ", "uno, dos", "Tres.")
    assert read_pool(path) == ("Uno dos.", "Tres.")
    with pytest.raises(DataError, match="has no sentence"):
        read_pool(pool_file(tmp_path, "", "..."))
    with pytest.raises(DataError, match="can't be read"):
        read_pool(tmp_path / "none.txt")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="is not UTF-8 text: byte 0"):
        read_pool(path)


@pytest.mark.parametrize("language", ["es", "pt", "en"])
def test_pools_that_ship_are_plain_and_each_sentence_differs(language):
    sentences = read_pool(DATA / f"pool_{language}.txt")
    assert len(sentences) == 60
    for sentence in sentences:
        words = sentence.rstrip(".").split()
        assert sentence.endswith(".")
        assert [word for word in words[1:] if word[0].isupper()] == []  # no proper noun
        assert 4 <= len(words) <= 10
    listed = word_list(language)
    assert not any(content_words(sentence, frozenset()) & listed.person for sentence in sentences)


def test_pools_of_public_treebanks_serve_too(tmp_path, shared):
    path = shared / "data/sentence_pool/es_pud_no_propn.txt"
    rows = [reviewed(number, f"s{k}") for k in range(20) for number in range(1, 6)]
    triples = made(tmp_path, rows, config(str(path)))
    assert max(Counter(row["unrelated"] for row in triples).values()) == 1  # 100 triples, over 300 sentences that fit


def test_function_words_of_a_language_without_a_list_come_from_its_texts():
    texts = [f"lo {a} ka {b}" for a, b in [("mapo", "tira"), ("suno", "vela"), ("kiva", "noro"), ("mapo", "suli")]]
    assert function_words("qaa", texts) == {"lo", "ka"}
    vocabulary = Vocabulary(texts, function_words("qaa", texts))
    assert vocabulary.sharing("ka mapos lo") == {0, 3}
    assert vocabulary.sharing("ka lo") == frozenset()
