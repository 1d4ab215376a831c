"""Citations of the four source texts name a number that exists there, with its kind."""

import re
import unicodedata

import pytest

from support.seed_statements import NAMED, STATEMENTS
from support.surface import ROOT, tracked_files

SEEDS = ROOT.parent / "shared" / "seeds"
KEYS = sorted({key for key, _ in STATEMENTS})
KINDS = {
    "Alg.": "Algorithm",
    "Claim": "Claim",
    "Cor.": "Corollary",
    "Def.": "Definition",
    "Ex.": "Example",
    "Fact": "Fact",
    "Lemma": "Lemma",
    "Obs.": "Observation",
    "Prop.": "Proposition",
    "Rem.": "Remark",
    "Sec.": "Section",
    "Table": "Table",
    "Thm.": "Theorem",
}
SUFFIXES = {".py", ".md", ".toml", ".html", ".js"}
NUMBER = r"(?:A-)?\d+(?:\.\d+)*"
WORDS = "|".join(re.escape(kind) for kind in KINDS)
BARE = re.compile(
    r"\b(?:Theorem|Proposition|Corollary|Definition|Algorithm)s? (?:\d|A-\d)|\bof the lecture\b"
)


def cited(text: str) -> list[tuple[str, str]]:
    """Every (key, number) in brackets; what cannot be read is given as it stands."""
    found = []
    flat = re.sub(r"\s*\n\s*(?:#\s*|>\s*)?", " ", text)
    for inside in re.findall(r"\[([^\[\]]*)\]", flat):
        for part in inside.split(";"):
            key, _, rest = part.strip().partition(",")
            if key not in KEYS:
                continue
            kind = None
            for piece in re.split(r",\s*|\s+(?:and|with)\s+", rest.strip()) if rest else ():
                read = re.fullmatch(rf"(?:({WORDS}) )?({NUMBER})", piece.strip())
                kind = (read and read[1]) or kind
                found.append((key, f"{kind} {read[2]}" if read and kind else piece))
    return found


def places() -> dict[str, list[tuple[str, str]]]:
    return {
        str(path.relative_to(ROOT)): cited(path.read_text())
        for path in tracked_files()
        if path.suffix in SUFFIXES and path.name not in {"CHANGELOG.md", "test_seed_citations.py"}
    }


def test_every_citation_of_a_source_text_names_a_number_that_exists():
    wrong = {
        path: unknown
        for path, found in places().items()
        if (unknown := sorted({each for each in found if each not in STATEMENTS}))
    }
    assert wrong == {}


def test_many_citations_were_read():
    found = [each for several in places().values() for each in several]
    assert len(found) > 150
    assert {key for key, _ in found} == set(KEYS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[DR14, Thm. 3.14]", [("DR14", "Thm. 3.14")]),
        ("[DR14, Cor. 3.15; BS16, Lemma 1.7]", [("DR14", "Cor. 3.15")]),
        ("[DR14, Thm. 3.24, 3.26 and 3.28]", [("DR14", f"Thm. 3.{n}") for n in (24, 26, 28)]),
        ("[DR14,\n    Claim 3.5 and Cor. 3.15]", [("DR14", "Claim 3.5"), ("DR14", "Cor. 3.15")]),
        ("[DMNS06, Prop. A-5]", [("DMNS06", "Prop. A-5")]),
        ("[DMNS06, Prop. 1]", [("DMNS06", "Prop. 1")]),
        ("[DR14, chapter 3]", [("DR14", "chapter 3")]),
        ("[DR14] and [BS16, Lemma 1.7]", []),
    ],
)
def test_citations_are_read(text, expected):
    assert cited(text) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        "[DMNS06, Def. 1]",  # the edition of the conference
        "[DMNS06, Prop. 1]",
        "[DR14, Prop. 3.14]",  # the number is that of a theorem
        "[Vad17, Lemma 2.2]",  # not in the part that was read
        "[Tut16, Thm. 16]",
    ],
)
def test_wrong_numbers_and_kinds_are_seen(wrong):
    assert not set(cited(wrong)) <= set(STATEMENTS)


def test_numbers_stand_beside_their_key():
    """ "Theorem 3.24" without a key cannot be checked; write [DR14, Thm. 3.24]."""
    roots = ("src/", "docs/", "examples/", "benchmarks/", "README.md")
    bare = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in tracked_files()
        if str(path.relative_to(ROOT)).startswith(roots) and path.suffix in SUFFIXES
        for found in [BARE.search(re.sub(r"\s+", " ", path.read_text()))]
        if found and path.name not in {"references.md", "threat_model.md"}
    ]
    assert bare == []


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the source texts are not in the repository")
def test_the_table_has_the_numbers_of_the_texts():
    """Where the texts are at hand: each number with its kind stands in one of them."""
    files = {"Vad17": "000", "Tut16": "001", "DR14": "003", "DMNS06": "004"}
    missing = []
    for (key, number), _ in STATEMENTS.items():
        if (key, number) in NAMED:
            continue
        kind, place = number.rsplit(" ", 1)
        raw = next(SEEDS.glob(f"{files[key]}_*.txt")).read_text()
        text = re.sub(r"[*#\s]+", " ", unicodedata.normalize("NFKC", raw))
        words = rf"(?:{KINDS[kind]} )?" if kind == "Sec." else f"{KINDS[kind]} "
        if not re.search(rf"(?<![\d.]){words}{re.escape(place)}(?![\d-])", text):
            missing.append(f"{key} {number}")
    assert missing == []
