"""Addresses of a shared store: no password in an argument, no server that is not checked."""

from __future__ import annotations

import os

import pytest
from support.processes import invoke

from harness.errors import RunError
from harness.extras.cluster.store_address import store_address

SECRET = "hunter2-and-more"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("PGHOST", "PGSERVICE", "PGSSLMODE", "PGPASSWORD", "HARNESS_STORE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{SECRET}@127.0.0.1/db",
        f"postgresql://me@127.0.0.1/db?password={SECRET}",
        f"postgresql://me:{SECRET}@[bad",
        f"mysql://me:{SECRET}@127.0.0.1/db",
    ],
)
def test_a_password_in_an_argument_is_refused_and_not_repeated(address):
    """The message names the ways to set it, and holds nothing of it."""
    result = invoke("doctor", "--store", address)
    assert result.exit_code == 1
    assert SECRET not in result.output
    with pytest.raises(RunError) as error:
        store_address(address)
    assert SECRET not in str(error.value)


def test_the_whole_address_may_stand_in_the_environment(monkeypatch):
    """Its password is used and shown nowhere."""
    monkeypatch.setenv("HARNESS_STORE", f"postgresql://me:{SECRET}@127.0.0.1:6543/db")
    address = store_address("postgresql://")
    assert address.name == "127.0.0.1:6543/db"
    assert address.parameters["password"] == SECRET
    assert SECRET not in repr(address)
    assert address.hide(f"password {SECRET} is wrong\nmore") == "password *** is wrong"


def test_a_service_file_may_name_the_server(tmp_path, monkeypatch):
    """Host and database come from the service; its host decides whether it is checked."""
    services = tmp_path / "services.conf"
    services.write_text("[judges]\nhost=db.example.org\ndbname=shared\n", encoding="utf-8")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    monkeypatch.setitem(os.environ, "PGSERVICE", "")
    address = store_address("postgresql:///?service=judges")
    assert address.name == "db.example.org:5432/shared"
    assert address.parameters["sslmode"] == "verify-full"


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "127.0.0.1,127.0.0.2"])
def test_this_machine_needs_no_certificate(host):
    """On loopback nobody listens."""
    assert "sslmode" not in store_address(f"postgresql://me@{host}/db").parameters


@pytest.mark.parametrize("host", ["10.0.0.1", "db.example.org", "127.0.0.1,db.example.org"])
@pytest.mark.parametrize("mode", ["disable", "allow", "require", "verify-ca"])
def test_connections_to_other_machines_must_be_verified(host, mode):
    """Every mode that does not check the name is refused."""
    assert store_address(f"postgresql://me@{host}/db").parameters["sslmode"] == "verify-full"
    with pytest.raises(RunError, match="verify-full"):
        store_address(f"postgresql://me@{host}/db?sslmode={mode}")
