#!/usr/bin/env python3
# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check who includes whom, and a few rules that every file keeps.

A layer is a folder, the same below include/oneflow/ and lib/. RULES says for each
which other layers and which outside libraries it may include; a layer without a rule
is an error. The other rules: a license line, no file that outgrows one concept, no
drawer names, no path of one machine, no unfinished work.

  check_layering.py [--root DIR]

Prints one line a violation, `file:line: what is wrong`, and exits with 1 if there
are any.
"""

import argparse
import os
import re
import subprocess
import sys

MAX_LINES = 800
LICENSE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
INCLUDERS = (".h", ".cpp", ".c", ".td")
SOURCES = (*INCLUDERS, ".py", ".sh", ".cmake", ".fbs", "CMakeLists.txt", ".ci/run")
CHECKED_LENGTH = (".h", ".cpp", ".c", ".td", ".py", ".sh", ".mlir")

# Outside libraries by the headers they are known by.
LIBRARIES = {
    "mlir": r"mlir/|mlir-c/",
    "llvm": r"llvm/|llvm-c/",
    "lld": r"lld/",
    "flatbuffers": r"flatbuffers/",
    "onnx": r"onnx-ml\.pb\.h$",
    "protobuf": r"google/protobuf/",
    "json": r"nlohmann/",
    "zip": r"zip\.h$",
    "mpi": r"mpi\.h$",
    "gtest": r"gtest/|gmock/",
    # Without a suffix, and C's and POSIX's own: the standard library.
    "std": r"[a-z_0-9]+$|sys/[a-z]+\.h$|(assert|complex|ctype|dlfcn|elf|errno|fcntl|float"
    r"|immintrin|inttypes|limits|link|locale|math|poll|pthread|sched|setjmp|signal"
    r"|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|termios|time"
    r"|unistd|wchar)\.h$",
}

COMPILER = "std llvm mlir"
# layer: (layers and headers it may include besides itself, outside libraries). A
# trailing slash means a whole layer with all below it.
RULES = {
    "Plan": ("", "std flatbuffers"),
    "Sbp": ("Plan/Split.h", "std"),
    "Schedule": ("", "std"),
    "Interfaces": ("Sbp/", COMPILER),
    # Placements, variables and layouts are the same thing at every level, so each
    # dialect builds on the one above.
    "Dialect/OneFlow/IR": ("Interfaces/ Sbp/", COMPILER),
    "Dialect/Comm/IR": ("Interfaces/ Sbp/ Dialect/OneFlow/IR/", COMPILER),
    "Dialect/Actor/IR": ("Interfaces/ Sbp/ Dialect/OneFlow/IR/ Dialect/Comm/IR/", COMPILER),
    "Dialect/OneFlow/Transforms": (
        "Dialect/OneFlow/IR/ Interfaces/ Sbp/ Schedule/", COMPILER),
    "Dialect/Comm/Transforms": (
        "Dialect/Comm/IR/ Dialect/OneFlow/IR/ Interfaces/ Sbp/", COMPILER),
    "Dialect/Actor/Transforms": (
        "Dialect/Actor/IR/ Dialect/Comm/IR/ Dialect/OneFlow/IR/ Interfaces/ Sbp/ Plan/", COMPILER),
    # One header and one Passes.td for all conversions lie in Conversion itself.
    "Conversion": (
        "Dialect/Actor/IR/ Dialect/Comm/IR/ Dialect/OneFlow/IR/ Interfaces/ Sbp/ Plan/", COMPILER),
    "Conversion/OneFlowToComm": (
        "Conversion/Passes.h Conversion/Passes.h.inc Dialect/OneFlow/IR/ Dialect/Comm/IR/"
        " Interfaces/ Sbp/ Plan/", COMPILER),
    "Conversion/CommToActor": (
        "Conversion/Passes.h Conversion/Passes.h.inc Dialect/OneFlow/IR/ Dialect/Comm/IR/"
        " Dialect/Comm/Transforms/Phases.h Dialect/Actor/IR/ Interfaces/ Schedule/ Sbp/ Plan/",
        COMPILER),
    "Conversion/ActorToLLVM": (
        "Conversion/Passes.h Conversion/Passes.h.inc Conversion/ChainBuffers.h Dialect/Actor/IR/"
        " Interfaces/ Sbp/ Plan/", COMPILER),
    # Kernels hold upstream operations only: the generator knows none of our dialects.
    "Conversion/KernelToCpu": ("Conversion/KernelToCpu.h Plan/KernelAbi.h", COMPILER),
    "Import": ("Dialect/OneFlow/IR/ Interfaces/", COMPILER + " onnx protobuf"),
    "Target": (
        "Dialect/Actor/IR/ Dialect/Comm/IR/ Dialect/OneFlow/IR/ Conversion/ Interfaces/ Sbp/ Plan/",
        COMPILER + " lld flatbuffers"),
    "Pipelines": (
        "Dialect/ Conversion/ Import/ Target/ Interfaces/ Sbp/ Plan/", COMPILER),
    "Runtime": ("Plan/", "std flatbuffers"),
    "TensorIO": ("", "std json zip onnx protobuf"),
    # The precompiled header of the compiler's libraries.
    "MlirHeaders.cpp": ("", COMPILER),
    "tools/oneflow-opt": ("Pipelines/ Import/ Target/", COMPILER),
    # SourceName: its diagnostics name nodes of the model.
    "tools/oneflow-compile": ("Pipelines/ Import/ Target/ Interfaces/SourceName.h", COMPILER),
    "tools/oneflow-run": ("Runtime/RuntimeC.h TensorIO/", "std json"),
}
# What one file may include that its layer may not.
EXCEPTIONS = {"lib/Runtime/Transport/Mpi.cpp": "mpi"}

INCLUDE = re.compile(r'^\s*#?\s*include\s*([<"])([^>"]+)[>"]')
DRAWER = re.compile(r"(Utils?|Commons?|Helpers?)(?=[./]|$)", re.I)
# Paths that name a person's or a machine's folders; written so as not to name itself.
MACHINE_PATH = re.compile(r"(?<![\w.}\-])/(?:work|home|root|opt|Users)/\w")
REGISTRY = re.compile(r"https?://(?:deb|pypi|files|registry)[.]")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


def list_files(root):
    """The files of the checkout that git does not ignore; all of them without git."""
    git = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if git.returncode == 0:
        names = git.stdout.split("\0")
    else:
        names = [
            os.path.relpath(os.path.join(folder, name), root)
            for folder, _, files in os.walk(root) for name in files
        ]  # fmt: skip
    return sorted(name for name in set(names) if name and os.path.isfile(os.path.join(root, name)))


def layer_of(name):
    """The layer that a file belongs to, or None for those without rules (tests)."""
    for prefix in ("include/oneflow/", "lib/"):
        if name.startswith(prefix):
            inner = name[len(prefix) :]
            break
    else:
        inner = name if name.startswith("tools/") else None
    if inner is None:
        return None
    known = [layer for layer in RULES if inner == layer or inner.startswith(layer + "/")]
    return max(known, key=len) if known else "/".join(inner.split("/")[:-1]) or inner


def allowed_inside(layer, target):
    """Whether `target` ("Sbp/Rule.h") is the layer's own or one that its rule names."""
    if target.startswith(layer + "/"):
        return True
    for allowed in RULES[layer][0].split():
        if target == allowed or (allowed.endswith("/") and target.startswith(allowed)):
            return True
    # A part of a layer may include that layer's own headers: lib/Target/Cpu, Target/Cpu.h.
    return False


def library_of(header):
    for library, pattern in LIBRARIES.items():
        if re.match(pattern, header):
            return library
    return None


def check_include(root, name, header, quoted):
    """What is wrong with a file's include, or None."""
    layer = layer_of(name)
    if layer is None:
        return None
    if layer not in RULES:
        return f"layer '{layer}' has no rule in check_layering.py"
    if header.startswith("oneflow/"):
        target = header[len("oneflow/") :]
        if allowed_inside(layer, target):
            return None
        return f"{layer} may not include {header}"
    if quoted:
        beside = os.path.normpath(os.path.join(os.path.dirname(name), header))
        for candidate in (beside, os.path.normpath(os.path.join("lib", layer, header))):
            if os.path.isfile(os.path.join(root, candidate)):
                other = layer_of(candidate)
                return None if other == layer else f"{layer} may not include {candidate}"
    library = library_of(header)
    allowed = RULES[layer][1].split() + EXCEPTIONS.get(name, "").split()
    if library in allowed:
        return None
    return f"{layer} may not include {header} (of: {library or 'an unknown library'})"


def check_lines(root, name, lines):
    """Yields (line number, message) for one file."""
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line) if name.endswith(INCLUDERS) else None
        if match:
            message = check_include(root, name, match[2], match[1] == '"')
            if message:
                yield number, message
        if MACHINE_PATH.search(line):
            yield number, "names a folder of one machine"
        if REGISTRY.search(line):
            yield number, "names the address of a package registry"
        if UNFINISHED.search(line):
            yield number, "marks unfinished work"
    if name.endswith(SOURCES) and not any(LICENSE in line for line in lines[:12]):
        yield 1, f"expected the license line: {LICENSE}"
    if name.endswith(CHECKED_LENGTH) and len(lines) > MAX_LINES:
        yield len(lines), f"expected at most {MAX_LINES} lines, got: {len(lines)}"


def check(root):
    """Returns the violations in a checkout, as lines."""
    violations = []
    for name in list_files(root):
        if DRAWER.search(name):
            violations.append(f"{name}:1: a name that says nothing: put things with their concept")
        try:
            with open(os.path.join(root, name), encoding="utf-8") as file:
                lines = file.read().splitlines()
        except UnicodeDecodeError:
            continue
        violations += [f"{name}:{number}: {text}" for number, text in check_lines(root, name, lines)]
    return violations


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)))
    options = parser.parse_args(argv)
    violations = check(options.root)
    print("\n".join(violations) or f"{len(list_files(options.root))} files keep the rules")
    return int(bool(violations))


if __name__ == "__main__":
    sys.exit(main())
