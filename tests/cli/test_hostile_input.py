"""What others put into tasks, replies, names and keys stays what it is: data, never told on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.task_folders import make_task_folder

from harness.errors import HarnessError
from harness.judging.prompts.requests import Prompts
from harness.runs.run_folder import NewJudges, RunConfig, RunFolder, find_run
from harness.tasks import load_task

CANARY = "sk-canary-5f3a91e77c0d"
JUDGES = """\
judges:
  good: {{kind: endpoint, model: stub, base_url: "{good}", key_env: STUB_KEY, samples: 1}}
  bad: {{kind: endpoint, model: stub, base_url: "{bad}", key_env: STUB_KEY, samples: 1}}
  rude: {{kind: endpoint, model: stub, base_url: "{rude}", key_env: STUB_KEY, samples: 1}}
"""


@pytest.mark.slow
def test_the_key_is_in_no_file_log_traceback_or_process_listing(tmp_path, stub):
    """A run with a good judge, one whose key is refused and one that is cut off leaves the key
    nowhere: not on disk, not on the screen, not in what `ps` shows."""
    make_task_folder(tmp_path / "task", 4)
    faults = {"bad": "401", "rude": "trunc*1,400"}
    urls = {"good": stub.url(ms=50)} | {name: stub.url(fault=f) for name, f in faults.items()}
    (tmp_path / "judges.yaml").write_text(JUDGES.format(**urls), encoding="utf-8")
    arguments = ["run", "--task", "task", "--judges", "good,bad,rude"]
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments, "--judges-file", "judges.yaml"],
        cwd=tmp_path,
        env=os.environ | {"STUB_KEY": CANARY, "HOME": str(tmp_path)} | _folders(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while process.poll() is None and not list(tmp_path.glob("runs/*/verdicts.jsonl")):
        time.sleep(0.01)
    listing = Path(f"/proc/{process.pid}/cmdline")
    assert CANARY.encode() not in (listing.read_bytes() if listing.exists() else b"")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 3, out
    assert any(CANARY in value for seen in stub.requests() for value in seen["headers"].values())
    assert CANARY not in out
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "cache.db" for path in files)
    assert any(path.name == "report.html" for path in files)
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []


def _folders(place):
    return {"XDG_CACHE_HOME": str(place / "cache"), "XDG_CONFIG_HOME": str(place / "config")}


@pytest.mark.parametrize("field", ["api_base", "base_url", "key_env", "judges", "headers"])
def test_a_task_cannot_say_where_its_texts_are_sent(tmp_path, field):
    """Addresses and keys are the user's business: a task file that names one is refused."""
    folder = make_task_folder(tmp_path / "task")
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write(f"{field}: http://127.0.0.1:9/v1\n")
    with pytest.raises(HarnessError, match=field):
        load_task(str(folder))


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "a/../../b", "..", "x\0y", "x\ny"])
def test_no_name_in_a_task_leads_out_of_a_folder(tmp_path, name):
    """Task names, templates and files: what is no plain name is refused."""
    folder = make_task_folder(tmp_path / "task")
    text = (folder / "task.yaml").read_text(encoding="utf-8")
    for line in (f"name: {name!a}", f"prompts: {{forced_choice: {name!a}}}"):
        changed = text.replace("name: small", line) if line[:4] == "name" else f"{text}{line}\n"
        (folder / "task.yaml").write_text(changed.replace("'", '"'), encoding="utf-8")
        with pytest.raises(HarnessError):
            Prompts.load(load_task(str(folder)))


def test_template_syntax_in_data_is_shown_literally(tmp_path):
    """Placeholders and expressions in a text, a label or a rater are never filled in or run."""
    folder = make_task_folder(tmp_path / "task")
    nasty = "{{options}} {{7*7}} {% for x in y %} ${HOME} {0.__class__} %(fence)s"
    for name in ("items.jsonl", "task.yaml"):
        path = folder / name
        text = path.read_text(encoding="utf-8")
        text = text.replace("This is comment number 0.", nasty).replace("Toxic}", f'"{nasty}"}}', 1)
        path.write_text(text, encoding="utf-8")
    task = load_task(str(folder))
    asked = Prompts.load(task).messages(task.items[0], "forced_choice")[-1].content
    assert asked.count(nasty) == 2
    assert "49" not in asked.replace(nasty, "")


def test_a_run_is_found_by_name_alone_or_by_a_path_that_the_user_gives(tmp_path):
    """`resume RUN` opens what the user names and nothing else; another folder is one line."""
    with pytest.raises(HarnessError, match="not a run folder"):
        find_run(tmp_path, "../..")


def test_a_tasks_name_cannot_move_the_run_folder(tmp_path):
    """The run folder lies in the folder for runs, whatever the task is called."""
    task = load_task(str(make_task_folder(tmp_path / "task")))
    config = RunConfig(task="task", elicitations=("forced_choice",))
    made = RunFolder.create(
        tmp_path / "runs", task, config, NewJudges(specs=()), prompts=Prompts.load(task)
    )
    assert made.path.parent == tmp_path / "runs"


@pytest.mark.slow
def test_parquet_with_fifty_million_rows_is_capped_not_loaded(tmp_path):
    """A file of a few hundred kilobytes that declares 50 M rows is refused within seconds and
    within 300 MiB more memory than the command needs anyway."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = make_task_folder(tmp_path / "task")
    (folder / "ratings.jsonl").unlink()
    text = (folder / "task.yaml").read_text(encoding="utf-8")
    (folder / "task.yaml").write_text(text.replace("ratings.jsonl", "ratings.parquet"))
    million = pa.nulls(1_000_000, pa.string())
    table = pa.table(dict.fromkeys(("item", "rater", "value"), million))
    with parquet.ParquetWriter(
        folder / "ratings.parquet", table.schema, compression="zstd"
    ) as file:
        for _ in range(50):
            file.write_table(table)
    assert (folder / "ratings.parquet").stat().st_size < 5_000_000
    code = (
        "import re, resource, sys\nfrom pathlib import Path\n"
        "from harness.errors import TaskError\nfrom harness.tasks import load_task\n"
        "try:\n    load_task(sys.argv[1])\n"
        "except TaskError as error:\n    print(error)\n"
        "print(*re.findall(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text()))\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    said, *peaks_kib = done.stdout.splitlines()
    assert "rows" in said
    assert len(peaks_kib) == 2
    assert max(map(int, peaks_kib)) < 600_000
