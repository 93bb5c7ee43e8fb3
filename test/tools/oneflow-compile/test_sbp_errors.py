# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be asked wrongly of SBP, each case with all that is said about it.

A message stands at the node of the source model and says what was asked, what is
allowed and what is nearest.
"""

import os
import subprocess
import textwrap

import pytest

import sbp_models as models

COMPILE = os.environ["ONEFLOW_COMPILE"]
USAGE = "; see oneflow-compile --help"


def hints(*texts, mesh="dp=2,tp=2"):
    return ["--mesh", mesh] + [word for text in texts for word in ("--sbp", text)]


def module(body, top=""):
    return (f"{top}func.func @main() {{\n{textwrap.indent(textwrap.dedent(body), '  ')}"
            "  return\n}\n")


def configured(*changes, rows=16):
    proto = models.configure(models.two_layers(rows))
    for change in changes:
        models.shard(proto, *change)
    return proto


def several():
    return models.configure(models.configure(models.two_layers()), "pod", 8)


SIGNED = module("""\
    %x = oneflow.input "x" on @mesh : tensor<8x4xf32>
    %0 = oneflow.relu %x on @mesh sbp ([S(0)]) -> ([S(0)]) : tensor<8x4xf32> loc("act"("model.mlir":4:8))
    oneflow.output "y" %0 on @mesh : tensor<8x4xf32>
    """, "oneflow.placement @mesh cpu [p = 2]\n")
STORED = module("""\
    %w = oneflow.read @w on @mesh : tensor<8x4xf32>
    oneflow.output "y" %w on @mesh : tensor<8x4xf32>
    """, "oneflow.placement @mesh cpu [p = 2]\n"
         "oneflow.variable @w on @mesh storage [S(0)] : tensor<8x4xf32>\n")


def pinned(pin, op="relu"):
    return module(f"""\
    %x = oneflow.input "x" : tensor<8x4xf32>
    %0 = oneflow.{op} %x {{oneflow.sbp = ["{pin}"]}} : tensor<8x4xf32>
    oneflow.output "y" %0 : tensor<8x4xf32>
    """)


def unknown_configuration(configurations):
    proto = models.shard(models.two_layers(), "act", "r", {0: 2}, [0, 1], configuration="nix")
    for name in configurations:
        models.configure(proto, name, 2)
    return proto


def with_devices(*names, count=2):
    proto = models.configure(models.two_layers(), devices=count)
    proto.configuration[0].device.extend(names)
    return proto


CUDA = module("""\
    %x = oneflow.input "x" : tensor<8x4xf32>
    oneflow.output "y" %x : tensor<8x4xf32>
    """, "oneflow.placement @mesh cuda [p = 2]\n")
FAR = module("""\
    %x = oneflow.input "x" : tensor<8x4xf32>
    oneflow.output "y" %x : tensor<8x4xf32>
    """, "oneflow.placement @mesh cpu [p = 2] from 1048575\n")
ATTRIBUTE = module("""\
    %x = oneflow.input "x" {oneflow.sbp = ["B@p"]} : tensor<8x4xf32>
    oneflow.output "y" %x : tensor<8x4xf32>
    """)
OUTPUT = module("""\
    %x = oneflow.input "x" : tensor<8x4xf32>
    oneflow.output "y" %x {oneflow.sbp = ["S(1)@p"]} : tensor<8x4xf32>
    """)

#  name: (model or text, options, exit status, all of standard error)
CASES = {
    # Names and texts.
    "unknown name": (models.two_layers(), hints("fc1.wieght=S(0)@tp"), 1, """\
model.onnx:0: error: --sbp 'fc1.wieght=S(0)@tp' matches no variable, input or node; nearest \
name: fc1.weight
"""),
    "unknown name with endpoint": (models.two_layers(), hints("fc3:in0=S(0)@tp"), 1, """\
model.onnx:0: error: --sbp 'fc3:in0=S(0)@tp' matches no variable, input or node; nearest name:\
 fc1
"""),
    "unknown axis": (models.two_layers(), hints("fc1.weight=S(0)@tq"), 2, """\
oneflow-compile: error: --sbp 'fc1.weight=S(0)@tq': --mesh dp=2,tp=2: no axis 'tq', the axes \
are: dp, tp; nearest: tp; see oneflow-compile --help
"""),
    "unknown axis of the module's mesh": (STORED, ["--sbp", "w=S(0)@q"], 1, """\
model.mlir:2:1: error: 'oneflow.variable' op --sbp 'w=S(0)@q': @mesh: no axis 'q', the axes \
are: p; nearest: p
"""),
    "wrong number of SBPs": (models.two_layers(), hints("fc1=[S(0)]"), 2, """\
oneflow-compile: error: --sbp 'fc1=[S(0)]': --mesh dp=2,tp=2: expected one SBP for each of the\
 axes dp, tp (? leaves one free), got: 1; see oneflow-compile --help
"""),
    "no SBP": (models.two_layers(), hints("fc1.weight=Q(0)@tp"), 2, """\
oneflow-compile: error: --sbp: expected PATTERN=SBP@AXIS or PATTERN=[SBP, ...], got: \
'fc1.weight=Q(0)@tp': expected S, B or P at column 1 of 'Q(0)'; see oneflow-compile --help
"""),
    "no SBP in brackets": (models.two_layers(), hints("fc1=[S(0), X]"), 2, """\
oneflow-compile: error: --sbp: expected PATTERN=SBP@AXIS or PATTERN=[SBP, ...], got: \
'fc1=[S(0), X]': expected S, B or P at column 1 of 'X'; see oneflow-compile --help
"""),
    "no axis": (models.two_layers(), hints("fc1.weight=S(0)"), 2, """\
oneflow-compile: error: --sbp: expected PATTERN=SBP@AXIS or PATTERN=[SBP, ...], got: \
'fc1.weight=S(0)': expected '@' and an axis after the SBP; see oneflow-compile --help
"""),
    "endpoint out of range": (models.two_layers(), hints("fc1:in3=B@tp"), 1, """\
fc1 (model.onnx:0): error: 'oneflow.add' op --sbp 'fc1:in3=B@tp' asks for in3 of a node of 3 \
operands (x, fc1.weight, fc1.bias) and 1 result; nearest: fc1:in2
"""),
    "result out of range": (models.two_layers(), hints("act:out1=B@tp"), 1, """\
act (model.onnx:1): error: 'oneflow.relu' op --sbp 'act:out1=B@tp' asks for out1 of a node of \
1 operand (fc1) and 1 result; nearest: act:out0
"""),
    "endpoint of a variable": (models.two_layers(), hints("fc1.weight:in0=B@tp"), 1, """\
fc1.weight (model.onnx:0): error: 'oneflow.variable' op --sbp 'fc1.weight:in0=B@tp' asks for \
in0 of the variable 'fc1.weight', but only nodes have operands and results; nearest: fc1:in1
"""),
    "mesh is no list": (models.two_layers(), ["--mesh", "dp:2"], 2, """\
oneflow-compile: error: --mesh: expected AXIS=SIZE, separated by commas, got: 'dp:2' in \
'dp:2'; see oneflow-compile --help
"""),
    "empty axis": (models.two_layers(), ["--mesh", "dp=0"], 2, """\
oneflow-compile: error: --mesh: expected a positive size, got: 'dp=0' in 'dp=0'; see \
oneflow-compile --help
"""),
    "text of an attribute": (pinned("S(0)"), ["--mesh", "p=2"], 1, """\
model.mlir:3:8: error: 'oneflow.relu' op 'oneflow.sbp': expected SBP@AXIS or [SBP, ...], \
perhaps after inN= or outN=, got: 'S(0)': expected '@' and an axis after the SBP
"""),
    "endpoint of an attribute": (pinned("in1=S(0)@p"), ["--mesh", "p=2"], 1, """\
model.mlir:3:8: error: 'oneflow.relu' op 'oneflow.sbp' asks for in1, the op has operands: 1, \
results: 1
"""),
    # Names that the model has and the compiled program has not.
    "folded node": (models.folded(), hints("same=S(0)@tp", mesh="tp=2"), 1, """\
oneflow-compile: error: --sbp 'same=S(0)@tp': the node 'same' (Identity) computes nothing of \
its own when the model runs: it was folded into others; name 'x', which gives it what it hands \
on, or 'act', which takes what it gives
"""),
    "folded node between nodes": (
        models.folded(), hints("same again:out0=S(0)@tp", mesh="tp=2"), 1, """\
oneflow-compile: error: --sbp 'same again:out0=S(0)@tp': the node 'same again' (Identity) \
computes nothing of its own when the model runs: it was folded into others; name 'act', which \
gives it what it hands on, or 'product', which takes what it gives
"""),
    "tensor": (models.folded(), hints("r=S(0)@tp", mesh="tp=2"), 1, """\
oneflow-compile: error: --sbp 'r=S(0)@tp': 'r' is a tensor, which goes by the node that gives \
it, 'act'
"""),
    "output": (models.folded(), hints("y=S(0)@tp", mesh="tp=2"), 1, """\
y (model.onnx:0): error: 'oneflow.output' op --sbp 'y=S(0)@tp' matches only the output 'y', \
and outputs are whole; it comes from the node 'product', which can be named
"""),
    "node of projections that were taken apart": (
        models.packed(), hints("split=S(1)@tp", mesh="tp=2"), 1, """\
oneflow-compile: error: --sbp 'split=S(1)@tp': the node 'split' (Split) computes nothing of \
its own when the model runs: it was folded into others; name 'sum', which gives it what it \
hands on
"""),
    "part of a packed weight": (models.packed(), hints("w=S(1)@tp", mesh="tp=8"), 1, """\
w (model.onnx:0): error: 'oneflow.variable' op part 'w.0', 4x6, of 'w', 4x18, which holds \
several projections: along 'tp': --sbp 'w=S(1)@tp' asks for S(1): sbp_c3: expected at least 8 \
blocks of dimension 1 along mesh axis 0, got: 6 of S(1) in extent 6; a tensor of 4x6 can lie \
there as: B; nearest: B
"""),
    "part of a packed node": (models.packed(), hints("sum=S(1)@tp", mesh="tp=8"), 1, """\
sum (model.onnx:1): error: 'oneflow.add' op one of the projections of the node, 8x6: result 0 \
along 'tp': --sbp 'sum=S(1)@tp' asks for S(1): sbp_c3: expected at least 8 blocks of dimension \
1 along mesh axis 0, got: 6 of S(1) in extent 6; a tensor of 8x6 can lie there as: B, \
S(0); nearest: S(0)
"""),
    "endpoint that is none": (models.two_layers(), hints("fc1:in-1=B@tp"), 2, """\
oneflow-compile: error: --sbp: expected PATTERN=SBP@AXIS or PATTERN=[SBP, ...], got: \
'fc1:in-1=B@tp': expected :inN or :outN with N from 0 to 999999, got: ':in-1'; see \
oneflow-compile --help
"""),
    "weight with the name of an entry": (
        models.named("train"), ["--train", "--loss", "mean"], 1, """\
train (model.onnx:0): error: 'oneflow.variable' op expected the name @train to be free for \
what attaching a loss makes; rename it
"""),
    # More ranks than there can be.
    "large axis": (models.two_layers(), ["--mesh", "dp=1000000000"], 2, """\
oneflow-compile: error: --mesh: expected at most 1048576 ranks in all, got more with \
'dp=1000000000' in 'dp=1000000000'; see oneflow-compile --help
"""),
    "large mesh": (models.two_layers(), ["--mesh", "dp=1024,tp=1025"], 2, """\
oneflow-compile: error: --mesh: expected at most 1048576 ranks in all, got more with 'tp=1025'\
 in 'dp=1024,tp=1025'; see oneflow-compile --help
"""),
    "far placement": (FAR, [], 1, """\
model.mlir:1:1: error: 'oneflow.placement' op expected ranks below 1048576, got 2 from 1048575 \
on
"""),
    "device of a placement": (CUDA, [], 1, """\
model.mlir:1:1: error: 'oneflow.placement' op this version generates code for cpu only, got: \
cuda
"""),
    # Contradictions.
    "hint and hint": (models.two_layers(), hints("fc1.weight=S(0)@tp", "*.weight=S(1)@tp"), 1,
                      """\
fc1.weight (model.onnx:0): error: 'oneflow.variable' op along 'tp': --sbp '*.weight=S(1)@tp' \
asks for S(1), but --sbp 'fc1.weight=S(0)@tp' asks for S(0)
"""),
    "hint and hint of an operand": (
        models.two_layers(), hints("fc2:in0=S(0)@tp", "fc2:in0=[?, B]"), 1, """\
fc2 (model.onnx:2): error: 'oneflow.matmul' op operand 0 along 'tp': --sbp 'fc2:in0=[?, B]' \
asks for B, but --sbp 'fc2:in0=S(0)@tp' asks for S(0)
"""),
    "hint and storage": (STORED, ["--sbp", "w=S(1)@p"], 1, """\
model.mlir:2:1: error: 'oneflow.variable' op along 'p': --sbp 'w=S(1)@p' asks for S(1), but \
its storage asks for S(0)
"""),
    "hint and signature": (SIGNED, ["--sbp", "act=S(1)@p"], 1, """\
model.mlir:4:8: error: 'oneflow.relu' op result 0 along 'p': its signature asks for S(0), but \
--sbp 'act=S(1)@p' asks for S(1)
"""),
    "hint and attribute": (ATTRIBUTE, ["--mesh", "p=2", "--sbp", "x=S(0)@p"], 1, """\
model.mlir:2:8: error: 'oneflow.input' op along 'p': --sbp 'x=S(0)@p' asks for S(0), but its \
oneflow.sbp 'B@p' asks for B
"""),
    "sharding and hint": (
        configured(("fc1", "h", {0: 4}, [0, 1, 2, 3])), hints("fc1=S(1)@p", mesh="p=4"), 1,
        """\
fc1 (model.onnx:0): error: 'oneflow.add' op result 0 along 'p': --sbp 'fc1=S(1)@p' asks for \
S(1), but the model's sharding as 4 shards of dimension 0 on devices [0, 1, 2, 3] asks for \
S(0)
"""),
    # Shapes.
    "no such dimension": (models.two_layers(), hints("fc1.weight=S(2)@tp"), 1, """\
fc1.weight (model.onnx:0): error: 'oneflow.variable' op along 'tp': --sbp 'fc1.weight=S(2)@tp'\
 asks for S(2): sbp_c2: expected a dimension of a tensor of rank 2 along mesh axis 1, got: \
S(2); a tensor of 12x8 can lie there as: B, S(0), S(1); nearest: S(1)
"""),
    "more parts than rows": (models.two_layers(), hints("fc2.bias=S(0)@tp", mesh="tp=8"), 1,
                             """\
fc2.bias (model.onnx:0): error: 'oneflow.variable' op along 'tp': --sbp 'fc2.bias=S(0)@tp' \
asks for S(0): sbp_c3: expected at least 8 blocks of dimension 0 along mesh axis 0, got: 4 of \
S(0) in extent 4; a tensor of 4 can lie there as: B; nearest: B
"""),
    "more parts than the first axis leaves": (
        models.two_layers(), hints("fc2.bias=[S(0), S(0)]", mesh="a=4,b=2"), 1, """\
fc2.bias (model.onnx:0): error: 'oneflow.variable' op along 'b': --sbp 'fc2.bias=[S(0), S(0)]'\
 asks for S(0): sbp_c3: expected at least 2 blocks of dimension 0 along mesh axis 1, got: 1 of\
 S(0) in extent 1; a tensor of 4 can lie there as: B; nearest: B
"""),
    "block does not divide": (
        models.two_layers(), hints("fc1.weight=S(0, block=5)@tp"), 1, """\
fc1.weight (model.onnx:0): error: 'oneflow.variable' op along 'tp': --sbp 'fc1.weight=S(0, \
block=5)@tp' asks for S(0, block = 5): sbp_c2: expected a block that divides the extent 12 of \
dimension 0 along mesh axis 1, got: S(0, block = 5); a tensor of 12x8 can lie there as: B, \
S(0), S(0, block = 6), S(1); nearest: S(0)
"""),
    "partial input": (models.two_layers(), hints("x=P@tp"), 1, """\
x (model.onnx:0): error: 'oneflow.input' op along 'tp': --sbp 'x=P@tp' asks for P(sum): \
variables and inputs are never partial; a tensor of 16x8 can lie there as: B, S(0), S(1); \
nearest: B
"""),
    "partial storage": (models.two_layers(), hints("fc1.weight=P(max)@tp"), 1, """\
fc1.weight (model.onnx:0): error: 'oneflow.variable' op along 'tp': --sbp \
'fc1.weight=P(max)@tp' asks for P(max): variables and inputs are never partial; a tensor of \
12x8 can lie there as: B, S(0), S(1); nearest: B
"""),
    "two reducers": (models.two_layers(), hints("fc1=[P(sum), P(max)]"), 1, """\
fc1 (model.onnx:0): error: 'oneflow.add' op result 0 along 'tp': --sbp 'fc1=[P(sum), P(max)]' \
asks for P(max): sbp_c4: expected one reducer for all partial axes, got: P(sum) and P(max) in \
[P(sum), P(max)]; a tensor of 16x12 can lie there as: B, S(0), S(1), P(sum); nearest: P(sum)
"""),
    # Ops.
    "op does not allow it": (models.two_layers(), hints("act=P(sum)@tp"), 1, """\
act (model.onnx:1): error: 'oneflow.relu' op along 'tp': --sbp 'act=P(sum)@tp' asks for \
P(sum); this op allows for its shapes: (B) -> (B), (S(0)) -> (S(0)), (S(1)) -> (S(1)), \
(P(max)) -> (P(max)), (P(min)) -> (P(min)); nearest: (P(max)) -> (P(max))
"""),
    "operand and result do not go together": (
        models.two_layers(), hints("act:in0=S(0)@tp", "act:out0=S(1)@tp"), 1, """\
act (model.onnx:1): error: 'oneflow.relu' op along 'tp': --sbp 'act:in0=S(0)@tp' asks for S(0)\
 of operand 0 and --sbp 'act:out0=S(1)@tp' asks for S(1); this op allows for its shapes: (B) \
-> (B), (S(0)) -> (S(0)), (S(1)) -> (S(1)), (P(max)) -> (P(max)), (P(min)) -> (P(min)); \
nearest: (S(0)) -> (S(0))
"""),
    "output wants all of it": (OUTPUT, ["--mesh", "p=2"], 1, """\
model.mlir:3:3: error: 'oneflow.output' op along 'p': its oneflow.sbp 'S(1)@p' asks for S(1) \
of operand 0; this op allows for its shapes: (B) -> (); nearest: (B) -> ()
"""),
    "heads do not split evenly": (models.heads(), hints("heads:in0=S(1)@tp"), 1, """\
heads (model.onnx:1): error: 'oneflow.reshape' op along 'tp': --sbp 'heads:in0=S(1)@tp' asks \
for S(1) of operand 0; this op allows for its shapes: (B) -> (B), (S(0)) -> (S(0)), (S(1, \
block = 4)) -> (S(1)), (P(sum)) -> (P(sum)), (P(max)) -> (P(max)), (P(min)) -> (P(min)), \
(P(prod)) -> (P(prod)); nearest: (S(1, block = 4)) -> (S(1))
"""),
    # Shardings in the model.
    "sharded over more devices": (models.sharded_two_layers(), ["--mesh", "dp=2"], 1, """\
fc1 (model.onnx:0): error: 'oneflow.matmul' op operand 0 cannot obey the model's sharding as 2\
 shards of dimension 0 on devices [[0, 1], [2, 3]]: the model is sharded over 4 devices, the \
mesh dp=2 has 2 ranks; a mesh that fits the whole model: --mesh a=2,b=2
"""),
    "sharded otherwise than the mesh": (
        models.sharded_two_layers(), ["--mesh", "dp=4"], 1, """\
fc1 (model.onnx:0): error: 'oneflow.matmul' op operand 0 cannot obey the model's sharding as 2\
 shards of dimension 0 on devices [[0, 1], [2, 3]]: no SBPs on the mesh dp=4 put these shards \
on these ranks; a mesh that fits the whole model: --mesh a=2,b=2
"""),
    "several configurations": (several(), [], 1, """\
model.onnx:0: error: the model has several device configurations: cluster (4 devices), pod (8 \
devices); choose one with --device-configuration NAME, or none
"""),
    "unknown configuration": (several(), ["--device-configuration", "none such"], 1, """\
model.onnx:0: error: --device-configuration none such: the model has cluster (4 devices), pod \
(8 devices)
"""),
    "no configuration": (unknown_configuration([]), ["--mesh", "p=2"], 1, """\
act (model.onnx:1): error: node 'act': says how it lies in device configuration 'nix', the \
model has no configuration; --device-configuration none ignores all of them
"""),
    "other configurations": (
        unknown_configuration(["a", "b"]), ["--mesh", "p=2", "--device-configuration", "b"], 1,
        """\
act (model.onnx:1): error: node 'act': says how it lies in device configuration 'nix', the \
model has only: a, b; --device-configuration none ignores all of them
"""),
    "two configurations of one name": (
        models.configure(models.configure(models.two_layers())), ["--mesh", "p=4"], 1, """\
model.onnx:0: error: the model has two device configurations 'cluster'; nodes cannot say which \
they mean
"""),
    "more names than devices": (with_devices("a", "b", "c"), ["--mesh", "p=2"], 1, """\
model.onnx:0: error: device configuration 'cluster': expected a name for each of its 2 devices \
at most, got 3
"""),
    "empty configuration": (with_devices(), ["--device-configuration", ""], 2, """\
oneflow-compile: error: expected --device-configuration with a name or none, got: ''; see \
oneflow-compile --help
"""),
    "sharding of an unknown tensor": (
        configured(("fc1", "r", {0: 4}, [0, 1, 2, 3])), ["--mesh", "p=4"], 1, """\
fc1 (model.onnx:0): error: node 'fc1': sharding of 'r': the node has no such input or output, \
it has x, fc1.weight, fc1.bias, h
"""),
    "device without a shard": (
        configured(("fc1", "h", {0: 2}, [0, 1])), ["--mesh", "p=4"], 1, """\
fc1 (model.onnx:0): error: node 'fc1': sharding of 'h': expected every device to hold a shard,\
 got none on 2
"""),
    "uneven shards that the mesh balances otherwise": (
        configured(("act", "r", {0: 4}, [0, 1, 2, 3]), rows=10), hints(mesh="a=2,b=2"), 1,
        """\
act (model.onnx:1): error: 'oneflow.relu' op result 0 cannot obey the model's sharding as 4 \
shards of dimension 0 on devices [0, 1, 2, 3]: no SBPs on the mesh a=2,b=2 put these shards on\
 these ranks; a mesh that fits the whole model: --mesh a=4
"""),
    "no mesh has these shards": (
        configured(("act", "r", {0: 4}, [3, 2, 1, 0])), ["--mesh", "p=4"], 1, """\
act (model.onnx:1): error: 'oneflow.relu' op result 0 cannot obey the model's sharding as 4 \
shards of dimension 0 on devices [3, 2, 1, 0]: no SBPs on the mesh p=4 put these shards on \
these ranks; no mesh of 4 ranks fits the whole model, --device-configuration none ignores it
"""),
    "inner part of a fused axis": (
        configured(("act", "r", {1: [(3, 1), (4, 4)]}, [0, 1, 2, 3])), ["--mesh", "p=4"], 1,
        """\
act (model.onnx:1): error: node 'act': sharding of 'r': only the outermost of the dimensions \
that make up axis 1 can be sharded
"""),
}


def messages(folder, model, options):
    """Exit status and standard error of compiling in `folder`."""
    name = "model.mlir" if isinstance(model, str) else "model.onnx"
    content = model.encode() if isinstance(model, str) else model.SerializeToString()
    (folder / name).write_bytes(content)
    done = subprocess.run([COMPILE, name, *options, "-o", "model.ofp"], cwd=folder,
                          capture_output=True, text=True, timeout=120)
    assert not (folder / "model.ofp").exists()
    return done.returncode, done.stderr


@pytest.mark.parametrize("name", CASES)
def test_the_whole_message(tmp_path, name):
    model, options, status, expected = CASES[name]
    found = messages(tmp_path, model, options)
    # The source line that is shown below an error in text is no part of it.
    lines = [line for line in found[1].splitlines()
             if not line.startswith((" ", "oneflow.variable", "oneflow.placement", "^"))]
    assert found[0] == status, found[1]
    assert "\n".join(lines) == expected.rstrip("\n")


def test_a_file_is_told_by_line(tmp_path):
    (tmp_path / "tp.txt").write_text("# two layers\n\nfc1.*=S(0)@tp  # columns\n"
                                     "fc2.weight=S(1)tp\nfc2.bias\n")
    found = messages(tmp_path, models.two_layers(), ["--mesh", "tp=2", "--sbp-file", "tp.txt"])
    expected = "expected PATTERN=SBP@AXIS or PATTERN=[SBP, ...], got: "
    assert found == (2, (
        f"oneflow-compile: error: tp.txt:4: {expected}'fc2.weight=S(1)tp': "
        f"expected '@' and an axis after the SBP{USAGE}\n"
        f"oneflow-compile: error: tp.txt:5: {expected}'fc2.bias': "
        f"expected '=' after the pattern{USAGE}\n"))


def test_a_file_and_a_flag_contradict(tmp_path):
    (tmp_path / "tp.txt").write_text("\nfc1.weight=S(0)@tp\n")
    found = messages(tmp_path, models.two_layers(), [
        *hints("fc1.weight=S(1)@tp", mesh="tp=2"), "--sbp-file", "tp.txt"])
    assert found == (1, (
        "fc1.weight (model.onnx:0): error: 'oneflow.variable' op along 'tp': "
        "tp.txt:2 'fc1.weight=S(0)@tp' asks for S(0), but "
        "--sbp 'fc1.weight=S(1)@tp' asks for S(1)\n"))


def test_a_file_that_is_not_there(tmp_path):
    found = messages(tmp_path, models.two_layers(), ["--sbp-file", "no.txt"])
    assert found == (2, "oneflow-compile: error: --sbp-file: cannot read no.txt: No such "
                        f"file or directory{USAGE}\n")


@pytest.mark.parametrize("path, reason", [
    ("/dev/zero", "expected a file or a pipe"), (".", "expected a file or a pipe"),
    ("/proc/self/mem", "Input/output error"),
    ("large.txt", "expected at most 16777216 bytes")])
def test_a_file_that_holds_no_hints(tmp_path, path, reason):
    with open(tmp_path / "large.txt", "wb") as file:
        file.truncate(17 << 20)
    found = messages(tmp_path, models.two_layers(), ["--sbp-file", path])
    assert found == (2, f"oneflow-compile: error: --sbp-file: cannot read {path}: {reason}"
                        f"{USAGE}\n")


def test_a_file_of_something_else(tmp_path):
    (tmp_path / "junk").write_bytes(b"\x1b[2J\0\xff" * 100 + b"\n" + b"word\n" * 30)
    status, text = messages(tmp_path, models.two_layers(), ["--sbp-file", "junk"])
    lines = text.splitlines()
    assert status == 2 and len(lines) == 11
    assert r"'\x1b[2J\x00\xff\x1b" in lines[0] and len(lines[0]) < 400
    assert lines[-1] == ("oneflow-compile: error: junk: 21 more lines are no hints" + USAGE)
