"""What the documents tell a newcomer to type exists and runs."""

import contextlib
import doctest
import io
import re

import pytest
import typer

from discreet.cli import app
from support.surface import ROOT, tracked_files

DOCUMENTS = [str(path.relative_to(ROOT)) for path in tracked_files() if path.suffix == ".md"]


def code(text: str) -> str:
    """Every line a reader might type: fences other than Python, indented lines, backticks."""
    fence = re.compile(r"^ *```(\w*)\n(.*?)^ *```", flags=re.MULTILINE | re.DOTALL)
    fenced = [body for language, body in fence.findall(text) if language != "python"]
    rest = fence.sub("", text)
    indented = re.findall(r"^ {4,}(.+)$", rest, flags=re.MULTILINE)
    return "\n".join([*fenced, *indented, *re.findall(r"`([^`\n]+)`", rest)])


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def commands() -> set[str]:
    return set(typer.main.get_command(app).commands)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_make_targets_and_commands_exist(name):
    text = code((ROOT / name).read_text())
    assert set(re.findall(r"\bmake ([a-z-]+)", text)) <= targets()
    assert set(re.findall(r"(?:^|[/$ ])discreet ([a-z]+)", text, flags=re.MULTILINE)) <= commands()


def test_the_scanner_sees_commands():
    text = "`make nothing` and\n```\n.venv/bin/discreet nothing\n```\n\n    make more  # words\n"
    assert sorted(re.findall(r"\bmake ([a-z-]+)", code(text))) == ["more", "nothing"]
    assert re.findall(r"(?:^|[/$ ])discreet ([a-z]+)", code(text), flags=re.M) == ["nothing"]
    assert python_blocks("```python\nx = 1\n```\n") == ["x = 1\n"]


def test_every_target_is_phony_and_described():
    makefile = (ROOT / "Makefile").read_text()
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE).group(1).split())
    described = set(re.findall(r"^([a-z-]+):.*## \S", makefile, flags=re.MULTILINE))
    assert targets() == phony == described


def test_the_readme_names_the_two_commands_and_has_python():
    readme = (ROOT / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme
    assert python_blocks(readme)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_python_in_documents_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks((ROOT / name).read_text())
    namespace: dict[str, object] = {"__name__": "document"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for number, block in enumerate(blocks):
        if ">>>" not in block:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, f"{name}:{number}", "exec"), namespace)
            continue
        example = doctest.DocTestParser().get_doctest(block, namespace, name, name, number)
        report: list[str] = []
        runner.run(example, out=report.append, clear_globs=False)
        namespace.update(example.globs)
        assert runner.failures == 0, "".join(report)
    assert len(blocks) == (ROOT / name).read_text().count("```python\n")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (ROOT / name).read_text())
    here = (ROOT / name).parent
    inside = [link for link in links if "://" not in link]
    assert [link for link in inside if not (here / link).exists()] == []
