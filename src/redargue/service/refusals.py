"""What the service refuses: checks that the caller does not have, and more work than it has room for."""

from __future__ import annotations

from redargue.errors import RedargueError


class UnknownCheck(RedargueError):
    """There is no such check, or it belongs to another caller, which the answer must not reveal."""


class Busy(RedargueError):
    """The service cannot take another check now.

    Attributes:
        retry_after: in seconds.
        draining: the service is stopping; running checks are resumed when it starts again.
    """

    exit_code = 5

    def __init__(self, what: str, *, retry_after: int = 5, draining: bool = False, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.retry_after, self.draining = retry_after, draining
