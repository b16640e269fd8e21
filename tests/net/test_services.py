"""Services from the environment."""

from __future__ import annotations

import pytest

from redargue.errors import UsageError
from redargue.net.services import services


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/v1", "http://[::1/v1", "ftp://example.org", "localhost:8000"])
def test_what_is_not_an_address_is_named(url: str) -> None:
    with pytest.raises(UsageError, match=r"is not an address \(--base-url\)"):
        services(url)


def test_an_error_has_no_argument_with_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2-very-secret")
    for name, value in (("REDARGUE_BASE_URL", "ftp://x"), ("REDARGUE_MODEL_TIMEOUT", "soon")):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            with pytest.raises(UsageError) as caught:
                services()
        code = caught.traceback[-1].frame.raw.f_code
        shown = [caught.traceback[-1].locals[each] for each in code.co_varnames[: code.co_argcount]]
        assert not any("hunter2" in repr(argument) for argument in shown)
