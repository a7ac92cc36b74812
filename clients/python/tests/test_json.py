import unittest
from decimal import Decimal

from tests import rig  # noqa: F401
from sequencer_client import Number, parse, stringify


class Json(unittest.TestCase):
    def test_every_token_comes_back(self) -> None:
        text = (
            '{"a":0.10,"b":1E400,"c":-0,"d":0.5,"e":1180591620717411303425,"f":[1e3,-1.50,true,null],"g":"\\"é\u2028",'
            f'"h":{"9" * 5000}}}'
        )
        self.assertEqual(stringify(parse(text)), text)
        self.assertEqual(parse("0.10"), Decimal("0.1"))
        self.assertIsInstance(parse("0.10"), Number)
        self.assertIs(type(parse("0.5")), float)
        self.assertIs(type(parse("7")), int)

    def test_what_is_no_json_is_refused(self) -> None:
        for value in (float("nan"), Decimal("Infinity"), {1: 2}, object()):
            with self.assertRaises((TypeError, ValueError)):
                stringify(value)
        with self.assertRaises(ValueError):
            parse("[NaN]")
        self.assertEqual(stringify({"a": ("\ud800", Decimal("1.20"))}), '{"a":["\\ud800",1.20]}')
