"""What an executed notebook may say, and what it must not."""

import json

from reproduction.runner import execute


def test_paths_go_and_pictures_stay(tmp_path):
    """A picture is one long line without a space: reading it must not take a time that grows with its square."""
    picture = "iVBOR/w0KGgo+" * 100_000
    outputs = [{"output_type": "display_data", "data": {"image/png": picture}, "metadata": {}},
               {"output_type": "stream", "name": "stderr", "text": ["/tmp/ipykernel_123/456.py:3: UserWarning: hm\n"]}]
    cell = {"cell_type": "code", "metadata": {}, "source": ["f()"], "execution_count": 7, "outputs": outputs}
    path = tmp_path / "executed.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {"papermill": {"input_path": "in"}}}), encoding="utf-8")
    execute._clean(path, str(tmp_path), None)
    text = path.read_text(encoding="utf-8")
    assert picture in text and "cell:3: UserWarning: hm" in text
    assert "ipykernel" not in text and "input_path" not in text
