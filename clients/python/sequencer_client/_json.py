"""JSON whose numbers stay as they were written: what is read can be written again, token for token."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, List, Union


class Number(Decimal):
    """A number that neither an int nor a float holds as it was written, such as 0.10 or 1E400."""

    text: str

    def __new__(cls, text: str) -> Number:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        return f"Number({self.text!r})"


def _int(text: str) -> Union[int, Number]:
    try:
        number = int(text)
        return number if str(number) == text else Number(text)
    except ValueError:  # more digits than Python converts
        return Number(text)


def _float(text: str) -> Union[float, Number]:
    number = float(text)
    return number if repr(number) == text else Number(text)


def _constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def parse(text: Union[str, bytes]) -> Any:
    """Reads JSON without rounding any number. ValueError: it is none."""
    return json.loads(text, parse_int=_int, parse_float=_float, parse_constant=_constant)


def stringify(value: Any) -> str:
    """Writes JSON; a Number or a Decimal becomes the digits it stands for. TypeError, ValueError: it cannot be written."""
    parts: List[str] = []
    _write(value, parts)
    return "".join(parts)


def _write(value: Any, parts: List[str]) -> None:
    if isinstance(value, Number):
        parts.append(value.text)
    elif isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} cannot be written as JSON")
        parts.append(str(value))
    elif isinstance(value, str):
        whole = not any("\ud800" <= letter <= "\udfff" for letter in value)
        parts.append(json.dumps(value, ensure_ascii=not whole))
    elif isinstance(value, dict):
        parts.append("{")
        for at, (key, item) in enumerate(value.items()):
            if not isinstance(key, str):
                raise TypeError(f"a key of JSON is a string, not {key!r}")
            parts.append("," if at else "")
            _write(key, parts)
            parts.append(":")
            _write(item, parts)
        parts.append("}")
    elif isinstance(value, (list, tuple)):
        parts.append("[")
        for at, item in enumerate(value):
            parts.append("," if at else "")
            _write(item, parts)
        parts.append("]")
    else:
        parts.append(json.dumps(value, allow_nan=False))
