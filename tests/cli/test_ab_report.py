"""`evalkit ab` leaves a page of its own."""

from __future__ import annotations

from tests.cli.test_ab import AGENTS, SERIAL, ab, suite
from tests.project import Project
from tests.report.test_html import Page


def test_the_page_leads_to_the_arms_and_tells_where_they_part(project: Project) -> None:
    """Each differing case with both arms' steps side by side; links to the arms' own reports."""
    done = ab(project, suite(project), "--b", f"target={AGENTS}:twice")
    assert done.code == 0, done.err
    report = project.root / "r" / "report.html"
    assert str(report.relative_to(project.root)) in done.out
    page = Page(report.read_text("utf-8"))
    assert "B is worse by 100 points" in page.text
    assert "First divergence: " in page.text
    assert "Failing replay of B (sample 1) parts from the passing replay of A (sample 1) here: " in page.text
    links = {value.partition("#")[0] for tag, name, value in page.attributes if name == "href" and tag == "a"}
    assert {"a/report.html", "b/report.html"} <= links


def test_a_comparison_of_two_runs_links_to_them(project: Project) -> None:
    """With --out the page stands in a folder of its own, and finds the runs from there."""
    path = suite(project)
    for name, agent in (("one", "once"), ("two", "twice")):
        assert project.run("run", path, "--target", f"{AGENTS}:{agent}", "--out", name, *SERIAL).code in (0, 1)
    done = project.run("ab", "--from", "one", "two", "--out", "c")
    assert done.code == 0, done.err
    page = Page((project.root / "c" / "report.html").read_text("utf-8"))
    links = {value.partition("#")[0] for _, name, value in page.attributes if name == "href"}
    assert {"../one/report.html", "../two/report.html"} <= links
