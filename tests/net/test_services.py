"""Services from the environment."""

from __future__ import annotations

import pytest

from redargue.errors import UsageError
from redargue.net.services import services


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
