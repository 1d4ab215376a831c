"""How a server runs: one process, its socket, an orderly end. Several of them can share a vault."""

import contextlib
import gc
import logging
import signal
import socket
import sys

import uvicorn

from discreet.curator.curator import Curator
from discreet.errors import DiscreetError, Unavailable
from discreet.server.application import application
from discreet.server.middleware import LOGGER
from discreet.server.settings import Settings

__all__ = ["serve", "without_traceback"]

_MOST_WAITING = 256  # connections that were not looked at yet
_COLLECT = (50_000, 20, 50)  # new objects before the collector looks; a question makes thousands


def serve(curator: Curator, settings: Settings) -> None:
    """Serve until stopped; what runs then is finished first."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    logging.getLogger("uvicorn.error").addFilter(without_traceback)
    app = application(curator, settings)
    with contextlib.suppress(DiscreetError):  # pages and answers say so then
        app.state.server.watch.look()  # before it listens: no visitor waits for the first check
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            proxy_headers=settings.secure_cookies,
            forwarded_allow_ips="127.0.0.1",
            limit_concurrency=1000,
            backlog=_MOST_WAITING,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=settings.drain_seconds,
            h11_max_incomplete_event_size=32 * 1024,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):  # it ends in order first; then nothing is left
        signal.signal(number, lambda *_: None)
    gc.freeze()  # what was loaded stays: it need not be looked through again
    gc.set_threshold(*_COLLECT)
    with _listener(settings) as listener:  # whoever reads the line can connect
        port = listener.getsockname()[1]
        print(f"Serving on http://{settings.host}:{port} until stopped.", flush=True)
        server.run(sockets=[listener])


def _listener(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server(
            (settings.host, settings.port), family=family, backlog=_MOST_WAITING
        )
    except OSError as failure:
        raise Unavailable(
            f"{settings.host}:{settings.port} cannot be listened on ({failure.strerror}); name "
            "another --port, or 0 for any that is free. Nothing was started."
        ) from None
    # Its connections inherit it; else the body of an answer waits 40 ms for the peer's receipt.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def without_traceback(record: logging.LogRecord) -> bool:
    """Take the exception out of a log line: its text may quote a question or a row.

    >>> without_traceback(logging.makeLogRecord({"msg": "failed"}))
    True
    """
    record.exc_info = record.exc_text = None
    return True
