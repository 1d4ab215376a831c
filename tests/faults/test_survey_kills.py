"""kill -9 while reports come in: what was confirmed is kept; sending all again adds the rest."""

import contextlib
import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from discreet.noise import system
from discreet.survey import Reports, read_survey
from support.command_line import run

pytestmark = pytest.mark.slow("kills and processes")

PEOPLE = 400


def collecting(file):
    words = ["survey", "collect", str(file), "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from discreet.cli import main; main()", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    line = process.stdout.readline()
    return process, re.search(r"http://(\S+)/", line).group(1)


def send(host, reports, confirmed=None):
    """The statuses that came back before the connection broke, put down one by one."""
    found = {} if confirmed is None else confirmed
    connection = http.client.HTTPConnection(host, timeout=240)
    with contextlib.suppress(OSError, http.client.HTTPException):
        for token, body in reports:
            connection.request("PUT", f"/reports/{token}", body=body)
            reply = connection.getresponse()
            reply.read()
            found[token] = reply.status
    connection.close()
    return found


def kept_in(file):
    reports = Reports.existing(file.with_suffix(".db"), read_survey(file))
    found = len(reports)
    reports.close()
    return found


@pytest.mark.parametrize("before", [1, 30])
def test_confirmed_reports_survive(before, tmp_path):
    file = tmp_path / "habits.toml"
    assert run("survey", "new", file).status == 0
    reports = {f"{system.bits(128):032x}": bytes([place % 8, 0]) for place in range(PEOPLE)}
    process, host = collecting(file)
    confirmed, gone = {}, threading.Event()

    def half():
        """All of them, the second half not before the server is gone: some are left for later."""
        for place, report in enumerate(reports.items()):
            if place == PEOPLE // 2:
                gone.wait(240)
            yield report

    sender = threading.Thread(target=send, args=(host, half(), confirmed))
    sender.start()
    while len(confirmed) < before and sender.is_alive():
        time.sleep(0.001)
    time.sleep(system.bits(4) / 1000)  # somewhere within the next reports
    process.kill()
    process.communicate()
    gone.set()
    sender.join()
    assert process.returncode == -signal.SIGKILL
    assert set(confirmed.values()) == {201}
    assert before <= len(confirmed) < PEOPLE
    assert len(confirmed) <= kept_in(file) <= len(confirmed) + 1  # the last may lack its reply
    process, host = collecting(file)
    again = send(host, reports.items())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=240)
    assert len(again) == kept_in(file) == PEOPLE
    assert all(again[token] == 200 for token in confirmed)
    assert list(again.values()).count(200) <= len(confirmed) + 1
    assert set(again.values()) == {200, 201}
