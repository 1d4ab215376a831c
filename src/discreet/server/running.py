"""How a server runs: one process, its socket, an orderly end. Several of them can share a vault."""

import gc
import logging
import signal
import sys

import uvicorn

from discreet.curator.service import Curator
from discreet.server.application import application
from discreet.server.settings import Settings
from discreet.server.shield import LOGGER

__all__ = ["serve", "without_traceback"]

_COLLECT = (50_000, 20, 50)  # new objects before the collector looks; a question makes thousands


def serve(curator: Curator, settings: Settings) -> None:
    """Serve until stopped; what runs then is finished first.

    Privacy: none (touches no data); see `application`.
    >>> serve.__name__
    'serve'
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    logging.getLogger("uvicorn.error").addFilter(without_traceback)
    server = uvicorn.Server(
        uvicorn.Config(
            application(curator, settings),
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            proxy_headers=settings.secure_cookies,
            forwarded_allow_ips="127.0.0.1",
            limit_concurrency=1000,
            backlog=256,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=settings.drain_seconds,
            h11_max_incomplete_event_size=32 * 1024,
        )
    )
    for each in (signal.SIGTERM, signal.SIGINT):  # it ends in order first; then nothing is left
        signal.signal(each, lambda *_: None)
    print(f"Serving on http://{settings.host}:{settings.port} until stopped.", flush=True)
    gc.freeze()  # what was loaded stays: it need not be looked through again
    gc.set_threshold(*_COLLECT)
    server.run()


def without_traceback(record: logging.LogRecord) -> bool:
    """Take the exception out of a log line: its text may quote a question or a row.

    Privacy: none (touches no data).
    >>> without_traceback(logging.makeLogRecord({"msg": "failed"}))
    True
    """
    record.exc_info = record.exc_text = None
    return True
