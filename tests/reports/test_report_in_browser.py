"""The report in Chromium: no sideways scroll at phone and desktop width, no script error, buttons and search work."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from isogloss.reports import ReportContext, to_html

pytestmark = pytest.mark.browser

PROBE = """<script>
window.faults = []; window.saved = [];
addEventListener("error", (event) => window.faults.push(String(event.message)));
addEventListener("unhandledrejection", (event) => window.faults.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => window.faults.push(event.violatedDirective + event.blockedURI));
const error = console.error;
console.error = (...words) => { window.faults.push(words.join(" ")); error(...words); };
const url = URL.createObjectURL;
URL.createObjectURL = (blob) => { window.saved.push([blob.type, blob.size]); return url(blob); };
HTMLAnchorElement.prototype.click = function () {};
addEventListener("load", async () => {
  document.querySelectorAll("details").forEach((one) => (one.open = true));
  const input = document.querySelector(".pages input");
  input.value = "thing 79"; input.dispatchEvent(new Event("input"));
  const found = document.querySelectorAll(".pages .found button").length;
  const cells = [...document.querySelectorAll(".page table.grid td")].map((cell) => cell.textContent);
  for (const button of document.querySelectorAll("[data-svg],[data-png],[data-csv],[data-csv-of]")) button.click();
  await new Promise((done) => setTimeout(done, 1500));
  const root = document.documentElement;
  const result = {
    scroll: root.scrollWidth, width: root.clientWidth, faults, saved, found, cells, title: document.title,
    paper: getComputedStyle(document.body).backgroundColor };
  parent.postMessage(JSON.stringify(result), "*");
});
</script>"""


@pytest.fixture(scope="module")
def chromium() -> str:
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium in CI: the report can't be looked at")
        pytest.skip("no Chromium on this machine: the report can't be looked at")
    return found


def look(chromium: str, page: str, folder: Path, *, width: int, dark: bool) -> dict:
    """Open a page in a frame of a given width (a window can't be narrower than 500) and report what is seen."""
    (folder / "page.html").write_text(page.replace("<head>", "<head>" + PROBE, 1), encoding="utf-8")
    outer = folder / "outer.html"
    outer.write_text(
        '<!doctype html><script>addEventListener("message", (event) => '
        'document.documentElement.setAttribute("data-result", event.data));</script>'
        f'<iframe src="page.html" style="width:{width}px;height:800px;border:0"></iframe>',
        encoding="utf-8",
    )
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run", f"--user-data-dir={folder / 'profile'}",
         "--allow-file-access-from-files", f"--blink-settings=preferredColorScheme={0 if dark else 1}",
         f"--window-size={max(width, 500) + 40},900", "--virtual-time-budget=8000", "--dump-dom", outer.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    found = re.search(r'data-result="([^"]+)"', done.stdout)
    assert found, f"the page did not report: {done.stderr[-600:]}"
    return json.loads(html.unescape(found.group(1)))


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, False)])
def test_the_report_can_be_read_at_any_width(chromium, context: ReportContext, tmp_path: Path, width, dark):
    seen = look(chromium, to_html(context), tmp_path, width=width, dark=dark)
    assert seen["faults"] == []
    assert seen["title"] == "Toy: sample"
    assert seen["width"] == pytest.approx(width, abs=20)
    assert seen["scroll"] <= seen["width"]
    assert seen["paper"] == ("rgb(21, 24, 28)" if dark else "rgb(255, 254, 251)")
    assert seen["found"] == 1
    assert seen["cells"] == ["●", "?", "·", "+"]
    kinds = [kind for kind, size in seen["saved"] if size > 0]
    assert kinds.count("image/svg+xml") == 3
    assert kinds.count("image/png") == 3
    assert kinds.count("text/csv") == 3
