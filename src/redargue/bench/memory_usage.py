"""Peak resident memory of this process, on Linux."""

from __future__ import annotations

from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Starts a new measurement; does nothing on other systems."""
    try:
        _RESET.write_text("5")  # Linux: the high-water mark of resident memory falls to what is resident now
    except OSError:
        return


def resident_peak() -> int | None:
    """Bytes since the last reset; None on other systems."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), None)
