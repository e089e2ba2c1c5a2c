"""A hub of data sets on loopback with one data set, for `datasets`; prints its address."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

NAME, REVISION = "team/ratings", "a" * 40


class Hub(BaseHTTPRequestHandler):
    """Answers what a client asks to list and to fetch the files of one commit."""

    files: ClassVar[dict[str, bytes]] = {}

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        path = self.path.partition("?")[0]
        _, _, name = path.partition(f"/resolve/{REVISION}/")
        if name in self.files:
            etag = sha1(self.files[name], usedforsecurity=False).hexdigest()
            self.reply(self.files[name], ETag=f'"{etag}"', **{"X-Repo-Commit": REVISION})
        elif path == f"/api/datasets/{NAME}/revision/{REVISION}":
            siblings = [{"rfilename": name} for name in self.files]
            self.reply_json({"id": NAME, "sha": REVISION, "tags": [], "siblings": siblings})
        elif f"/tree/{REVISION}" in path:
            folder = path.partition(f"/tree/{REVISION}")[2].strip("/")
            inside = [entry(*file) for file in self.files.items() if file[0].startswith(folder)]
            folders = {name.rpartition("/")[0] for name in self.files if not folder} - {""}
            self.reply_json([*inside, *map(folder_entry, folders)])
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def reply_json(self, content):
        self.reply(json.dumps(content).encode(), **{"Content-Type": "application/json"})

    def reply(self, body, **headers):
        self.send_response(200)
        for key, value in (*headers.items(), ("Content-Length", str(len(body)))):
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        """Write no log."""


def entry(name, content):
    oid = sha1(content, usedforsecurity=False).hexdigest()
    return {"type": "file", "path": name, "size": len(content), "oid": oid}


def folder_entry(name):
    return {"type": "directory", "path": name, "size": 0, "oid": "0" * 40}


@contextmanager
def serve(**files):
    """Serve the files of one commit, in a process of its own; give its address."""
    with subprocess.Popen(
        [sys.executable, __file__, json.dumps(files)], stdout=subprocess.PIPE, text=True
    ) as server:
        yield server.stdout.readline().strip()
        server.kill()


if __name__ == "__main__":
    Hub.files = {name: text.encode() for name, text in json.loads(sys.argv[1]).items()}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)  # noqa: T201 -- the address
    server.serve_forever()
