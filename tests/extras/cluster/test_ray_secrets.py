"""Keys and passwords on a Ray cluster: each machine has its own, none is sent or logged."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.machines import JUDGES
from support.ray_running import SECRETS
from support.task_folders import make_task_folder

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

HOOK = """
import os, sys

if any("ray_processes" in word for word in sys.orig_argv):  # the one process that talks to Ray
    from ray import cloudpickle
    from ray._private.serialization import SerializationContext

    sent = open(os.environ["SENT_TO_RAY"], "ab", buffering=0)
    serialize = SerializationContext.serialize

    def serialize_and_keep(context, value):
        sent.write(cloudpickle.dumps(value))
        return serialize(context, value)

    SerializationContext.serialize = serialize_and_keep
"""


def holding(secret, folder):
    """Return the files below a folder that hold a text."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if secret.encode() in path.read_bytes()]


def test_secrets_are_neither_sent_to_workers_nor_logged(stub, cluster, database, tmp_path):
    """Every argument of every call on the cluster is searched, then Ray's logs and the run folder.

    The server of the judge did receive the key, from workers that have it in their environment.
    """
    stub.reset()
    more = "key_env: CLUSTER_KEY, "
    judges = JUDGES.format(url=stub.url(), concurrency=8, deadline_s=30, more=more)
    (tmp_path / "judges.yaml").write_text(judges, encoding="utf-8")
    task = make_task_folder(tmp_path / "task", 20)
    sent, runs = tmp_path / "sent", tmp_path / "runs"
    (tmp_path / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    command = [sys.executable, "-m", "harness", "run", "--task", task, "--judges", "local"]
    command += ["--judges-file", tmp_path / "judges.yaml", "--store", database, "--executor", "ray"]
    env = os.environ | cluster.env | SECRETS | {"HARNESS_RUNS": str(runs)}
    env |= {"SENT_TO_RAY": str(sent), "PYTHONPATH": str(tmp_path)}
    subprocess.run(command, check=True, capture_output=True, env=env, cwd=tmp_path)
    assert {r["headers"].get("Authorization") for r in stub.requests()} == {
        f"Bearer {SECRETS['CLUSTER_KEY']}"
    }
    assert b"This is comment number 7." in sent.read_bytes()
    assert b"CLUSTER_KEY" in sent.read_bytes()
    assert holding("RunProcess", cluster.folder)
    for secret in SECRETS.values():
        assert secret.encode() not in sent.read_bytes()
        assert holding(secret, cluster.folder) == []
        assert holding(secret, runs) == []
