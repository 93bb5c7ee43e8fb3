//===- oneflow-compile.cpp - from a model to a plan -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads an ONNX model or a module of the oneflow dialect, spreads it over a
// mesh and writes a plan, or the module at any level on the way.
//
//===----------------------------------------------------------------------===//

#include "UnknownFlag.h"

#include "oneflow/Import/Onnx.h"
#include "oneflow/Pipelines/Diagnostics.h"
#include "oneflow/Pipelines/Explain.h"
#include "oneflow/Pipelines/Pipelines.h"
#include "oneflow/Pipelines/PrecisionFlags.h"
#include "oneflow/Pipelines/SpreadFlags.h"
#include "oneflow/Target/Cpu.h"
#include "oneflow/Target/PlanExport.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>
#include <cmath>
#include <optional>

namespace cl = llvm::cl;
using namespace mlir;
using namespace oneflow;

namespace {

enum class Level { Import, Logical, Spread, Comm, Actor, Plan };

cl::OptionCategory category("oneflow-compile options");

cl::opt<std::string> inputPath(cl::Positional,
                               cl::desc("<model.onnx | module.mlir>"),
                               cl::Required, cl::cat(category));
cl::opt<std::string>
    outputPath("o",
               cl::desc("Output file, - for standard output "
                        "(default: the input's name with .ofp, "
                        "or - with --emit)"),
               cl::value_desc("file"), cl::cat(category));
cl::opt<Level> emitLevel(
    "emit", cl::desc("Stop at a level and write it:"), cl::init(Level::Plan),
    cl::values(clEnumValN(Level::Import, "import", "the graph as imported"),
               clEnumValN(Level::Logical, "logical",
                          "the logical graph, with --train the whole step"),
               clEnumValN(Level::Spread, "spread",
                          "placed, with SBP signatures and boxing"),
               clEnumValN(Level::Comm, "comm", "one program per rank"),
               clEnumValN(Level::Actor, "actor",
                          "tasks, registers and memory, with native kernels"),
               clEnumValN(Level::Plan, "plan", "a plan file (default)")),
    cl::cat(category));
cl::opt<bool> emitLocations(
    "emit-locations",
    cl::desc("With --emit: write where each op comes from, too, so that the "
             "names of nodes are seen, and known when the file is read"),
    cl::cat(category));
cl::opt<std::string> mesh("mesh",
                          cl::desc("Axes of the cluster and their sizes "
                                   "(default: dp=1)"),
                          cl::value_desc("dp=2,tp=2"), cl::init("dp=1"),
                          cl::cat(category));
cl::opt<int64_t> microBatches(
    "micro-batches",
    cl::desc("Parts of the batch that a step takes one after the other, adding "
             "their gradients up (default: 1)"),
    cl::value_desc("m"), cl::init(1), cl::cat(category));
cl::opt<std::string> pipeline(
    "schedule",
    cl::desc("With pipeline stages (--mesh pp=N,...), how they go through the "
             "micro-batches: 1f1b (default), gpipe, interleaved or "
             "zero-bubble"),
    cl::init("1f1b"), cl::cat(category));
cl::opt<int64_t> chunks(
    "chunks",
    cl::desc("With --schedule interleaved: parts of the model on each stage "
             "(default: 2)"),
    cl::value_desc("v"), cl::init(1), cl::cat(category));
cl::list<std::string> stageHints(
    "stage",
    cl::desc("With pipeline stages: put the nodes whose names match into this "
             "part of the model, counted from 0; may be repeated"),
    cl::value_desc("pattern=part"), cl::cat(category));
cl::opt<std::string> device("device", cl::desc("What ranks compute on: cpu"),
                            cl::init("cpu"), cl::cat(category));
cl::list<std::string> dims(
    "dim",
    cl::desc("Extent of a symbolic dimension of the model; may be repeated"),
    cl::value_desc("name=extent"), cl::cat(category));
cl::list<std::string> sbpHints(
    "sbp",
    cl::desc("Pin how variables, inputs or nodes whose names match lie: along "
             "one mesh axis, 'fc*.weight=S(0)@tp', or along all of them, "
             "'fc1:in1=[B, S(1)]'; :inN and :outN are the operands and results "
             "of nodes; may be repeated"),
    cl::value_desc("pattern=sbp@axis"), cl::cat(category));
cl::list<std::string>
    sbpFiles("sbp-file",
             cl::desc("Read hints as --sbp takes them from a file, one per "
                      "line, # begins a comment; may be repeated"),
             cl::value_desc("file"), cl::cat(category));
cl::opt<std::string> deviceConfiguration(
    "device-configuration",
    cl::desc("Which of an ONNX model's device configurations says how it is "
             "sharded, or none (default: the only one)"),
    cl::value_desc("name"), cl::cat(category));
cl::opt<bool> train("train",
                    cl::desc("Make entries train and eval from the model"),
                    cl::cat(category));
cl::opt<std::string> loss("loss",
                          cl::desc("With --train: cross-entropy (default; adds "
                                   "the input \"labels\") or mean"),
                          cl::init("cross-entropy"), cl::cat(category));
cl::opt<std::string>
    lossOutput("loss-output",
               cl::desc("With --train: the output that feeds the loss "
                        "(default: the first)"),
               cl::value_desc("name"), cl::cat(category));
cl::opt<std::string>
    optimizer("optimizer",
              cl::desc("With --train: adamw (default), sgd, or none to "
                       "hand gradients out"),
              cl::init("adamw"), cl::cat(category));
cl::opt<double> learningRate("learning-rate",
                             cl::desc("With --train (default: 1e-3)"),
                             cl::init(1e-3), cl::cat(category));
cl::opt<double> weightDecay("weight-decay",
                            cl::desc("With --train (default: 1e-2)"),
                            cl::init(1e-2), cl::cat(category));
cl::opt<double> momentum("momentum",
                         cl::desc("With --optimizer sgd (default: 0.9)"),
                         cl::init(0.9), cl::cat(category));
cl::opt<unsigned>
    zero("zero",
         cl::desc("With --train: split what training keeps along mesh axes "
                  "that split inputs: 1 and 2 the optimizer's state, 3 the "
                  "parameters, too (default: 0, nothing)"),
         cl::value_desc("0|1|2|3"), cl::init(0), cl::cat(category));
cl::opt<std::string> precision(
    "precision",
    cl::desc("Float type of what a low type suffices for: bf16, f16 or f32; "
             "the rest is computed in f32 (default: as the model is)"),
    cl::value_desc("type"), cl::cat(category));
cl::opt<std::string> precisionOps(
    "precision-ops",
    cl::desc("With --precision: change which ops compute in the low type, in "
             "f32, or in that of their operands"),
    cl::value_desc("matmul=low,softmax=high,gelu=follow"), cl::cat(category));
cl::opt<std::string> lossScale(
    "loss-scale",
    cl::desc("With --train: multiply the loss before differentiation, so that "
             "small gradients do not vanish: dynamic (default with "
             "--precision f16), a number, or none (default otherwise)"),
    cl::value_desc("dynamic|number|none"), cl::cat(category));
cl::opt<double> lossScaleStart(
    "loss-scale-start",
    cl::desc("With --loss-scale dynamic: what it begins with (default: 65536)"),
    cl::value_desc("number"), cl::init(65536), cl::cat(category));
cl::opt<int64_t> lossScaleInterval(
    "loss-scale-interval",
    cl::desc("With --loss-scale dynamic: finite steps in a row that double it "
             "(default: 2000)"),
    cl::value_desc("steps"), cl::init(2000), cl::cat(category));
cl::opt<std::string> cpu("cpu",
                         cl::desc("Processor to generate code for: host "
                                  "(default) or generic (x86-64-v3)"),
                         cl::init("host"), cl::cat(category));
cl::opt<bool>
    explain("explain",
            cl::desc("Print every communication with the nodes that caused "
                     "it, its bytes and its predicted time"),
            cl::cat(category));
cl::opt<bool> explainSignatures(
    "explain-signatures",
    cl::desc("Say of every node and variable how it lies and why, a remark "
             "each on standard error"),
    cl::cat(category));
cl::opt<bool> verbose("verbose", cl::desc("Print each step with its time"),
                      cl::cat(category));

/// Says what is being done: with --verbose a line per step, else one line that
/// is rewritten, on a terminal only.
class Progress {
public:
  explicit Progress(bool verbose)
      : verbose(verbose),
        terminal(llvm::sys::Process::StandardErrIsDisplayed()) {}
  void begin(llvm::StringRef what) {
    end();
    step = what.str();
    start = std::chrono::steady_clock::now();
    if (terminal && !verbose)
      llvm::errs() << "\r\033[K" << step << "...";
  }
  void end() {
    if (step.empty())
      return;
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    if (verbose)
      llvm::errs() << step << ": " << llvm::format("%.2f s", seconds.count())
                   << "\n";
    else if (terminal)
      llvm::errs() << "\r\033[K";
    step.clear();
  }
  ~Progress() { end(); }

private:
  bool verbose, terminal;
  std::string step;
  std::chrono::steady_clock::time_point start;
};

int usageError(const llvm::Twine &message) {
  llvm::errs() << "oneflow-compile: error: " << message
               << "; see oneflow-compile --help\n";
  return 2;
}

int fail(const llvm::Twine &message) {
  llvm::errs() << "oneflow-compile: error: " << message << "\n";
  return 1;
}

/// A positive number that f32 holds.
std::optional<double> parseScale(llvm::StringRef text) {
  double value;
  if (text.getAsDouble(value) || !(value > 0) ||
      !std::isnormal(static_cast<float>(value)))
    return std::nullopt;
  return value;
}

bool isLossScaleDynamic() {
  if (lossScale.getNumOccurrences() == 0)
    return train && precision == "f16" && optimizer != "none";
  return lossScale == "dynamic";
}

/// What the loss scale begins with; 0 where there is none.
double initialLossScale() {
  if (isLossScaleDynamic())
    return lossScaleStart;
  return parseScale(lossScale).value_or(0);
}

/// What is wrong with the options of mixed precision.
std::optional<std::string> checkPrecision() {
  if (precision.getNumOccurrences() > 0 && precision != "f32" &&
      precision != "bf16" && precision != "f16")
    return "expected --precision f32, bf16 or f16, got: " + precision;
  if (precisionOps.getNumOccurrences() > 0 && precision.empty())
    return "--precision-ops goes with --precision";
  if (lossScale.getNumOccurrences() > 0 && lossScale != "dynamic" &&
      lossScale != "none" && !parseScale(lossScale))
    return "expected --loss-scale dynamic, none or a positive number, got: " +
           lossScale;
  if (initialLossScale() != 0 && optimizer == "none")
    return "--loss-scale goes with --optimizer adamw or sgd: gradients are "
           "handed out as they are";
  for (const cl::Option *option :
       std::initializer_list<cl::Option *>{&lossScaleStart, &lossScaleInterval})
    if (option->getNumOccurrences() > 0 && !isLossScaleDynamic())
      return ("--" + option->ArgStr +
              " goes with --loss-scale dynamic, which --precision f16 implies")
          .str();
  if (!(lossScaleStart > 0) ||
      !std::isnormal(static_cast<float>(lossScaleStart)))
    return "expected --loss-scale-start of a positive number, got: " +
           std::to_string(lossScaleStart);
  if (lossScaleInterval < 1)
    return "expected --loss-scale-interval of at least 1, got: " +
           std::to_string(lossScaleInterval);
  return std::nullopt;
}

/// What is wrong with the options that the passes would find only later, or not
/// at all.
std::optional<std::string> checkOptions() {
  auto oneOf = [](llvm::StringRef flag, llvm::StringRef value,
                  llvm::ArrayRef<llvm::StringRef> allowed)
      -> std::optional<std::string> {
    if (llvm::is_contained(allowed, value))
      return std::nullopt;
    return ("expected --" + flag + " " + llvm::join(allowed, " or ") +
            ", got: " + value)
        .str();
  };
  auto notNegative = [](llvm::StringRef flag,
                        double value) -> std::optional<std::string> {
    if (value >= 0 && std::isfinite(value))
      return std::nullopt;
    return "expected --" + flag.str() +
           " of at least 0, got: " + std::to_string(value);
  };
  if (auto mistake = oneOf("cpu", cpu, {"host", "generic"}))
    return mistake;
  if (device == "cuda")
    return "--device cuda: this version generates code for cpu only";
  if (auto mistake = oneOf("device", device, {"cpu"}))
    return mistake;
  if (auto mistake = oneOf("loss", loss, {"cross-entropy", "mean"}))
    return mistake;
  if (auto mistake = oneOf("optimizer", optimizer, {"adamw", "sgd", "none"}))
    return mistake;
  if (auto mistake = notNegative("learning-rate", learningRate))
    return mistake;
  if (auto mistake = notNegative("weight-decay", weightDecay))
    return mistake;
  if (auto mistake = notNegative("momentum", momentum))
    return mistake;
  if (microBatches < 1)
    return "expected --micro-batches of at least 1, got: " +
           std::to_string(microBatches);
  if (auto mistake = oneOf("schedule", pipeline,
                           {"1f1b", "gpipe", "interleaved", "zero-bubble"}))
    return mistake;
  bool interleaves = pipeline == "interleaved";
  if (interleaves && chunks.getNumOccurrences() == 0)
    chunks = 2;
  if (chunks < 1 || (chunks > 1 && !interleaves))
    return interleaves ? "expected --chunks of at least 1, got: " +
                             std::to_string(chunks)
                       : std::string("--chunks goes with --schedule "
                                     "interleaved");
  if (auto mistake = checkPrecision())
    return mistake;
  bool isText = llvm::StringRef(inputPath).ends_with(".mlir");
  if (isText && !dims.empty())
    return "--dim goes with .onnx models: a module has its extents in its "
           "types";
  if (isText && deviceConfiguration.getNumOccurrences() > 0)
    return "--device-configuration goes with .onnx models";
  if (emitLocations && emitLevel == Level::Plan)
    return "--emit-locations goes with --emit import, logical, spread, comm or "
           "actor: a plan has them always";
  if (deviceConfiguration.getNumOccurrences() > 0 &&
      deviceConfiguration.empty())
    return "expected --device-configuration with a name or none, got: ''";
  if (explain && (emitLevel == Level::Import || emitLevel == Level::Logical))
    return "--explain goes with --emit spread and later levels: communication "
           "is not "
           "chosen before";
  if (explainSignatures &&
      (emitLevel == Level::Import || emitLevel == Level::Logical))
    return "--explain-signatures goes with --emit spread and later levels: "
           "signatures are not chosen before";
  bool toStandardOutput =
      outputPath == "-" || (outputPath.empty() && emitLevel != Level::Plan);
  if (explain && toStandardOutput)
    return "--explain writes to standard output: expected -o with a file";
  if (!train)
    for (const cl::Option *option : std::initializer_list<cl::Option *>{
             &loss, &lossOutput, &optimizer, &learningRate, &weightDecay,
             &momentum, &zero, &lossScale, &lossScaleStart, &lossScaleInterval})
      if (option->getNumOccurrences() > 0)
        return ("--" + option->ArgStr + " goes with --train").str();
  if (zero > 3)
    return "expected --zero 0, 1, 2 or 3, got: " + std::to_string(zero);
  if (zero > 0 && optimizer == "none")
    return "--zero goes with --optimizer adamw or sgd";
  if (momentum.getNumOccurrences() > 0 && optimizer != "sgd")
    return "--momentum goes with --optimizer sgd";
  for (const cl::Option *option :
       std::initializer_list<cl::Option *>{&learningRate, &weightDecay})
    if (option->getNumOccurrences() > 0 && optimizer == "none")
      return ("--" + option->ArgStr + " goes with --optimizer adamw or sgd")
          .str();
  return std::nullopt;
}

/// The flags that decide what the plan is, as given, beside the mesh and the
/// hints, which a plan notes by themselves.
std::string givenFlags() {
  std::string text;
  auto add = [&](const cl::Option &option, const llvm::Twine &value) {
    text += (text.empty() ? "--" : " --") + option.ArgStr.str() + value.str();
  };
  for (const std::string &dim : dims)
    add(dims, " " + dim);
  if (train)
    add(train, "");
  for (const cl::opt<std::string> *option :
       std::initializer_list<const cl::opt<std::string> *>{
           &device, &deviceConfiguration, &loss, &lossOutput, &optimizer, &cpu})
    if (option->getNumOccurrences() > 0)
      add(*option, " " + option->getValue());
  for (const cl::opt<double> *option :
       std::initializer_list<const cl::opt<double> *>{&learningRate,
                                                      &weightDecay, &momentum})
    if (option->getNumOccurrences() > 0)
      add(*option, llvm::formatv(" {0}", option->getValue()));
  return text;
}

/// Parses name=extent; nullopt with a message printed when it is not that.
std::optional<llvm::StringMap<int64_t>> parseDims() {
  llvm::StringMap<int64_t> bound;
  for (const std::string &dim : dims) {
    auto [name, number] = llvm::StringRef(dim).rsplit('=');
    int64_t extent;
    if (name.empty() || number.getAsInteger(10, extent) || extent < 1) {
      usageError(
          "expected --dim name=extent with an extent of at least 1, got: " +
          dim);
      return std::nullopt;
    }
    if (!bound.try_emplace(name, extent).second) {
      usageError("--dim " + name + " is given twice");
      return std::nullopt;
    }
  }
  return bound;
}

struct Model {
  OwningOpRef<ModuleOp> module;
  /// Serialised ONNX model; empty for .mlir.
  std::string onnx;
};

/// "comm" or "actor" where the module is at that level already, else empty.
std::string lowerLevelOf(ModuleOp module) {
  std::string level;
  module.walk([&](Operation *op) {
    llvm::StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == "comm" || dialect == "actor")
      level = dialect.str();
    // A graph of tasks holds what is left of the level before.
    return dialect == "actor" ? WalkResult::interrupt() : WalkResult::advance();
  });
  return level;
}

std::optional<Model> readModel(MLIRContext &context,
                               const llvm::StringMap<int64_t> &bound) {
  Model model;
  auto buffer = llvm::MemoryBuffer::getFile(inputPath, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (std::error_code error = buffer.getError()) {
    fail("cannot read " + inputPath + ": " + error.message());
    return std::nullopt;
  }
  llvm::StringRef path(inputPath);
  if (path.ends_with(".onnx")) {
    OnnxImportOptions options;
    options.dims = bound;
    options.deviceConfiguration = deviceConfiguration;
    model.onnx = (*buffer)->getBuffer().str();
    auto module = importOnnxBytes(&context, model.onnx, path, options);
    if (failed(module))
      return std::nullopt;
    model.module = std::move(*module);
    return model;
  }
  if (!path.ends_with(".mlir")) {
    fail("expected a model ending in .onnx or .mlir, got: " + inputPath);
    return std::nullopt;
  }
  model.module = parseSourceFile<ModuleOp>(path, &context);
  if (!model.module)
    return std::nullopt;
  if (std::string level = lowerLevelOf(*model.module); !level.empty()) {
    fail("expected a module of the oneflow dialect, as --emit import, logical "
         "or spread writes it, got one of the level " +
         level + ": " + inputPath + "; oneflow-opt goes on from there");
    return std::nullopt;
  }
  return model;
}

/// The mesh that a module brings along, as --mesh spells it; empty when it has
/// none.
std::string ownMesh(ModuleOp module) {
  Operation *placement = module.lookupSymbol("mesh");
  if (!placement)
    return "";
  auto names = dyn_cast_or_null<ArrayAttr>(placement->getAttr("axis_names"));
  auto sizes =
      dyn_cast_or_null<DenseI64ArrayAttr>(placement->getAttr("axis_sizes"));
  if (!names || !sizes)
    return "";
  std::string text;
  for (auto [name, size] :
       llvm::zip(names.getAsRange<StringAttr>(), sizes.asArrayRef()))
    text += (text.empty() ? "" : ",") + name.str() + "=" + std::to_string(size);
  return text;
}

/// Flushes a stream; an error is printed here, where the stream's destructor
/// would abort.
int finish(llvm::StringRef path, llvm::raw_fd_ostream &out) {
  out.flush();
  if (!out.has_error())
    return 0;
  std::string reason = out.error().message();
  out.clear_error();
  return fail("cannot write " + path + ": " + reason);
}

/// Runs the pipelines from the logical graph on, as far as --emit wants.
LogicalResult lower(ModuleOp module, const std::string &onnx,
                    const std::vector<std::string> &hints,
                    const CpuTarget &target, Progress &progress) {
  MLIRContext *context = module.getContext();
  auto run = [&](llvm::StringRef what, auto build) {
    progress.begin(what);
    PassManager passes(context);
    build(passes);
    return passes.run(module);
  };
  if (emitLevel == Level::Import)
    return success();
  if (failed(run("differentiating", [](OpPassManager &passes) {
        LogicalPipelineOptions options;
        options.train = train;
        options.output = lossOutput;
        options.loss = loss;
        options.optimizer = optimizer;
        options.learningRate = learningRate;
        options.weightDecay = weightDecay;
        options.momentum = momentum;
        options.unpack = hasSeveralRanks(mesh);
        options.mesh = mesh;
        options.device = device;
        options.microBatches = microBatches;
        options.pipeline = pipeline;
        options.chunks = chunks;
        for (const std::string &hint : stageHints)
          options.stageHints.push_back(hint);
        options.precision = precision;
        options.precisionOps = precisionOps;
        options.lossScale = initialLossScale();
        options.dynamicLossScale = isLossScaleDynamic();
        options.lossScaleInterval = lossScaleInterval;
        buildLogicalPipeline(passes, options);
      })))
    return failure();
  if (emitLevel == Level::Logical)
    return success();
  if (std::optional<std::string> mistake = checkHintNames(hints, module, [&] {
        std::vector<SourceNode> nodes;
        for (OnnxNodeNames &node : listOnnxNodes(onnx))
          nodes.push_back({std::move(node.name), std::move(node.operatorType),
                           std::move(node.inputs), std::move(node.outputs)});
        return nodes;
      })) {
    progress.end();
    fail(*mistake);
    return failure();
  }
  if (failed(run("choosing SBP signatures", [&](OpPassManager &passes) {
        SpreadPipelineOptions options;
        options.mesh = mesh;
        options.device = device;
        options.zero = zero;
        options.microBatches = microBatches;
        options.explain = explainSignatures;
        for (const std::string &hint : hints)
          options.hints.push_back(hint);
        buildSpreadPipeline(passes, options);
      })))
    return failure();
  if (explain) {
    progress.end();
    explainBoxing(module, llvm::outs());
    if (finish("standard output", llvm::outs()) != 0)
      return failure();
  }
  if (emitLevel == Level::Spread)
    return success();
  if (failed(run("fusing kernels",
                 [](OpPassManager &passes) { buildRankPipeline(passes); })))
    return failure();
  if (emitLevel == Level::Comm)
    return success();
  if (failed(checkDevices(module)))
    return failure();
  return run("generating kernels and planning memory",
             [&](OpPassManager &passes) {
               SchedulePipelineOptions options;
               options.vectorBytes = target.vectorBytes();
               options.vectorRegisters = target.vectorRegisters();
               buildSchedulePipeline(passes, options);
             });
}

/// Writes beside the target and renames; what a rename would destroy, devices,
/// pipes and links, is written through.
int write(llvm::StringRef path,
          llvm::function_ref<void(llvm::raw_ostream &)> print) {
  if (path == "-") {
    print(llvm::outs());
    return finish("standard output", llvm::outs());
  }
  llvm::sys::fs::file_status status;
  bool exists =
      !llvm::sys::fs::status(path, status) && llvm::sys::fs::exists(status);
  if (exists && !llvm::sys::fs::is_regular_file(status)) {
    std::error_code error;
    llvm::raw_fd_ostream out(path, error, llvm::sys::fs::CD_OpenExisting);
    if (error)
      return fail("cannot write " + path + ": " + error.message());
    print(out);
    return finish(path, out);
  }
  llvm::SmallString<256> target(path);
  if (exists)
    if (std::error_code error = llvm::sys::fs::real_path(path, target))
      return fail("cannot write " + path + ": " + error.message());
  llvm::Error error = llvm::writeToOutput(target, [&](llvm::raw_ostream &out) {
    print(out);
    return llvm::Error::success();
  });
  if (error)
    return fail("cannot write " + path + ": " +
                llvm::toString(std::move(error)));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(
      [](llvm::raw_ostream &out) { out << "oneflow-compile 0.1.0\n"; });
  if (std::optional<std::string> mistake = findUnknownFlag(
          llvm::ArrayRef<const char *>(argv + 1, argv + argc), category))
    return usageError(*mistake);
  bool parsed = cl::ParseCommandLineOptions(
      argc, argv,
      "compiles an ONNX model or a module of the oneflow dialect for a mesh of "
      "ranks\n\n"
      "  oneflow-compile model.onnx --dim batch=32 -o model.ofp\n"
      "  oneflow-compile model.onnx --dim batch=64 --train --mesh dp=2 -o "
      "train.ofp\n"
      "  oneflow-compile model.onnx --dim batch=64 --train --mesh tp=2 \\\n"
      "      --sbp 'fc1.*=S(0)@tp' --sbp 'fc2.weight=S(1)@tp' --explain\n"
      "  oneflow-compile model.onnx --dim batch=64 --mesh dp=2,tp=2 \\\n"
      "      --sbp 'fc1:in1=[B, S(0)]' --sbp-file more.txt\n"
      "  oneflow-compile model.onnx --dim batch=64 --train --precision bf16 "
      "\\\n"
      "      --precision-ops 'gelu=high'\n"
      "  oneflow-compile model.onnx --dim batch=32 --emit spread\n\n"
      "Exit status: 0 done, 1 the model cannot be compiled, 2 wrong usage.\n",
      &llvm::errs());
  if (!parsed)
    return 2;

  auto bound = parseDims();
  if (!bound)
    return 2;
  // The linker, a library in this process, resets what was parsed.
  std::string flags = givenFlags();
  if (std::optional<std::string> mistake = checkOptions())
    return usageError(*mistake);
  if (std::optional<std::string> mistake = checkMeshFlag(mesh))
    return usageError(*mistake);
  if (!hasAxis(mesh, "pp"))
    for (const cl::Option *option : std::initializer_list<cl::Option *>{
             &pipeline, std::addressof(stageHints)})
      if (option->getNumOccurrences() > 0)
        return usageError("--" + option->ArgStr +
                          " goes with pipeline stages: an axis pp in --mesh");
  std::vector<std::string> mistakes;
  std::vector<std::string> hints =
      readHintFlags(std::vector<std::string>(sbpHints),
                    std::vector<std::string>(sbpFiles), mistakes);
  for (const std::string &mistake : mistakes)
    usageError(mistake);
  if (!mistakes.empty())
    return 2;
  CpuTarget target = cpu == "host" ? CpuTarget::host() : CpuTarget::generic();

  DialectRegistry registry;
  registerOneFlowDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  if (std::optional<std::string> mistake =
          checkPrecisionOps(context, precisionOps))
    return usageError(*mistake);
  llvm::SourceMgr sources;
  std::optional<SourceMgrDiagnosticHandler> textDiagnostics;
  std::optional<ScopedDiagnosticHandler> modelDiagnostics;
  if (llvm::StringRef(inputPath).ends_with(".mlir"))
    textDiagnostics.emplace(sources, &context);
  else
    modelDiagnostics.emplace(&context, [](Diagnostic &diagnostic) {
      printDiagnostic(diagnostic, inputPath, llvm::errs());
      return success();
    });

  Progress progress(verbose);
  progress.begin("importing " + inputPath);
  std::optional<Model> model = readModel(context, *bound);
  if (!model)
    return 1;
  if (std::string own = ownMesh(*model->module); !own.empty()) {
    if (mesh.getNumOccurrences() > 0 && mesh != own)
      return usageError("the mesh of the module is " + own + ", got: --mesh " +
                        mesh);
    mesh = own;
  }
  if (std::optional<std::string> mistake =
          checkHintAxes(hints, mesh, *model->module,
                        /*isDefault=*/mesh.getNumOccurrences() == 0))
    return usageError(*mistake);
  std::string sourceModel;
  if (!model->onnx.empty() && emitLevel == Level::Plan) {
    auto stripped = stripWeights(model->onnx, inputPath, *model->module);
    if (failed(stripped))
      return 1;
    sourceModel = std::move(*stripped);
  }
  if (failed(lower(*model->module, model->onnx, hints, target, progress)))
    return 1;
  if (emitLevel != Level::Plan) {
    progress.end();
    return write(outputPath.empty() ? "-" : outputPath.getValue(),
                 [&](llvm::raw_ostream &out) {
                   OpPrintingFlags flags;
                   flags.enableDebugInfo(emitLocations);
                   model->module->print(out, flags);
                   out << "\n";
                 });
  }

  // All that is left is decided here: the linker, which is a library in this
  // process, resets command-line options.
  PlanExportOptions options;
  options.sourceModel = std::move(sourceModel);
  options.metadata = {{"source", inputPath}, {"mesh", mesh}};
  if (!precision.empty())
    options.metadata.push_back({"precision", precision});
  std::string pinned;
  for (const std::string &hint : hints)
    pinned += (pinned.empty() ? "" : "; ") + hint;
  if (!hints.empty())
    options.metadata.push_back({"hints", pinned});
  if (!flags.empty())
    options.metadata.push_back({"flags", flags});
  if (train) {
    options.metadata.push_back({"loss_output", "loss"});
    options.metadata.push_back({"loss", loss});
    if (microBatches > 1)
      options.metadata.push_back(
          {"micro_batches", std::to_string(microBatches)});
    if (hasAxis(mesh, "pp"))
      options.metadata.push_back({"schedule", pipeline});
    options.metadata.push_back({"optimizer", optimizer});
    if (initialLossScale() != 0)
      options.metadata.push_back(
          {"loss_scale_variable", "optimizer.loss_scale"});
    if (optimizer != "none")
      options.metadata.push_back(
          {"learning_rate_variable", "optimizer.learning_rate"});
  }
  std::string path = outputPath;
  if (path.empty())
    path = llvm::StringRef(inputPath).rsplit('.').first.str() + ".ofp";

  progress.begin("emitting native code");
  auto code =
      emitCpuObject(*model->module, target, getChainSymbols(*model->module));
  if (failed(code))
    return 1;
  auto plan = exportPlan(*model->module, *code, options);
  if (failed(plan))
    return 1;
  progress.begin("writing the plan");
  return write(path, [&](llvm::raw_ostream &out) { out << *plan; });
}
