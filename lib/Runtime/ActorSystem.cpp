//===- ActorSystem.cpp - actors, registers, credits -----------------------===//
//
// Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActorSystem.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace oneflow::runtime;

namespace {

enum class MessageKind : uint32_t { Start, Filled, Acknowledged, Stop };

struct Message {
  MessageKind kind;
  uint32_t graph;
  uint32_t actor;
  // Index of the register among the actor's inputs or outputs.
  uint32_t port;
  // Of an acknowledgement.
  uint32_t slot;
};

// An end of a register at an actor, and where its other ends are.
struct Peer {
  uint32_t actor, port, stream;
};

// Where an end of a register is in the sequence of fills. Slots are counted on
// from run to run: all that matters is that both ends agree.
struct Position {
  Position(uint32_t slots, uint64_t group)
      : slots(slots), group(group), left(group) {}

  // After an action: whether it was the last one of the current fill.
  bool advance() {
    if (--left > 0)
      return false;
    left = group;
    slot = slot + 1 == slots ? 0 : slot + 1;
    return true;
  }
  // Behind an advance() that returned true: the slot that it left.
  uint32_t previousSlot() const { return (slot == 0 ? slots : slot) - 1; }
  // Whether the last advance() ended a fill.
  bool atBegin() const { return left == group; }

  uint32_t slots, slot = 0;
  // Actions per fill, and those of the current one that are left.
  uint64_t group, left;
};

struct InputPort {
  Position position;
  // Filled slots, the one in use among them.
  uint32_t filled = 0;
  Peer producer;
};

struct OutputPort {
  Position position;
  // Acknowledgements each slot still waits for.
  std::vector<uint32_t> pending;
  std::vector<Peer> consumers;
};

constexpr uint32_t kAnyTurn = UINT32_MAX;

struct Actor {
  ActorBody *body;
  uint64_t actions;
  uint64_t action = 0;
  // Inputs without a filled slot plus outputs whose next slot is not free.
  uint32_t missing = 0;
  // Among the graph's orders.
  uint32_t order = kAnyTurn;
  std::vector<InputPort> inputs;
  std::vector<OutputPort> outputs;
};

// A sequence of actors, and whose turn it is. Goes back to its begin with the
// end of a run.
struct Order {
  std::vector<uint32_t> sequence;
  size_t turn = 0;

  uint32_t head() const { return sequence[turn]; }
  void advance() { turn = turn + 1 == sequence.size() ? 0 : turn + 1; }
};

// A queue of fixed capacity.
class Ring {
public:
  explicit Ring(size_t capacity) : items(capacity + 1) {}
  bool empty() const { return head == tail; }
  void push(uint32_t value) {
    items[tail] = value;
    tail = tail + 1 == items.size() ? 0 : tail + 1;
  }
  uint32_t pop() {
    uint32_t value = items[head];
    head = head + 1 == items.size() ? 0 : head + 1;
    return value;
  }

private:
  std::vector<uint32_t> items;
  size_t head = 0, tail = 0;
};

void add(std::atomic<uint64_t> &counter, uint64_t amount) {
  // One writer, so a plain addition suffices.
  counter.store(counter.load(std::memory_order_relaxed) + amount,
                std::memory_order_relaxed);
}

} // namespace

struct ActorSystem::GraphState {
  std::vector<Actor> actors;
  std::vector<Order> orders;
  // Per stream: its actors and orders, the events (start, actions,
  // acknowledgements) that make its part of a run, and the most messages that
  // can wait in its mailbox.
  struct Part {
    std::vector<uint32_t> actors, orders;
    uint64_t events = 0;
    size_t capacity = 0;
  };
  std::vector<Part> parts;
  uint32_t active = 0;
  RunLatch *latch = nullptr;

  GraphState(const ActorGraph &graph, uint32_t streamCount);

  bool hasTurn(uint32_t actorIndex) const {
    uint32_t order = actors[actorIndex].order;
    return order == kAnyTurn || orders[order].head() == actorIndex;
  }
};

ActorSystem::GraphState::GraphState(const ActorGraph &graph,
                                    uint32_t streamCount)
    : parts(streamCount) {
  for (uint32_t i = 0; i < graph.actors.size(); ++i) {
    actors.emplace_back();
    actors.back().body = graph.actors[i].body;
    actors.back().actions = graph.actors[i].actions;
    Part &part = parts[graph.actors[i].stream];
    part.actors.push_back(i);
    part.events += graph.actors[i].actions;
  }
  for (const std::vector<uint32_t> &sequence : graph.orders) {
    if (sequence.empty())
      continue;
    auto index = static_cast<uint32_t>(orders.size());
    for (uint32_t actor : sequence)
      actors[actor].order = index;
    parts[graph.actors[sequence.front()].stream].orders.push_back(index);
    orders.push_back({sequence, 0});
  }
  for (const RegisterSpec &reg : graph.registers) {
    Actor &producer = actors[reg.producer];
    uint32_t producerStream = graph.actors[reg.producer].stream;
    auto outputPort = static_cast<uint32_t>(producer.outputs.size());
    uint64_t fills = reg.fills > 0 ? reg.fills : producer.actions;
    producer.outputs.push_back(
        {Position(reg.slots, producer.actions / fills), {}, {}});
    OutputPort &output = producer.outputs.back();
    output.pending.assign(reg.slots, 0);
    for (uint32_t consumer : reg.consumers) {
      uint32_t stream = graph.actors[consumer].stream;
      auto inputPort = static_cast<uint32_t>(actors[consumer].inputs.size());
      output.consumers.push_back({consumer, inputPort, stream});
      actors[consumer].inputs.push_back(
          {Position(reg.slots, actors[consumer].actions / fills),
           0,
           {reg.producer, outputPort, producerStream}});
      ++actors[consumer].missing;
      parts[producerStream].events += fills;
      parts[producerStream].capacity += reg.slots;
      parts[stream].capacity += reg.slots;
    }
  }
  for (Part &part : parts) {
    if (part.actors.empty())
      continue;
    ++active;
    ++part.events;      // the start
    part.capacity += 2; // the start, and the stop behind it
  }
}

/// One thread and everything it alone touches, but for the mailbox.
class ActorSystem::Stream {
public:
  Stream(ActorSystem &system, uint32_t index, const Patience &patience)
      : system(system), index(index), patience(patience), ready(0) {
    size_t capacity = 0, actors = 0;
    for (const auto &graph : system.graphs) {
      capacity = std::max(capacity, graph->parts[index].capacity);
      actors = std::max(actors, graph->parts[index].actors.size());
    }
    inbox.reserve(capacity);
    batch.reserve(capacity);
    ready = Ring(actors);
    hasActors = actors > 0;
  }

  void launch() {
    if (hasActors)
      thread = std::thread([this] { serve(); });
  }
  // On the caller's thread, behind the start of a run: until its part is done.
  void serveRun() {
    do {
      takeMail();
      if (!ready.empty())
        fire(ready.pop());
      else if (eventsLeft > 0)
        waitForMail();
    } while (eventsLeft > 0);
  }
  void join() {
    if (!thread.joinable())
      return;
    post({MessageKind::Stop, 0, 0, 0, 0});
    thread.join();
  }

  // From any thread.
  void post(const Message &message) {
    bool wake;
    {
      std::lock_guard<std::mutex> lock(mutex);
      inbox.push_back(message);
      hasMail.store(true, std::memory_order_release);
      wake = asleep;
    }
    if (wake)
      arrived.notify_one();
  }

  StreamCounters counters;

private:
  void serve();
  bool takeMail();
  void waitForMail();
  void deliver(const Message &message);
  void send(MessageKind kind, const Peer &to, uint32_t slot);
  void becomeReadyIf(uint32_t actorIndex);
  void fire(uint32_t actorIndex);
  void countEvent();
  bool lacksOnlyCredit() const;

  ActorSystem &system;
  const uint32_t index;
  const Patience patience;
  bool hasActors = false;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<Message> inbox;
  bool asleep = false;
  std::atomic<bool> hasMail{false};

  std::vector<Message> batch;
  GraphState *graph = nullptr;
  uint32_t graphIndex = 0;
  Ring ready;
  uint64_t eventsLeft = 0;
  bool stopping = false;
};

bool ActorSystem::Stream::takeMail() {
  if (!hasMail.load(std::memory_order_acquire))
    return false;
  {
    std::lock_guard<std::mutex> lock(mutex);
    batch.swap(inbox);
    hasMail.store(false, std::memory_order_relaxed);
  }
  for (const Message &message : batch)
    deliver(message);
  batch.clear();
  return true;
}

// Whether some actor with actions left has its turn and all its inputs.
bool ActorSystem::Stream::lacksOnlyCredit() const {
  for (uint32_t actorIndex : graph->parts[index].actors) {
    const Actor &actor = graph->actors[actorIndex];
    if (actor.action == actor.actions || !graph->hasTurn(actorIndex))
      continue;
    bool filled = true;
    for (const InputPort &input : actor.inputs)
      filled &= input.filled > 0;
    if (filled)
      return true;
  }
  return false;
}

void ActorSystem::Stream::waitForMail() {
  using Clock = std::chrono::steady_clock;
  bool running = eventsLeft > 0;
  Clock::time_point begin = running ? Clock::now() : Clock::time_point();
  auto mailCame = [&] { return hasMail.load(std::memory_order_acquire); };
  if (!pollFor(mailCame, patience)) {
    std::unique_lock<std::mutex> lock(mutex);
    asleep = true;
    arrived.wait(lock, [&] { return !inbox.empty(); });
    asleep = false;
  }
  if (!running)
    return;
  auto waited = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin)
          .count());
  add(lacksOnlyCredit() ? counters.waitCreditNs : counters.waitInputNs, waited);
}

void ActorSystem::Stream::serve() {
  while (true) {
    // Mail first: it may make earlier work of this stream possible.
    takeMail();
    if (!ready.empty())
      fire(ready.pop());
    else if (stopping)
      return;
    else
      waitForMail();
  }
}

void ActorSystem::Stream::deliver(const Message &message) {
  if (message.kind == MessageKind::Stop) {
    stopping = true;
    return;
  }
  if (eventsLeft == 0) {
    // The first message of a run, which need not be its start.
    graphIndex = message.graph;
    graph = system.graphs[graphIndex].get();
    eventsLeft = graph->parts[index].events;
  }
  switch (message.kind) {
  case MessageKind::Start:
    for (uint32_t actorIndex : graph->parts[index].actors) {
      const Actor &actor = graph->actors[actorIndex];
      if (actor.inputs.empty() && actor.order == kAnyTurn)
        becomeReadyIf(actorIndex);
    }
    // An order that has begun already, with an actor that had its inputs
    // before the start came, goes on by itself.
    for (uint32_t orderIndex : graph->parts[index].orders) {
      const Order &order = graph->orders[orderIndex];
      if (order.turn == 0 && graph->actors[order.head()].inputs.empty())
        becomeReadyIf(order.head());
    }
    countEvent();
    break;
  case MessageKind::Filled: {
    Actor &actor = graph->actors[message.actor];
    if (actor.inputs[message.port].filled++ == 0) {
      --actor.missing;
      becomeReadyIf(message.actor);
    }
    break;
  }
  case MessageKind::Acknowledged: {
    Actor &actor = graph->actors[message.actor];
    OutputPort &output = actor.outputs[message.port];
    bool next = message.slot == output.position.slot;
    if (--output.pending[message.slot] == 0 && next) {
      --actor.missing;
      becomeReadyIf(message.actor);
    }
    countEvent();
    break;
  }
  case MessageKind::Stop:
    break;
  }
}

void ActorSystem::Stream::becomeReadyIf(uint32_t actorIndex) {
  // Called when `missing` has just fallen, when the actor's turn has just come,
  // or for a source at the start, so an actor is never in the queue twice.
  const Actor &actor = graph->actors[actorIndex];
  if (actor.missing == 0 && actor.action < actor.actions &&
      graph->hasTurn(actorIndex))
    ready.push(actorIndex);
}

void ActorSystem::Stream::send(MessageKind kind, const Peer &to,
                               uint32_t slot) {
  Message message = {kind, graphIndex, to.actor, to.port, slot};
  add(counters.messages, 1);
  if (to.stream == index)
    deliver(message);
  else
    system.streams[to.stream]->post(message);
}

void ActorSystem::Stream::fire(uint32_t actorIndex) {
  Actor &actor = graph->actors[actorIndex];
  actor.body->act(actor.action);
  add(counters.actions, 1);

  // First bring the actor's own state up to date: the messages below may come
  // back as changes of it. In the middle of a fill, a port lacks nothing: the
  // slot in use stays filled, or free.
  ++actor.action;
  for (InputPort &input : actor.inputs)
    if (input.position.advance() && --input.filled == 0)
      ++actor.missing;
  for (OutputPort &output : actor.outputs)
    if (output.position.advance()) {
      output.pending[output.position.previousSlot()] =
          static_cast<uint32_t>(output.consumers.size());
      if (output.pending[output.position.slot] != 0)
        ++actor.missing;
    }
  if (actor.order == kAnyTurn) {
    becomeReadyIf(actorIndex);
  } else {
    Order &order = graph->orders[actor.order];
    order.advance();
    becomeReadyIf(order.head());
  }

  for (const OutputPort &output : actor.outputs)
    if (output.position.atBegin())
      for (const Peer &consumer : output.consumers)
        send(MessageKind::Filled, consumer, 0);
  for (const InputPort &input : actor.inputs)
    if (input.position.atBegin())
      send(MessageKind::Acknowledged, input.producer,
           input.position.previousSlot());
  countEvent();
}

void ActorSystem::Stream::countEvent() {
  if (--eventsLeft > 0)
    return;
  // All slots are acknowledged and all inputs used up, so only the action count
  // differs from a fresh actor's.
  for (uint32_t actorIndex : graph->parts[index].actors)
    graph->actors[actorIndex].action = 0;
  graph->latch->arrive();
}

ActorSystem::ActorSystem(std::vector<ActorGraph> graphSpecs,
                         uint32_t streamCount, const Patience &patience,
                         uint32_t callerStream)
    : callerStream(callerStream) {
  for (const ActorGraph &graph : graphSpecs)
    graphs.push_back(std::make_unique<GraphState>(graph, streamCount));
  for (uint32_t i = 0; i < streamCount; ++i)
    streams.push_back(std::make_unique<Stream>(*this, i, patience));
  try {
    for (uint32_t i = 0; i < streamCount; ++i)
      if (i != callerStream)
        streams[i]->launch();
  } catch (...) {
    for (const auto &stream : streams)
      stream->join();
    throw;
  }
}

ActorSystem::~ActorSystem() {
  for (const auto &stream : streams)
    stream->join();
}

uint32_t ActorSystem::activeStreams(uint32_t graph) const {
  return graphs[graph]->active;
}

void ActorSystem::start(uint32_t graph, RunLatch &latch) {
  graphs[graph]->latch = &latch;
  for (uint32_t i = 0; i < streams.size(); ++i)
    if (!graphs[graph]->parts[i].actors.empty())
      streams[i]->post({MessageKind::Start, graph, 0, 0, 0});
}

void ActorSystem::serve(uint32_t graph) {
  if (callerStream != kNone &&
      !graphs[graph]->parts[callerStream].actors.empty())
    streams[callerStream]->serveRun();
}

const StreamCounters &ActorSystem::counters(uint32_t stream) const {
  return streams[stream]->counters;
}
