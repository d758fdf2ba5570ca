#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""validate.py DIRECTORY KIND[#DEFINITION] [FILE]...: whether each line of the files, or of standard input, is what
DIRECTORY/ptrace-KIND.schema.json, or one of its definitions, says.

Stricter than the schema, which readers of later versions use, too: a member that it does
not know is an error here, and so is one that comes twice. Where there is X_hex beside X,
X is what it stands for, but in data that a layout took apart. The first ten errors are printed.
"""
import itertools
import json
import os
import sys

import jsonschema


def strict(schema):
    """Lets no object have members that are not described."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema["unevaluatedProperties"] = False
        for value in schema.values():
            strict(value)
    elif isinstance(schema, list):
        for value in schema:
            strict(value)


def unique(pairs):
    keys = [key for key, _ in pairs]
    for key in set(keys):
        if keys.count(key) > 1:
            raise ValueError(f"{key} comes {keys.count(key)} times")
    return dict(pairs)


def shown(data):
    """Bytes as a string of the output has them."""
    text = data.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in text)


def hex_errors(value, path="$"):
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from hex_errors(item, f"{path}[{i}]")
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key == "data":
            continue
        yield from hex_errors(item, f"{path}.{key}")
        if key.endswith("_hex") and isinstance(value.get(key[:-4]), str):
            data = bytes.fromhex(item)
            if shown(data) != value[key[:-4]]:
                yield f"{path}.{key}: not the bytes of {key[:-4]}"
            try:
                data.decode("utf-8")
                yield f"{path}.{key}: needless, as it is UTF-8"
            except UnicodeDecodeError:
                pass


def errors(validator, name, lines):
    number = 0
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line.decode("utf-8"), object_pairs_hook=unique)
        except ValueError as error:
            yield f"{name}: line {number}: {error}"
            continue
        for error in validator.iter_errors(value):
            best = jsonschema.exceptions.best_match([error])
            yield f"{name}: line {number}: {best.json_path}: {best.message}"
        for error in hex_errors(value):
            yield f"{name}: line {number}: {error}"
    if number == 0:
        yield f"{name}: no line"


def all_errors(validator, names):
    if not names:
        yield from errors(validator, "standard input", sys.stdin.buffer)
    for name in names:
        with open(name, "rb") as file:
            yield from errors(validator, os.path.basename(name), file)


def main():
    name, _, definition = sys.argv[2].partition("#")
    with open(f"{sys.argv[1]}/ptrace-{name}.schema.json", encoding="utf-8") as file:
        schema = json.load(file)
    if definition:
        schema = {"$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]}
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schema)
    strict(schema)
    found = list(itertools.islice(all_errors(kind(schema), sys.argv[3:]), 10))
    for error in found:
        print(f"ptrace-{sys.argv[2]}: {error}"[:400])
    return len(found) > 0


sys.exit(main())
