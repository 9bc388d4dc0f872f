"""Reading from a hub of our own on this machine, through datasets and huggingface_hub as they are.

It speaks the hub's protocol as far as a pinned commit needs it: what a repository holds, and the bytes of a file.
"""

import json
import os
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import datasets
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

from reproduction.data import hub
from reproduction.data.sources import TALK_SETS

READ = "import json, sys; from reproduction.data import hub; print(json.dumps(hub.read(*sys.argv[1:])))"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        for repository, commit in hub.REVISIONS.values():
            folder = self.server.folder / repository
            if path == f"/api/datasets/{repository}/revision/{commit}":
                files = [p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()]
                return self.answer({"id": repository, "sha": commit, "private": False, "downloads": 0, "likes": 0,
                                    "tags": [], "siblings": [{"rfilename": name} for name in files]})
            if path.startswith(tree := f"/api/datasets/{repository}/tree/{commit}"):
                inside = folder / path.removeprefix(tree).strip("/")
                return self.answer([entry(folder, p.relative_to(folder).as_posix()) for p in sorted(inside.iterdir())])
            if path.startswith(place := f"/datasets/{repository}/resolve/{commit}/"):
                return self.send(folder / path.removeprefix(place), commit)
        self.answer({"error": f"there is no {path}"}, 404)

    do_HEAD = do_GET

    def answer(self, content, status=200):
        self.body(json.dumps(content).encode(), status, {"Content-Type": "application/json"})

    def send(self, path, commit):
        data, status, headers = path.read_bytes(), 200, {"ETag": f'"{path.name}"', "X-Repo-Commit": commit}
        if wanted := self.headers.get("Range"):
            first, last = wanted.removeprefix("bytes=").split("-")
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            data, status = data[int(first):int(last or len(data)) + 1], 206
        self.body(data, status, headers | {"Accept-Ranges": "bytes"})

    def body(self, data, status, headers):
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(data))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        self.server.paths.append(self.path)


def entry(folder, name):
    path = folder / name
    entry = {"path": name, "oid": "0" * 40, "size": path.stat().st_size if path.is_file() else 0}
    return entry | {"type": "file" if path.is_file() else "directory"}


@pytest.fixture
def read(tmp_path):
    """Reads a split from the local hub in a process of its own: where the hub is, is decided on import."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.folder, server.paths = tmp_path / "hub", []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    surroundings = os.environ | {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HUB_OFFLINE": "0",
                                 "HF_HOME": str(tmp_path / "cache"), "HF_HUB_DISABLE_XET": "1",
                                 "NO_PROXY": "127.0.0.1"}

    def read(task, split):
        done = subprocess.run([sys.executable, "-c", READ, task, split], env=surroundings, capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr[-3000:] + str(server.paths)
        return json.loads(done.stdout)

    read.folder = server.folder
    yield read
    server.shutdown()
    server.server_close()


def test_stories(read):
    rows = [{"storyid": f"s{n}", "storytitle": "A day"}
            | {f"sentence{k}": f"Part {k} of day {n}." for k in range(1, 6)} for n in range(3)]
    folder = read.folder / hub.REVISIONS["rocstories"][0]
    folder.mkdir(parents=True)
    for name, part in (("ROCStories_winter2017.csv", rows[:2]), ("ROCStories__spring2016.csv", rows[2:])):
        pyarrow.csv.write_csv(pyarrow.Table.from_pylist(part), folder / name)
    found = read("rocstories", "train")
    assert found == [[f"s{n}", [f"Part {k} of day {n}." for k in range(1, 6)]] for n in range(3)]


def test_story_cloze_has_two_endings_of_which_one_is_right(read):
    rows = [{"story_id": f"s{n}"} | {f"input_sentence_{k}": f"Part {k}." for k in range(1, 5)}
            | {"sentence_quiz1": "So.", "sentence_quiz2": "Or so.", "answer_right_ending": n} for n in (1, 2)]
    folder = read.folder / hub.REVISIONS["storycloze"][0] / "story_cloze/2016"
    datasets.Dataset.from_list(rows).save_to_disk(folder / "validation")
    next((folder / "validation").glob("*.arrow")).rename(folder / "validation/dataset.arrow")
    four = [f"Part {k}." for k in range(1, 5)]
    assert read("rocstories", "dev") == [["s1", [*four, "So."]], ["s2", [*four, "Or so."]]]


def test_concepts(read):
    rows = [{"concept_set_idx": n, "concepts": ["dog", "run"], "target": text}
            for n, text in ((0, "The dog runs."), (0, "Run, dog."), (1, "A dog ran."))]
    folder = read.folder / hub.REVISIONS["commongen"][0] / "data"
    folder.mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "validation-00000-of-00001.parquet")
    assert read("commongen", "dev") == [["dev-0", ["dog", "run"], ["The dog runs.", "Run, dog."]],
                                        ["dev-1", ["dog", "run"], ["A dog ran."]]]


def test_talks_out_of_the_archive(read):
    folder = read.folder / hub.REVISIONS["ted15"][0] / "data/2017-01-trnted/texts/zh/en"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "zh-en.zip", "w") as archive:
        for number, name in enumerate(TALK_SETS["test"]):
            for side, text in (("zh", "好。"), ("en", "Good &amp; well.")):
                archive.writestr(f"zh-en/IWSLT17.TED.{name}.zh-en.{side}.xml", "\n".join(
                    ["<mteval>", "<doc>", f"<talkid>{number}</talkid>", f'<seg id="1"> {text} </seg>', "</doc>", ""]))
    assert read("ted15", "test") == [[str(n), [["好。", "Good & well."]]] for n in range(4)]
