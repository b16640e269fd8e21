from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from redargue.net.fetch import trusted


def test_certificates_are_read_once_for_each_place_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(httpx2, "create_ssl_context", lambda trust_env: object())
    places = [tmp_path / "one.pem", tmp_path / "two.pem"]
    contexts = []
    for place in (*places, *places):
        monkeypatch.setenv("SSL_CERT_FILE", str(place))
        contexts.append(trusted())
    assert contexts[:2] == contexts[2:]
    assert contexts[0] is not contexts[1]
    alone = trusted(from_environment=False)
    assert alone not in contexts
    monkeypatch.delenv("SSL_CERT_FILE")
    assert trusted(from_environment=False) is alone
