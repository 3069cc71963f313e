"""What the person who waits is shown: how far, how fast, what came back, what it costs, how long it takes yet."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from isogloss.cli.console import money
from isogloss.cli.display import Display, Row, short
from isogloss.records import Status
from isogloss.run.progress import Progress


def progress(name="openai/m", *, n_asked=400, cost: float | None = 0.5) -> Progress:
    p = Progress(name, 10_000, n_cached=100, n_asked=n_asked, n_settled=n_asked - 4, input_tokens=1_234_567)
    p.output_tokens, p.cost = 950, cost
    p.statuses.update({Status.OK: n_asked - 8, Status.FAILED: 4, Status.REFUSED: 4})
    return p


def test_the_rate_is_that_of_the_last_minute_and_tells_the_time_left():
    p = progress(n_asked=0)
    row = Row(p, now=0.0)
    for second in range(1, 201):
        p.n_asked += 50 if second <= 100 else 10
        p.n_settled = p.n_asked
        row.sample(float(second))
    assert row.rate(200.0) == pytest.approx(10, abs=0.5)
    assert row.seconds_left(200.0) == pytest.approx((10_000 - 100 - 6000) / 10, rel=0.05)
    assert row.pace(200.0) == "10.0/s, about 6 min left"


def test_a_line_says_coverage_tokens_cost_and_what_the_whole_may_cost():
    row = Row(progress(), now=0.0)
    assert row.coverage() == "98.0 % answered, 1.0 % failed, 1.0 % refused"
    assert row.tokens() == "1.23M tokens in, 950 out"
    # 400 calls took 0.50 US$; of 10,000 prompts 100 were held and 396 are settled, so 9,504 are to come
    assert row.cost() == f"0.50 US$ of about {0.5 / 400 * 9904:.2f} US$"
    assert Row(progress(cost=None), 0.0).cost() == "unknown cost"
    assert Row(progress(cost=0.0), 0.0).cost() == ""


def test_a_pause_says_why_in_place_of_a_rate():
    p = progress()
    p.waiting = "paused: HTTP 503: busy"
    assert Row(p, now=0.0).pace(1.0) == "paused: HTTP 503: busy"


def test_without_a_terminal_it_prints_whole_lines_and_not_too_many(capsys):
    display = Display()
    p = progress(n_asked=0)
    for _ in range(9_900):
        p.n_asked += 1
        p.n_settled += 1
        p.statuses[Status.OK] += 1
        display(p)
    display.warn("look here")
    display.close()
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 6
    assert lines[-1] == "warning: look here"
    assert lines[-2].startswith("openai/m: ")
    assert all("\x1b" not in line for line in lines)


def test_two_models_are_shown_side_by_side_and_fit_80_columns():
    display = Display()
    display._fancy = False
    for name in ("openai/a-model-with-a-rather-long-name-2026", "anthropic/b"):
        display(progress(name))
    out = io.StringIO()
    Console(file=out, width=80, color_system=None).print(display.render())
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("anthropic/b" in line for line in lines) == 1
    assert "496 of 10,000" in out.getvalue()


def test_watching_costs_next_to_nothing():
    display = Display()
    p = progress()
    display(p)
    began = time.process_time()
    for _ in range(10_000):
        display(p)
    assert time.process_time() - began < 0.5  # 50 µs a reply would be a third of the call itself


@pytest.mark.parametrize(
    ("dollars", "words"),
    [
        (0.0, "0.00 US$"),
        (None, "unknown cost"),
        (1234.5, "1,234.50 US$"),
        (0.01974, "0.0197 US$"),
        (2e-6, "0.000002 US$"),
    ],
)
def test_money_is_never_rounded_to_nothing(dollars, words):
    assert money(dollars) == words


@pytest.mark.parametrize(("n", "text"), [(0, "0"), (999, "999"), (12_340, "12.3k"), (4_560_000, "4.56M")])
def test_counts_are_shown_short(n, text):
    assert short(n) == text
