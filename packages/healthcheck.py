"""The image's health check: asks the service; where process 1 is another command, whether its home can be written.

``python healthcheck.py [CMDLINE]``; CMDLINE is /proc/1/cmdline.
"""

import os
import sys
import urllib.request
from pathlib import Path

arguments = Path(sys.argv[1] if len(sys.argv) > 1 else "/proc/1/cmdline").read_text(encoding="utf-8").split("\0")
if "serve" not in arguments:
    sys.exit(not os.access(os.environ["REDARGUE_HOME"], os.W_OK))
ports = [after for before, after in zip(arguments, arguments[1:], strict=False) if before == "--port"]
ports += [argument.removeprefix("--port=") for argument in arguments if argument.startswith("--port=")]
port = ports[-1] if ports else os.environ.get("REDARGUE_SERVE_PORT", "8321")
try:
    ask = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
    with ask(f"http://127.0.0.1:{port}/healthz", timeout=10) as response:
        sys.exit(response.status != 200)
except OSError as error:
    sys.exit(f"http://127.0.0.1:{port}/healthz: {error}")
