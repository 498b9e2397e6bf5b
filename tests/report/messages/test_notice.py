from __future__ import annotations

import socket
from pathlib import Path

from gpuregress.report.messages.notices import Notice


def test_a_notice_has_the_first_line_as_its_subject() -> None:
    notice = Notice(Path("/srv/kernels"), 1, "r", ("1 new failure\x1b", "more"))
    host = socket.gethostname()
    assert notice.subject == f"[kernels on {host}] 1 new failure\\x1b"
    assert notice.text == f"1 new failure\\x1b\nmore\n\nexit code 1; /srv/kernels on {host}\n"
