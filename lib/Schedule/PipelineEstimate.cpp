//===- PipelineEstimate.cpp - what a schedule comes to ----------*- C++ -*-===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a schedule: each stage makes its steps in order, each as soon as what it
// waits for is done. What a step waits for: Forward for that of the chunk
// before, Backward for its own Forward and the Backward of the chunk behind,
// Weights for its own Backward.
//
//===----------------------------------------------------------------------===//

#include "oneflow/Schedule/Pipeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <tuple>

namespace oneflow::schedule {

namespace {

constexpr Pass allPasses[] = {Pass::Forward, Pass::Backward, Pass::Weights};

class Simulation {
public:
  explicit Simulation(const PipelineSchedule &schedule) : schedule(schedule) {}

  /// Checks that the steps make whole passes; what is wrong, empty if nothing.
  std::string index();
  unsigned chunkCount() const { return chunks; }
  /// Empty, or what waits for what.
  std::string run(const std::vector<PassDurations> &durations);
  PipelineEstimate result(const std::vector<PassDurations> &durations) const;

private:
  struct Place {
    unsigned stage = 0;
    size_t position = 0;
  };
  size_t slot(const PipelineStep &step) const {
    return (size_t(step.chunk) * microBatches + step.microBatch) * 3 +
           size_t(step.pass);
  }
  std::vector<PipelineStep> inputsOf(const PipelineStep &step) const;
  std::string missing(const PipelineStep &step) const;
  std::string describeCircle(const std::vector<size_t> &next) const;
  std::string nameOf(const PipelineStep &step) const {
    return toString(step) + " on stage " +
           std::to_string(places[slot(step)].stage);
  }

  const PipelineSchedule &schedule;
  unsigned chunks = 0, microBatches = 0;
  bool hasBackward = false, hasWeights = false;
  /// By slot.
  std::vector<Place> places;
  /// By slot; negative before the step is done.
  std::vector<double> ends;
  double makespan = 0;
};

std::string Simulation::index() {
  // Sorted rather than in a table at once: only afterwards is it known that
  // chunks x micro-batches is not far more than there are steps.
  std::vector<std::pair<PipelineStep, Place>> steps;
  for (unsigned s = 0; s < schedule.size(); ++s)
    for (size_t i = 0; i < schedule[s].size(); ++i)
      steps.push_back({schedule[s][i], {s, i}});
  auto key = [](const std::pair<PipelineStep, Place> &entry) {
    auto &[step, place] = entry;
    return std::make_tuple(step.pass, step.chunk, step.microBatch, place.stage);
  };
  std::sort(steps.begin(), steps.end(),
            [&](auto &a, auto &b) { return key(a) < key(b); });
  uint64_t chunkEnd = 0, microBatchEnd = 0;
  std::array<bool, 3> has = {};
  for (size_t i = 0; i < steps.size(); ++i) {
    const PipelineStep &step = steps[i].first;
    if (i > 0 && step == steps[i - 1].first)
      return "expected one " + toString(step) + ", got: one on stage " +
             std::to_string(steps[i - 1].second.stage) + " and one on stage " +
             std::to_string(steps[i].second.stage);
    chunkEnd = std::max(chunkEnd, uint64_t(step.chunk) + 1);
    microBatchEnd = std::max(microBatchEnd, uint64_t(step.microBatch) + 1);
    has[size_t(step.pass)] = true;
  }
  hasBackward = has[1];
  hasWeights = has[2];
  // The sorted steps must be all passes of all chunks and micro-batches; where
  // one is missing, the steps are one behind.
  size_t at = 0;
  for (Pass pass : allPasses)
    for (uint64_t c = 0; c < chunkEnd; ++c)
      for (uint64_t m = 0; m < microBatchEnd; ++m) {
        // Weights only come after Backward, and both after Forward.
        if (pass == Pass::Backward && !hasBackward && !hasWeights)
          continue;
        if (pass == Pass::Weights && !hasWeights)
          continue;
        PipelineStep step = {pass, unsigned(c), unsigned(m)};
        if (at == steps.size() || !(steps[at].first == step))
          return missing(step);
        ++at;
      }
  chunks = unsigned(chunkEnd);
  microBatches = unsigned(microBatchEnd);
  places.resize(size_t(chunks) * microBatches * 3);
  for (auto &[step, place] : steps)
    places[slot(step)] = place;
  // What a chunk keeps between its passes cannot move.
  for (auto &[step, place] : steps) {
    unsigned home = places[slot({Pass::Forward, step.chunk, 0})].stage;
    if (place.stage != home)
      return "expected all passes of chunk " + std::to_string(step.chunk) +
             " on stage " + std::to_string(home) + ", got: " + nameOf(step);
  }
  return "";
}

/// Who waits for a step that no stage makes, or just that.
std::string Simulation::missing(const PipelineStep &step) const {
  for (unsigned s = 0; s < schedule.size(); ++s)
    for (const PipelineStep &waiting : schedule[s])
      for (const PipelineStep &input : inputsOf(waiting))
        if (input == step)
          return toString(waiting) + " on stage " + std::to_string(s) +
                 " waits for " + toString(step) + ", which no stage makes";
  return "no stage makes " + toString(step);
}

std::vector<PipelineStep> Simulation::inputsOf(const PipelineStep &step) const {
  auto [pass, c, m] = step;
  std::vector<PipelineStep> inputs;
  if (pass == Pass::Forward && c > 0)
    inputs.push_back({Pass::Forward, c - 1, m});
  if (pass == Pass::Backward) {
    inputs.push_back({Pass::Forward, c, m});
    // Before the chunks are counted, a step behind the last one is harmless: it
    // is only compared with.
    if (chunks == 0 || c + 1 < chunks)
      inputs.push_back({Pass::Backward, c + 1, m});
  }
  if (pass == Pass::Weights)
    inputs.push_back({Pass::Backward, c, m});
  return inputs;
}

std::string Simulation::run(const std::vector<PassDurations> &durations) {
  ends.assign(places.size(), -1);
  std::vector<size_t> next(schedule.size(), 0);
  std::vector<double> free(schedule.size(), 0);
  // Stages that wait for a step, by its slot, so that each step is looked at
  // once per input and not once per round.
  std::vector<std::vector<unsigned>> waiting(places.size());
  std::deque<unsigned> ready;
  for (unsigned s = 0; s < schedule.size(); ++s)
    ready.push_back(s);
  size_t done = 0, all = 0;
  for (auto &steps : schedule)
    all += steps.size();
  while (!ready.empty()) {
    unsigned s = ready.front();
    ready.pop_front();
    for (; next[s] < schedule[s].size(); ++next[s], ++done) {
      const PipelineStep &step = schedule[s][next[s]];
      double begin = free[s];
      bool blocked = false;
      for (const PipelineStep &input : inputsOf(step)) {
        double end = ends[slot(input)];
        if (end < 0) {
          waiting[slot(input)].push_back(s);
          blocked = true;
          break;
        }
        if (places[slot(input)].stage != s)
          end += durations[std::min(input.chunk, step.chunk)].transfer;
        begin = std::max(begin, end);
      }
      if (blocked)
        break;
      const PassDurations &d = durations[step.chunk];
      double length = step.pass == Pass::Forward    ? d.forward
                      : step.pass == Pass::Backward ? d.backward
                                                    : d.weights;
      free[s] = ends[slot(step)] = begin + length;
      makespan = std::max(makespan, free[s]);
      for (unsigned other : waiting[slot(step)])
        ready.push_back(other);
      waiting[slot(step)].clear();
    }
  }
  return done == all ? "" : describeCircle(next);
}

/// Goes from a blocked step to the one that its missing input hides behind,
/// until a stage comes again.
std::string Simulation::describeCircle(const std::vector<size_t> &next) const {
  auto blockedInput = [&](unsigned s) {
    for (const PipelineStep &input : inputsOf(schedule[s][next[s]]))
      if (ends[slot(input)] < 0)
        return input;
    return schedule[s][next[s]];
  };
  unsigned s = 0;
  while (next[s] == schedule[s].size())
    ++s;
  // After as many hops as there are stages we are on the circle.
  for (size_t hop = 0; hop < schedule.size(); ++hop)
    s = places[slot(blockedInput(s))].stage;
  std::string text = "steps wait for each other in a circle: ";
  unsigned first = s;
  do {
    PipelineStep step = schedule[s][next[s]], input = blockedInput(s);
    text += nameOf(step) + " waits for " + nameOf(input);
    s = places[slot(input)].stage;
    PipelineStep before = schedule[s][next[s]];
    if (!(before == input))
      text += ", which comes after " + toString(before);
    text += s == first ? "" : "; ";
  } while (s != first);
  return text;
}

PipelineEstimate
Simulation::result(const std::vector<PassDurations> &durations) const {
  PipelineEstimate estimate;
  estimate.makespan = makespan;
  estimate.inFlightOfChunk.resize(chunks);
  Pass last = hasWeights    ? Pass::Weights
              : hasBackward ? Pass::Backward
                            : Pass::Forward;
  double busiest = 0;
  for (auto &steps : schedule) {
    unsigned most = 0, now = 0;
    double work = 0;
    // Per chunk of this stage; few are, but which ones is free.
    struct Counts {
      unsigned toBackward = 0, toLast = 0, toWeights = 0;
    };
    std::vector<Counts> counts(chunks);
    for (const PipelineStep &step : steps) {
      Counts &count = counts[step.chunk];
      ChunkInFlight &peak = estimate.inFlightOfChunk[step.chunk];
      const PassDurations &d = durations[step.chunk];
      if (step.pass == Pass::Forward) {
        work += d.forward;
        most = std::max(most, ++now);
        peak.forwardToLast = std::max(peak.forwardToLast, ++count.toLast);
        peak.forwardToBackward =
            std::max(peak.forwardToBackward, ++count.toBackward);
      }
      if (step.pass == Pass::Backward) {
        work += d.backward;
        if (hasWeights)
          peak.backwardToWeights =
              std::max(peak.backwardToWeights, ++count.toWeights);
      }
      if (step.pass == Pass::Weights)
        work += d.weights;
      // Ends free what begins, even within one step where there is no other.
      if (step.pass == Pass::Backward || !hasBackward)
        --count.toBackward;
      if (step.pass == last) {
        --count.toLast;
        --now;
        if (hasWeights)
          --count.toWeights;
      }
    }
    estimate.inFlight.push_back(most);
    busiest = std::max(busiest, work);
  }
  estimate.bubble = busiest > 0 ? makespan / busiest - 1 : 0;
  return estimate;
}

std::optional<PipelineEstimate> fail(std::string *error, std::string message) {
  if (error)
    *error = std::move(message);
  return std::nullopt;
}

std::optional<PipelineEstimate>
simulate(Simulation &simulation, const std::vector<PassDurations> &durations,
         std::string *error) {
  for (size_t c = 0; c < durations.size(); ++c)
    for (double d : {durations[c].forward, durations[c].backward,
                     durations[c].weights, durations[c].transfer})
      // Not `d < 0`: NaN is none either.
      if (!(d >= 0 && std::isfinite(d)))
        return fail(error, "expected durations of at least 0 for chunk " +
                               std::to_string(c) +
                               ", got: " + std::to_string(d));
  std::string wrong = simulation.run(durations);
  if (!wrong.empty())
    return fail(error, std::move(wrong));
  return simulation.result(durations);
}

} // namespace

std::string_view toString(Pass pass) {
  switch (pass) {
  case Pass::Forward:
    return "forward";
  case Pass::Backward:
    return "backward";
  case Pass::Weights:
    return "weights";
  }
  return "";
}

std::string toString(const PipelineStep &step) {
  return std::string(toString(step.pass)) + " of chunk " +
         std::to_string(step.chunk) + ", micro-batch " +
         std::to_string(step.microBatch);
}

std::optional<PipelineEstimate> estimate(const PipelineSchedule &schedule,
                                         const PassDurations &durations,
                                         std::string *error) {
  Simulation simulation(schedule);
  std::string wrong = simulation.index();
  if (!wrong.empty())
    return fail(error, std::move(wrong));
  return simulate(
      simulation,
      std::vector<PassDurations>(simulation.chunkCount(), durations), error);
}

std::optional<PipelineEstimate>
estimate(const PipelineSchedule &schedule,
         const std::vector<PassDurations> &durations, std::string *error) {
  Simulation simulation(schedule);
  std::string wrong = simulation.index();
  if (!wrong.empty())
    return fail(error, std::move(wrong));
  if (durations.size() != simulation.chunkCount())
    return fail(error, "expected durations of " +
                           std::to_string(simulation.chunkCount()) +
                           " chunks, got: " + std::to_string(durations.size()));
  return simulate(simulation, durations, error);
}

} // namespace oneflow::schedule
