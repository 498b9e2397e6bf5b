"""The page of a run with 10,000 cases of which 9,000 fail: its size, and the time in which Chromium opens it."""

from __future__ import annotations

import importlib
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, median_seconds, missing
from gpuregress.report import html, json_report
from tests.report.html import samples

PASSING, FAILING, JOBS = 1000, 9000, 40
MOST_BYTES = 3_000_000
MOST_S = 2.0
REPEATS = 5
_TIMES = """() => {
    const page = performance.getEntriesByType("navigation")[0];
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return [page.loadEventEnd, paint ? paint.startTime : 0];
}"""


def measure() -> list[Row]:
    document = json_report.finite(json_report.document(samples.many(PASSING, FAILING, JOBS)))
    text = html.page(document)
    size = len(text.encode())
    cases = f"{PASSING + FAILING:,} cases, {FAILING:,} fail"
    seconds = median_seconds(lambda: html.page(document), 3)
    rows = [
        Row(f"page of {cases}", f"{size / 1e6:.2f} MB", f"limit {MOST_BYTES / 1e6:g} MB", MOST_BYTES / size, 1),
        Row("the same, written from results.json", f"{seconds:.2f} s", f"limit {MOST_S:g} s", MOST_S / seconds, 1),
    ]
    what = "the same, opened in Chromium"
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        api: Any = importlib.import_module("playwright.sync_api")
    except ImportError:
        return [*rows, missing(what, "pip install playwright")]
    if chromium is None:
        return [*rows, missing(what, "there is no Chromium")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(text, encoding="utf-8")
        load_s, paint_s = _opened(api, chromium, path)
    note = f"navigation to load event; first paint after {paint_s:.2f} s"
    return [*rows, Row(what, f"{load_s:.2f} s", f"limit {MOST_S:g} s", MOST_S / load_s, 1, note)]


def _opened(api: Any, chromium: str, path: Path) -> tuple[float, float]:
    """The median times to the load event and to the first paint."""
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        times = []
        for _ in range(REPEATS):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page = context.new_page()
            page.goto(path.as_uri(), wait_until="load")
            page.screenshot()  # waits for the first frame
            times.append(page.evaluate(_TIMES))
            context.close()
        browser.close()
    load, paint = (statistics.median(one) / 1000 for one in zip(*times, strict=True))
    return load, paint
