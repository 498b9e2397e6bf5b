"""YAML 1.2 as PyYAML does not write it: a text that our reader would take for a number is quoted."""

from __future__ import annotations

from typing import Any

import yaml

from gpuregress.foundation.document import yaml_parser


class _Dumper(yaml.SafeDumper):
    """Asks the reader's own patterns what a plain word would be taken for."""

    yaml_implicit_resolvers = dict(yaml_parser.YAML_1_2)  # noqa: RUF012 - PyYAML's own way to hand them down


def write(value: Any) -> str:
    """A value as YAML, whatever it is in plain ASCII."""
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=False)
