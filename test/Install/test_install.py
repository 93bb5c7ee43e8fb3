# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs the build to a scratch prefix, which is then moved, and uses what is there:
the tools, and the example of the C API by CMake's find_package and by pkg-config."""

import os
import shutil
import subprocess

import pytest

MODULE = """
oneflow.variable @w : tensor<4x3xf32>
func.func @main() {
  %x = oneflow.input "x" : tensor<8x4xf32>
  %w = oneflow.read @w : tensor<4x3xf32>
  %0 = oneflow.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  oneflow.output "y" %0 : tensor<8x3xf32>
  return
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(Embedding C CXX)
find_package(Threads REQUIRED)
find_package(OneFlow REQUIRED)
foreach(kind runtime runtime_static)
  add_executable(with_${{kind}} {example} wrapper.cpp)
  target_link_libraries(with_${{kind}} PRIVATE OneFlow::${{kind}} Threads::Threads)
endforeach()
"""
# The C++ wrapper compiles outside the project.
WRAPPER = "#include <oneflow/Runtime/Runtime.h>\n"


def run(*command, **options):
    environment = dict(os.environ, **options.pop("env", {}))
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True,
        env=environment, check=False, **options,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    run(os.environ["CMAKE"], "--install", os.environ["ONEFLOW_BUILD"], "--prefix", folder / "first")
    # Nothing that is installed may know where.
    shutil.move(folder / "first", folder / "moved")
    return folder / "moved"


@pytest.fixture(scope="module")
def library_folder(prefix):
    (package,) = prefix.rglob("oneflow-runtime.pc")
    return package.parent.parent


@pytest.fixture(scope="module")
def plan(prefix):
    (prefix / "module.mlir").write_text(MODULE)
    run(prefix / "bin/oneflow-compile", prefix / "module.mlir", "-o", prefix / "plan.ofp")
    return prefix / "plan.ofp"


def test_tools(prefix, plan):
    assert "oneflow-infer-sbp" in run(prefix / "bin/oneflow-opt", "--help")
    text = run(prefix / "bin/oneflow-run", "info", plan)
    assert "entry main" in text


def test_find_package(prefix, plan, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(example=os.environ["ONEFLOW_EXAMPLE"]))
    (tmp_path / "wrapper.cpp").write_text(WRAPPER)
    run(os.environ["CMAKE"], "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(os.environ["CMAKE"], "--build", tmp_path / "build")
    for kind in ("runtime", "runtime_static"):
        run(tmp_path / f"build/with_{kind}", plan)


def test_pkg_config(library_folder, plan, tmp_path):
    environment = {"PKG_CONFIG_PATH": str(library_folder / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "oneflow-runtime", env=environment).split()
    run(os.environ["CC"], os.environ["ONEFLOW_EXAMPLE"], "-o", tmp_path / "example", *flags, "-lpthread")
    run(tmp_path / "example", plan, env={"LD_LIBRARY_PATH": str(library_folder)})


def test_headers_are_complete(prefix, tmp_path):
    """Each installed header compiles by itself, against the installed ones only."""
    headers = sorted((prefix / "include/oneflow").rglob("*.h"))
    assert any(header.name == "RuntimeC.h" for header in headers)
    for header in headers:
        source = tmp_path / "use.cpp"
        source.write_text(f'#include "{header}"\n')
        run(os.environ["CXX"], "-std=c++17", "-fsyntax-only", f"-I{prefix}/include", source)


def test_runtime_needs_no_compiler(library_folder):
    """The shared library depends on nothing but the system's own libraries."""
    text = run("ldd", library_folder / "liboneflow_runtime.so")
    names = {line.split()[0].split("/")[-1] for line in text.splitlines()}
    allowed = {"linux-vdso.so.1", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
               "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2"}
    assert names <= allowed, names - allowed
