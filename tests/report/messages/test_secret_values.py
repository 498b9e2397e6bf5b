from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.report.messages.web_request import UnsetVariable, expand, hide, variables

ENVIRONMENT = {"KEY": "s3cret/word", "EMPTY": "", "LINE": "value\n"}


def test_variables_are_expanded() -> None:
    assert variables("${A}/x/${B}/${A}") == ("A", "B")
    assert expand("https://hc/${KEY}/x${LINE}", "ping", ENVIRONMENT) == "https://hc/s3cret/word/xvalue"
    assert expand("https://hc/$KEY/{KEY}", "ping", ENVIRONMENT) == "https://hc/$KEY/{KEY}"


@pytest.mark.parametrize("name", ["EMPTY", "GONE"])
def test_an_unset_variable_is_named(name: str) -> None:
    with pytest.raises(UnsetVariable, match=rf"^ping: the environment variable {name} is not set$"):
        expand(f"${{{name}}}", "ping", ENVIRONMENT)


@given(st.text("abc/%? é", min_size=4), st.text(max_size=5), st.text(max_size=5))
def test_no_message_holds_the_secret(secret: str, before: str, after: str) -> None:
    setting, environment = "https://hc.example.org/${KEY}", {"KEY": secret}
    url = f"https://hc.example.org/{secret}"
    hidden = hide(f"{before}{url}{after} {secret} {secret.strip()}", url, setting, environment)
    assert len(secret.strip()) < 4 or secret.strip() not in hidden.replace(before, "").replace(after, "")
