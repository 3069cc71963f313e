"""Which questions are put by each scoring rule, and their prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isogloss.errors import SettingError
from isogloss.records import AnswerForm, Condition, Dataset, Item, Message, Prompt
from isogloss.studies.stereotypes import bbq
from isogloss.studies.stereotypes.items import ANTI, STEREOTYPE, UNRELATED
from isogloss.studies.stereotypes.settings import ANY, Rule, StereotypeSettings
from isogloss.studies.stereotypes.wording import ChoiceWording, choice_wording
from isogloss.study import Need

PAIRS = ((STEREOTYPE, ANTI), (STEREOTYPE, UNRELATED), (ANTI, UNRELATED))
"""Which sentences a chat model chooses between, each pair in both orders."""
NEITHER = "neither"
SPACELESS = frozenset({"zh", "ja", "th", "my", "km", "lo"})
"""Languages written without a space between sentences."""
WHOLE = frozenset({"total", "per_token"})
FOLLOWING = frozenset({"next_sentence", "nsp_trained"})
LIKELIHOOD = frozenset({"causal", "causal_per_token", "masked"}) | WHOLE


def conditions(dataset: Dataset, settings: StereotypeSettings, seed: int) -> Iterator[tuple[Item, Condition]]:
    """Every question: rule after rule, in each the rows as they stand in the data.

    Raises
    ------
    SettingError
        Where a rule can't score a single row.
    """
    if bbq.is_bbq(dataset):
        yield from bbq.conditions(dataset, settings, seed)
        return
    for rule in rules_of(dataset, settings):
        items = [item for item in dataset.items if suits(rule, item)]
        if not items:
            raise SettingError(f"rule={rule} can score no row of {dataset.name}: {_why_not(rule)}")
        for item in items:
            yield from _of(rule, item, settings)


def rules_of(dataset: Dataset, settings: StereotypeSettings) -> tuple[Rule, ...]:
    """The rules that are set; where none is, the one that suits the data."""
    if bbq.is_bbq(dataset):
        return bbq.rules_of(settings)
    return tuple(dict.fromkeys("causal" if rule == ANY else rule for rule in settings.rule))


def suits(rule: Rule, item: Item) -> bool:
    """Whether a rule can score an item."""
    if rule == "crows_pairs":
        return not item.text and len(item.options) == 2
    if rule in FOLLOWING:
        return bool(item.text) and item.fields["split"] != "intrasentence"
    return True


def _why_not(rule: Rule) -> str:
    if rule == "crows_pairs":
        return "it is for pairs of sentences without a context, as in CrowS-Pairs"
    return "it needs a context and sentences that follow it"


def _of(rule: Rule, item: Item, settings: StereotypeSettings) -> Iterator[tuple[Item, Condition]]:
    country, order = item.fields["country"] or None, tuple(option.id for option in item.options)
    if rule != "forced_choice":
        yield item, Condition(country=country, language=item.language, format=rule, reading="logprob", order=order)
        return
    ids = {option.role: option.id for option in item.options}
    wording = wording_of(item, settings)
    for first, second in PAIRS:
        if first in ids and second in ids:
            for a, b in ((first, second), (second, first)):
                yield item, Condition(
                    country=country, language=wording.language, format=rule, wording=_version(wording, settings),
                    order=(ids[a], ids[b]),
                )  # fmt: skip


def _version(wording: ChoiceWording, settings: StereotypeSettings) -> str:
    return f"{wording.name}+{NEITHER}" if settings.neither else wording.name


def wording_of(item: Item, settings: StereotypeSettings) -> ChoiceWording:
    """The wording that an item is put in: that of its language, unless the settings name one."""
    return choice_wording(settings.wording if settings.wording != ANY else item.language or settings.language)


def needs(dataset: Dataset, settings: StereotypeSettings) -> list[Need]:
    """What each rule asks of a model."""
    found = []
    for rule in rules_of(dataset, settings):
        match rule:
            case "forced_choice" if bbq.is_bbq(dataset):
                found.append(Need("chat", True, "questions of BBQ and EsBBQ are put to a chat model; take one"))
            case "forced_choice":
                found.append(Need("chat", True, "rule=forced_choice needs a chat model; take rule=causal or masked"))
            case "masked":
                found.append(Need("masked", True, "rule=masked needs a masked model; take rule=causal"))
            case "crows_pairs":
                words = "rule=crows_pairs needs a model that masks shared tokens; take rule=masked or causal"
                found.append(Need("shared_tokens", True, words))
            case "next_sentence":
                words = (
                    "rule=next_sentence needs a model with a next-sentence head of its own; take rule=masked, or "
                    "train a head ('isogloss models train-head') and take rule=nsp_trained"
                )
                found.append(Need("next_sentence", True, words))
            case "nsp_trained":
                words = (
                    "rule=nsp_trained needs a folder with a next-sentence head; train one with 'isogloss models "
                    "train-head MODEL --corpus FILE --out DIR', then ask hf/./DIR"
                )
                found.append(Need("nsp_trained", True, words))
            case "given":
                words = "rule=given is for scores made elsewhere: isogloss score stereotypes --data … --responses …"
                found += [Need("masked", wanted, words) for wanted in (True, False)]  # no model fits
            case _:
                words = f"rule={rule} needs log-probabilities of given text; take rule=forced_choice"
                found.append(Need("logprobs", True, words))
                found.append(Need("masked", False, f"rule={rule} needs a causal model; take rule=masked"))
    return found


def ask(item: Item, condition: Condition, dataset: Dataset, settings: StereotypeSettings) -> Prompt:
    """The prompt of one question. Raises SettingError for a rule that can't score the item."""
    if bbq.is_bbq(dataset):
        return bbq.ask(item, condition, settings)
    rule = condition.format
    if rule == "forced_choice":
        return _choice(item, condition, settings)
    if rule == "given":  # never sent: its id stands for the item
        return _scored(item.id, [option.id for option in item.options])
    sentences = [option.text for option in item.options]
    if rule in FOLLOWING:
        return _scored(item.text, sentences, AnswerForm(kind="next_sentence"))
    if rule == "crows_pairs":
        return _scored("", sentences, AnswerForm(kind="shared_tokens"))
    if rule in LIKELIHOOD:
        context, candidates = parts(item)
        if rule in WHOLE:
            return _scored("", [context + candidate for candidate in candidates])
        return _scored(context, candidates)
    raise SettingError(f"no rule {rule!r} scores item {item.id!r}")


def _scored(text: str, candidates: Sequence[str], form: AnswerForm | None = None) -> Prompt:
    return Prompt.make((Message(role="text", content=text),), candidates=candidates, form=form)


def parts(item: Item) -> tuple[str, list[str]]:
    """What all sentences of an item share at their beginning, and how each goes on.

    Between sentences the context is what stands before; within one, what they have in common up to a word's end.
    The space goes with what follows it, as tokenizers have it.
    """
    sentences = [option.text for option in item.options]
    if item.text and item.fields["split"] != "intrasentence":
        gap = "" if (item.language or "").split("-")[0] in SPACELESS else " "
        return item.text, [gap + sentence for sentence in sentences]
    n = next((k for k, letters in enumerate(zip(*sentences, strict=False)) if len(set(letters)) > 1), 0)
    shared = sentences[0][:n]
    shared = shared[: shared.rfind(" ")] if " " in shared else ""
    shared = shared.rstrip()
    return shared, [sentence[len(shared) :] for sentence in sentences]


def _choice(item: Item, condition: Condition, settings: StereotypeSettings) -> Prompt:
    wording = wording_of(item, settings)
    texts = {option.id: option.text for option in item.options}
    values = {letter: texts[option] for letter, option in zip("ab", condition.order, strict=True)}
    within = not item.text or item.fields["split"] == "intrasentence"
    if not within:
        values["context"] = item.text
    if settings.neither:
        template, values["c"] = wording.pair_neither if within else wording.neither, wording.none
    else:
        template = wording.pair if within else wording.two
    form = AnswerForm(kind="letter", n_options=3 if settings.neither else 2)
    return Prompt.make((Message(role="user", content=template.render(values)),), form=form)
