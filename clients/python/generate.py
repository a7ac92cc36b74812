"""Makes sequencer_client/_api.py from the service's OpenAPI document.

    python3 generate.py            # needs Go, which prints the document
    python3 generate.py --check    # says whether it is up to date

Python's standard library alone. What it knows of JSON Schema is what the document uses; anything
else is an error, not a guess.
"""

import hashlib
import json
import keyword
import pathlib
import re
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
MADE = HERE / "sequencer_client" / "_api.py"
WIDTH = 110

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "Dict[str, Any]"}
# What a schema may say that changes no type.
SILENT = {
    "description", "example", "examples", "pattern", "format", "minimum", "maximum", "minLength", "maxLength", "minItems",
    "maxItems", "minProperties", "not", "default", "required", "additionalProperties", "title", "contentEncoding",
    "uniqueItems", "exclusiveMinimum", "contentMediaType", "contentSchema", "propertyNames", "maxProperties",
    "patternProperties", "if", "then", "else", "deprecated",
}  # fmt: skip


def snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).replace("-", "_").lower()


def argument(name):
    name = snake(name)
    return name + "_" if keyword.iskeyword(name) else name


def big(name):
    return name[0].upper() + name[1:]


def comment(text, indent=""):
    if not text:
        return []
    lines = textwrap.wrap(" ".join(text.split()), WIDTH - len(indent) - 2, break_long_words=False)
    return [f"{indent}# {line}" for line in lines]


def docstring(text, indent):
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")
    lines = textwrap.wrap(text, WIDTH - len(indent) - 6, break_long_words=False, break_on_hyphens=False)
    if len(lines) == 1:
        return [f'{indent}"""{lines[0]}"""']
    return [f'{indent}"""{lines[0]}', *(indent + line for line in lines[1:]), f'{indent}"""']


def assigned(start, expression, indent=""):
    """A type behind a name, on several lines if it is long."""
    line = f"{indent}{start}{expression}"
    if len(line) <= WIDTH or not expression.endswith("]"):
        return [line]
    head, rest = expression.split("[", 1)
    parts, depth = [""], 0
    for letter in rest[:-1]:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    inner = [line for part in parts for line in ended(assigned("", part.strip(), indent + "    "))]
    return [f"{indent}{start}{head}[", *inner, f"{indent}]"]


def ended(lines):
    return [*lines[:-1], lines[-1] + ","]


class Types:
    """The schemas as Python types: objects become TypedDicts, all else aliases."""

    def __init__(self, schemas):
        self.schemas = schemas
        self.dicts = []  # source lines
        self.aliases = []
        self.known = set()

    def all(self):
        for name in self.schemas:
            self.named(name)

    def named(self, name):
        """The expression for a schema of the document."""
        if name in self.known:
            return name
        self.known.add(name)
        schema = self.schemas[name]
        if "properties" in schema and "null" not in types_of(schema):
            self.dict(name, schema)
        else:
            expression = self.of(schema, name + "Object" if "properties" in schema else name)
            self.aliases += [*comment(schema.get("description")), *assigned(f"{name} = ", expression), ""]
        return name

    def dict(self, name, schema):
        required = schema.get("required", [])
        properties = schema["properties"]
        fields = {key: self.of(value, name + big(key)) for key, value in properties.items()}
        has = [key for key in fields if key in required]
        may = [key for key in fields if key not in required]
        if any(not key.isidentifier() or keyword.iskeyword(key) for key in fields):
            if has and may:
                raise SystemExit(f"{name}: some of its fields are no names, and some may be absent")
            self.aliases += [*comment(schema.get("description")), f"{name} = TypedDict(", f'    "{name}",', "    {"]
            for key, expression in fields.items():
                self.aliases += [*comment(properties[key].get("description"), " " * 8), f'        "{key}": {expression},']
            self.aliases += ["    },", f"    total={not may},", ")", ""]
            return

        def part(head, keys):
            lines = [f"class {head}:"]
            for key in keys:
                lines += [*comment(properties[key].get("description"), "    "), *assigned(f"{key}: ", fields[key], "    ")]
            return lines if keys else [*lines, "    pass"]

        # Before Python 3.11 a TypedDict has all of its keys, or may lack any.
        base = "TypedDict"
        if has and may:
            self.dicts += [*part(f"_{name}(TypedDict)", has), "", ""]
            base = f"_{name}"
        lines = part(f"{name}({base})" if not may else f"{name}({base}, total=False)", may or has)
        if schema.get("description"):
            lines[1:1] = [*docstring(schema["description"], "    "), ""]
        self.dicts += [*lines, "", ""]

    def of(self, schema, name):
        """The expression for a schema; what has no name of its own gets this one."""
        strange = set(schema) - SILENT - {"type", "$ref", "oneOf", "anyOf", "enum", "const", "items", "properties"}
        if strange:
            raise SystemExit(f"{name}: the generator does not know {sorted(strange)}")
        if "$ref" in schema:
            return self.named(schema["$ref"].rsplit("/", 1)[1])
        if "properties" in schema:
            self.dict(name, schema)
            return optional(name, "null" in types_of(schema))
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            words = [json.dumps(v) if not isinstance(v, bool) else str(v) for v in values if v is not None]
            return optional("Literal[" + ", ".join(words) + "]", None in values)
        for choice in ("oneOf", "anyOf"):
            if choice in schema and all(set(s) <= {"required"} for s in schema[choice]):
                continue  # which fields go together
            if choice in schema:
                some = [s for s in schema[choice] if s.get("type") != "null"]
                each = [self.of(s, f"{name}{at}" if len(some) > 1 else name) for at, s in enumerate(some, 1)]
                each = list(dict.fromkeys(each))
                one = each[0] if len(each) == 1 else "Union[" + ", ".join(each) + "]"
                return optional(one, len(some) < len(schema[choice]))
        kinds = types_of(schema)
        if not kinds:
            return "Any"
        items = schema.get("items")
        some = [
            "List[" + self.of(items if isinstance(items, dict) else {}, name + "Item") + "]"
            if kind == "array"
            else self.values(schema, name)
            if kind == "object"
            else PLAIN[kind]
            for kind in kinds
            if kind != "null"
        ]
        one = some[0] if len(some) == 1 else "Union[" + ", ".join(some) + "]"
        return optional(one, "null" in kinds)

    def values(self, schema, name):
        """An object whose keys are not known, and its values perhaps."""
        more = schema.get("additionalProperties")
        return "Dict[str, " + (self.of(more, name + "Value") if isinstance(more, dict) else "Any") + "]"


def types_of(schema):
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def optional(expression, absent):
    return f"Optional[{expression}]" if absent else expression


def routes(document, types):
    """A method for each operation with one answer. Streams are read by hand."""
    lines = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            answer = answer_of(document, operation, types)
            if answer is None:
                continue
            lines += route(document, path, method, operation, [*item.get("parameters", []), *operation.get("parameters", [])],
                           answer, types)  # fmt: skip
    return lines


def answer_of(document, operation, types):
    """How an answer is read, and its type; None for a stream."""
    for status, response in operation["responses"].items():
        if not status.startswith("2"):
            continue
        content = resolved(document, response).get("content", {})
        if not content:
            return "none", "None"
        if "application/json" in content:
            return "json", types.of(content["application/json"]["schema"], big(operation["operationId"]) + "Answer")
        if any(kind in content for kind in ("text/event-stream", "application/x-ndjson")):
            return None
        return "text", "str"
    raise SystemExit(f"{operation['operationId']} has no answer")


def resolved(document, node):
    while "$ref" in node:
        at = document
        for part in node["$ref"].lstrip("#/").split("/"):
            at = at[part]
        node = at
    return node


def route(document, path, method, operation, parameters, answer, types):
    name = snake(operation["operationId"])
    signature, optionals, query, headers = ["self"], [], [], []
    for parameter in (resolved(document, p) for p in parameters):
        arg, kind = argument(parameter["name"]), types.of(parameter["schema"], "Parameter")
        if parameter["in"] == "path":
            signature.append(f"{arg}: {kind}")
            path = path.replace("{" + parameter["name"] + "}", "{_segment(" + arg + ")}")
        else:
            optionals.append(f"{arg}: {optional(kind, not kind.startswith('Optional'))} = None")
            (query if parameter["in"] == "query" else headers).append(f'"{parameter["name"]}": {arg}')
    body = operation.get("requestBody")
    if body:
        kind = types.of(body["content"]["application/json"]["schema"], "Body")
        if body.get("required"):
            signature.append(f"body: {kind}")
        else:
            optionals.insert(0, f"body: {optional(kind, True)} = None")
    if optionals:
        signature += [*(["*"] if not body or body.get("required") else []), *optionals]
    call = [f'"{method.upper()}"', ('f"' if "{" in path else '"') + path + '"']
    call += [f'kind="{answer[0]}"'] if answer[0] != "json" else []
    call += ["query={" + ", ".join(query) + "}"] if query else []
    call += ["headers={" + ", ".join(headers) + "}"] if headers else []
    call += ["body=body"] if body else []
    head = f"    def {name}({', '.join(signature)}) -> {answer[1]}:"
    if len(head) > WIDTH:
        head = "\n".join([f"    def {name}(", *(f"        {part}," for part in signature), f"    ) -> {answer[1]}:"])
    code = f"        {'return ' if answer[0] != 'none' else ''}self._ask({', '.join(call)})"
    if len(code) > WIDTH:
        code = "\n".join([code[: code.index("(") + 1], *(line for part in call for line in spread(part)), "        )"])
    words = operation.get("summary", "").rstrip(".") + ". " + operation.get("description", "")
    return [head, *docstring(words, " " * 8), code, ""]


def spread(part):
    """An argument of a call, on several lines if it is long."""
    if len(part) <= WIDTH - 13:
        return [f"            {part},"]
    start, inner = part.split("{", 1)
    fields = inner.rstrip("}").split(", ")
    return [f"            {start}{{", *(f"                {field}," for field in fields), "            },"]


def errors(document):
    lines, table = [], []
    for code in document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]:
        name = "".join(word.capitalize() for word in code.split("_"))
        lines += [f"class {name}(SequencerError):", f'    """{code}"""', "", ""]
        table.append(f'    "{code}": {name},')
    return [*lines, "#: The error of each code.", "BY_CODE = {", *table, "}"]


def make(text):
    document = json.loads(text)
    types = Types(document["components"]["schemas"])
    types.all()
    methods = routes(document, types)
    head = [
        '"""Types, errors and routes of the API."""',
        "# Made by generate.py from the service's OpenAPI document: do not edit.",
        f"# {hashlib.sha256(text.strip().encode()).hexdigest()}",
        "",
        "from __future__ import annotations",
        "",
        "from typing import Any, Dict, List, Literal, Optional, TypedDict, Union",
        "from urllib.parse import quote",
        "",
        "from .errors import SequencerError",
        "",
        "",
        "def _segment(text: str) -> str:",
        '    """A part of a path. It is no name that paths give a meaning."""',
        '    if text in ("", ".", ".."):',
        '        raise ValueError(f"{text!r} cannot be a name")',
        '    return quote(text, safe="")',
        "",
        "",
    ]
    body = [
        "class Routes:",
        '    """A method for each route, as the document describes it."""',
        "",
        "    def _ask(self, method: str, path: str, **more: Any) -> Any:",
        "        raise NotImplementedError",
        "",
        *methods,
    ]
    names = re.findall(r"^(?:class )?([A-Z]\w*)(?=[(:]| = )", "\n".join([*types.dicts, *types.aliases, *errors(document)]), re.M)
    head += ["__all__ = [", *(f'    "{name}",' for name in dict.fromkeys(names)), "]", "", ""]
    lines = [*head, *types.dicts, *types.aliases, "", *errors(document), "", "", *body]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).rstrip() + "\n"


def main():
    text = subprocess.run(["go", "run", "./scripts/openapi"], cwd=HERE.parents[1], check=True, capture_output=True, text=True)
    made = make(text.stdout)
    if "--check" not in sys.argv[1:]:
        MADE.write_text(made, encoding="utf-8")
    elif MADE.read_text(encoding="utf-8") != made:
        sys.exit(f"{MADE} is not what the service says of itself: run python3 generate.py")


if __name__ == "__main__":
    main()
