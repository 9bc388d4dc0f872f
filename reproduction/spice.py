"""SPICE, where Java 8 or 11 and Stanford's jars are in place; elsewhere a sentence that says what is missing.

pycocoevalcap carries SPICE's own jar but not the CoreNLP 3.6.0 that it parses with, and SPICE's cache and script
engine fail on newer Java. Nothing is downloaded here and no figure is guessed.
"""
import os
import re
import subprocess
from pathlib import Path

import pycocoevalcap.spice.spice as library

JARS = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
ARCHIVE = "https://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"
WORKS_ON = (8, 11)


def missing(jar_folder: Path | None = None) -> str | None:
    """Why SPICE cannot run on this machine and what to do about it, in one sentence; None where it can."""
    folder = jar_folder or Path(library.__file__).parent / "lib"
    lacks = []
    version = _java_version()
    if version not in WORKS_ON:
        found = "no java on the PATH" if version is None else f"java on the PATH is version {version}"
        lacks.append(f"Java 8 or 11 ({found})")
    jars = [jar for jar in JARS if not (folder / jar).is_file()]
    if jars:
        lacks.append(f"{' and '.join(jars)} from {ARCHIVE}, to be put into pycocoevalcap/spice/lib")
    return f"SPICE needs {'; and '.join(lacks)}." if lacks else None


def scores(outputs: list[str], references: list[tuple[str, ...]]) -> list[float]:
    """SPICE's F of every output, 0 to 1. Ask `missing()` first."""
    truth = {i: list(refs) for i, refs in enumerate(references)}
    _, by_image = library.Spice().compute_score(truth, {i: [text] for i, text in enumerate(outputs)})
    return [row["All"]["f"] for row in by_image]


def _java_version() -> int | None:
    try:
        said = subprocess.run(["java", "-version"], capture_output=True, text=True, env=os.environ).stderr
    except OSError:
        return None
    number = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(number.group(1)) if number else None
