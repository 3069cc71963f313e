"""`isogloss annotate`: sheets go out, come back, one of them damaged, and nothing that is right is lost."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isogloss.run.build_folder import BuildFolder

sys.path.append(str(Path(__file__).parent.parent))

from sayings import registered

Command = Callable[..., subprocess.CompletedProcess[str]]
BUILD = ("build", "sayings", "b/config.toml", "--out", "b")
VALUES = {"late-is-late": "5", "rain-makes-friends": "1", "a-full-net-is-heavy": "4", "the-coast-waits": "3"}


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A construction that waits for two raters, its configuration in it; and where the toy study is found."""
    here = tmp_path_factory.mktemp("waiting")
    environment = {**os.environ, **registered(here / "place")}
    (here / "b").mkdir()
    text = 'name = "x"\nmodels = ["scripted/random"]\nprompts = 30\nraters = ["a1", "a2"]\n'
    (here / "b" / "config.toml").write_text(text)
    assert call(*BUILD, cwd=here, env=environment).returncode == 3
    return here / "b", environment


def call(*args: object, **where: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "isogloss", *map(str, args)],
        capture_output=True, text=True, encoding="utf-8", check=False, timeout=120, **where,
    )  # fmt: skip


@pytest.fixture
def isogloss(waiting: tuple[Path, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line beside a copy of that construction."""
    shutil.copytree(waiting[0], tmp_path / "b")
    monkeypatch.chdir(tmp_path)

    def command(*args: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = call(*args, env=waiting[1])
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    return command


def fill(path: str, values: dict[str, str]) -> None:
    """Fill in a CSV sheet as its rater would; rows not named stay empty."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        titles, *rows = csv.reader(file)
    for row in rows:
        row[titles.index("how common")] = values.get(row[titles.index("item_id")], "")
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([titles, *rows])


def values_of(rater: str) -> dict[str, object]:
    return {one.item_id: one.values["value"] for one in BuildFolder("b").ratings("judge") if one.rater == rater}


def test_sheets_go_out_and_come_back_and_the_build_goes_on(isogloss):
    paths = isogloss("annotate", "export", "b").stdout.split()
    assert paths == [f"b/sheets/judge-{rater}.{kind}" for rater in ("a1", "a2") for kind in ("csv", "xlsx")]
    for rater in ("a1", "a2"):
        fill(f"b/sheets/judge-{rater}.csv", VALUES)
    assert isogloss("annotate", "status", "b").stdout == "judge  a1  0 of 4 rows back\njudge  a2  0 of 4 rows back\n"
    done = isogloss("annotate", "import", "b", "b/sheets/judge-a1.csv")
    assert done.stdout == "b/sheets/judge-a1.csv: 4 rows of a1 kept for judge\n"
    assert done.stderr == "rows still to come: a2 4\n"
    assert isogloss("annotate", "status", "b").stdout == "judge  a1  4 of 4 rows back\njudge  a2  0 of 4 rows back\n"
    isogloss(*BUILD, code=3)
    done = isogloss("annotate", "import", "b", "b/sheets/judge-a2.csv")
    assert done.stderr == "all rows are back: run the same 'isogloss build' again to go on\n"
    shown = json.loads(isogloss(*BUILD, "--json").stdout)
    assert shown["tables"]["judged"] == 4
    kept = Path("b/dataset/sayings.txt").read_text().splitlines()
    assert [line.casefold() for line in kept] == ["a full net is heavy", "late is late", "the coast waits"]


def test_a_workbook_comes_back_too(isogloss):
    import openpyxl

    assert isogloss("annotate", "export", "b", "--format", "xlsx").stdout.split() == [
        "b/sheets/judge-a1.xlsx", "b/sheets/judge-a2.xlsx",
    ]  # fmt: skip
    book = openpyxl.load_workbook("b/sheets/judge-a1.xlsx")
    [sheet] = [page for page in book if any(cell.value == "item_id" for cell in page[1])]
    titles = [cell.value for cell in sheet[1]]
    for row in sheet.iter_rows(min_row=2):
        row[titles.index("how common")].value = int(VALUES[row[titles.index("item_id")].value])
    book.save("back.xlsx")
    isogloss("annotate", "import", "b", "back.xlsx")
    assert values_of("a1") == {item: int(value) for item, value in VALUES.items()}


def test_faulty_rows_are_named_and_left_out_and_the_rest_is_kept(isogloss):
    isogloss("annotate", "export", "b", "--format", "csv")
    fill("b/sheets/judge-a1.csv", VALUES | {"late-is-late": "7", "the-coast-waits": ""})
    fill("b/sheets/judge-a2.csv", VALUES)
    done = isogloss("annotate", "import", "b", "b/sheets/judge-a1.csv", "b/sheets/judge-a2.csv", code=1)
    assert "b/sheets/judge-a1.csv: 2 rows of a1 kept for judge, 1 not filled in yet" in done.stdout
    [named] = [line for line in done.stderr.splitlines() if "judge-a1.csv row " in line]
    assert "7" in named
    assert done.stderr.splitlines()[-1] == (
        "faults: 1. Nothing of such rows is kept, and an earlier answer to one stays; rows without fault are (6). Mend "
        "the sheet and import it again; rows that it lacks go out with 'isogloss annotate export b'"
    )
    assert values_of("a1") == {"rain-makes-friends": 1, "a-full-net-is-heavy": 4}
    fill("b/sheets/judge-a1.csv", VALUES)
    isogloss("annotate", "import", "b", "b/sheets/judge-a1.csv")
    assert len(values_of("a1")) == 4


def test_a_later_sheet_takes_the_place_of_an_earlier_one(isogloss):
    isogloss("annotate", "export", "b", "--format", "csv")
    for value in ("1", "2"):
        fill("b/sheets/judge-a1.csv", dict.fromkeys(VALUES, value))
        isogloss("annotate", "import", "b", "b/sheets/judge-a1.csv")
    assert set(values_of("a1").values()) == {2}
    assert len(Path("b/ratings.jsonl").read_text().splitlines()) == 8


def test_only_rows_without_an_answer_go_out_again_and_a_named_task_has_all(isogloss):
    isogloss("annotate", "export", "b", "--format", "csv")
    first = Path("b/sheets/judge-a1.csv").read_bytes()
    fill("b/sheets/judge-a1.csv", VALUES | {"late-is-late": "", "the-coast-waits": ""})
    fill("b/sheets/judge-a2.csv", VALUES)
    done = isogloss("annotate", "import", "b", "b/sheets/judge-a1.csv", "b/sheets/judge-a2.csv")
    assert "2 rows of a1 kept for judge, 2 not filled in yet" in done.stdout
    assert done.stderr == "rows still to come: a1 2\n"
    assert isogloss("annotate", "export", "b", "--format", "csv").stdout == "b/sheets/judge-a1.csv\n"  # as it is
    Path("b/sheets/judge-a1.csv").unlink()
    isogloss("annotate", "export", "b", "--format", "csv")
    assert len(Path("b/sheets/judge-a1.csv").read_text("utf-8-sig").splitlines()) == 3
    fill("b/sheets/judge-a1.csv", VALUES)
    done = isogloss("annotate", "import", "b", "b/sheets/judge-a1.csv")
    assert done.stdout == "b/sheets/judge-a1.csv: 2 rows of a1 kept for judge\n"
    assert values_of("a1") == {item: int(value) for item, value in VALUES.items()}
    assert "nobody is asked anything in b now" in isogloss("annotate", "export", "b", code=1).stderr
    done = isogloss("annotate", "export", "b", "--task", "judge", "--format", "csv")
    assert done.stdout == "b/sheets/judge-a1-2.csv\nb/sheets/judge-a2.csv\n"
    assert done.stderr.startswith("b/sheets/judge-a1.csv has been begun with other rows, or is no sheet: it stays as")
    assert Path("b/sheets/judge-a1-2.csv").read_bytes() == first
    fill("b/sheets/judge-a1-2.csv", {"late-is-late": "2"})
    done = isogloss("annotate", "import", "b", "b/sheets/judge-a1-2.csv")
    assert done.stdout == "b/sheets/judge-a1-2.csv: 1 rows of a1 kept for judge\n"


def test_two_sheets_of_one_rater_in_one_command_make_up_for_each_other(isogloss):
    isogloss("annotate", "export", "b", "--format", "csv")
    path = Path("b/sheets/judge-a1.csv")
    fill(str(path), VALUES)
    titles, *rows = path.read_text("utf-8-sig").splitlines()
    for name, part in (("one.csv", rows[:2]), ("two.csv", rows[2:])):
        Path(name).write_text("\n".join([titles, *part]) + "\n", encoding="utf-8")
    done = isogloss("annotate", "import", "b", "one.csv", code=1)
    assert "one.csv: 2 rows are missing from the sheet: " in done.stderr
    done = isogloss("annotate", "import", "b", "one.csv", "two.csv")
    assert done.stdout == "one.csv: 2 rows of a1 kept for judge\ntwo.csv: 2 rows of a1 kept for judge\n"


def test_a_second_worksheet_is_warned_of(isogloss):
    import openpyxl

    isogloss("annotate", "export", "b", "--format", "xlsx")
    book = openpyxl.load_workbook("b/sheets/judge-a1.xlsx")
    book.copy_worksheet(book["judge"]).title = "mine"
    book.save("two.xlsx")
    assert isogloss("annotate", "import", "b", "two.xlsx").stderr.startswith(
        "warning: two.xlsx: only the worksheet 'judge' is read, and 'mine' left alone, though"
    )
    [one] = json.loads(isogloss("annotate", "import", "b", "two.xlsx", "--json").stdout)
    assert (one["notes"], len(one["warnings"])) == ([], 1)


def test_json_has_the_faults_by_row(isogloss):
    isogloss("annotate", "export", "b", "--format", "csv")
    fill("b/sheets/judge-a1.csv", VALUES | {"late-is-late": "perhaps"})
    [one] = json.loads(isogloss("annotate", "import", "b", "b/sheets/judge-a1.csv", "--json", code=1).stdout)
    assert (one["task"], one["rater"], one["kept"], one["unfilled"]) == ("judge", "a1", 3, 0)
    [fault] = one["faults"]
    assert fault["row"] in (2, 3, 4, 5)
    status = json.loads(isogloss("annotate", "status", "b", "--json").stdout)
    assert status[0] == {"task": "judge", "rater": "a1", "rows": 4, "back": 3}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["annotate", "exprt", "b"], "did you mean 'export'?"),
        (["annotate", "import", "b"], "needs the sheets to take back"),
        (["annotate", "export", "b", "x.csv"], "takes no files"),
        (["annotate", "export", "b", "--task", "jugde"], "did you mean 'judge'?"),
        (["annotate", "export", "b", "--format", "ods"], "no format named 'ods'"),
        (["annotate", "status", "b", "--format", "csv"], "--format goes with"),
        (["annotate", "import", "b", "c.csv", "--task", "judge"], "a sheet says itself"),
        (["annotate", "import", "b", "none.csv"], "none.csv"),
        (["annotate", "export", "nowhere"], "nowhere is no construction"),
    ],
)
def test_a_mistake_is_one_line(isogloss, args, words):
    done = isogloss(*args, code=1)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("isogloss: ")]
    assert words in line


def test_when_all_is_done_nobody_is_asked_and_an_earlier_task_can_be_named(isogloss):
    isogloss("annotate", "export", "b", "--format", "csv")
    for rater in ("a1", "a2"):
        fill(f"b/sheets/judge-{rater}.csv", VALUES)
    isogloss("annotate", "import", "b", "b/sheets/judge-a1.csv", "b/sheets/judge-a2.csv")
    isogloss(*BUILD)
    assert "nobody is asked anything in b now" in isogloss("annotate", "export", "b", code=1).stderr
    assert isogloss("annotate", "export", "b", "--task", "judge").stdout.count("judge-") == 4


def test_a_configuration_that_is_gone_is_asked_for(isogloss):
    Path("b/config.toml").unlink()
    line = isogloss("annotate", "status", "b", code=1).stderr
    assert "is gone; give it again: isogloss build sayings CONFIG --out b" in line
