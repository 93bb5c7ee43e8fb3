// RUN: oneflow-opt %s -split-input-file -verify-diagnostics

oneflow.placement @mesh cpu [dp = 2]

actor.graph @same_phase {
  actor.phase "forward" actions 2
  // expected-error @below {{graph_c1: there is another phase "forward"}}
  actor.phase "forward" actions 3
}

// -----

actor.graph @no_action {
  // expected-error @below {{graph_c1: expected from 1 to 67108864 actions, got: 0}}
  actor.phase "forward" actions 0
}

// -----

oneflow.placement @mesh cpu [dp = 2]

// expected-error @below {{expected at most 67108864 actions of all tasks together}}
actor.graph @too_many_actions {
  actor.phase "forward" actions 40000000
  actor.task "a" on @mesh host phase "forward" {
  }
  actor.task "b" on @mesh host phase "forward" {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @unknown_phase {
  actor.phase "forward" actions 2
  // expected-error @below {{graph_c1: its graph has no phase "backward"}}
  actor.task "a" on @mesh compute phase "backward" {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @no_phase {
  actor.phase "forward" actions 2
  // expected-error @below {{graph_c1: expected a phase, as the graph has phases}}
  actor.task "a" on @mesh compute {
  }
}

// -----

actor.graph @no_placement {
  // expected-error @below {{there is no placement @mesh}}
  actor.task "a" on @mesh compute {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @action_is_missing {
  actor.phase "forward" actions 2
  actor.phase "backward" actions 2
  // expected-error @below {{graph_c2: does not name action 1 of phase "backward", in which task "b" acts on these ranks}}
  actor.schedule on @mesh ["forward", "forward", "backward"] actions [0, 1, 0]
  actor.task "a" on @mesh host phase "forward" {
  }
  actor.task "b" on @mesh compute phase "backward" {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]
oneflow.placement @one cpu [dp = 1] from 1

// The rank of the one is among those of the other.
actor.graph @phase_of_other_placement_is_missing {
  actor.phase "forward" actions 1
  actor.phase "backward" actions 1
  // expected-error @below {{graph_c2: does not name action 0 of phase "forward", in which task "a" acts on these ranks}}
  actor.schedule on @one ["backward"] actions [0]
  actor.task "a" on @mesh compute phase "forward" {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @descending {
  actor.phase "forward" actions 2
  // expected-error @below {{graph_c2: expected the actions of "forward" in ascending order, each once: action 0, got: 1}}
  actor.schedule on @mesh ["forward", "forward"] actions [1, 0]
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @too_many {
  actor.phase "forward" actions 1
  // expected-error @below {{graph_c2: "forward" has 1 actions, got action 1}}
  actor.schedule on @mesh ["forward", "forward"] actions [0, 1]
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @phase_of_schedule_is_unknown {
  actor.phase "forward" actions 1
  // expected-error @below {{graph_c2: its graph has no phase "backward"}}
  actor.schedule on @mesh ["forward", "backward"] actions [0, 0]
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @lengths {
  actor.phase "forward" actions 1
  // expected-error @below {{graph_c2: expected as many phases as actions, got: 1 and 2}}
  actor.schedule on @mesh ["forward"] actions [0, 1]
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @two_schedules {
  actor.phase "forward" actions 1
  actor.schedule on @mesh ["forward"] actions [0]
  // expected-error @below {{graph_c2: there is another schedule of @mesh}}
  actor.schedule on @mesh ["forward"] actions [0]
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @fills_of_the_producer {
  actor.phase "forward" actions 4
  // expected-error @below {{graph_c3: expected fills that divide the 4 actions of its producer "a", got: 3}}
  %x = actor.register "x" slots 1 bytes 4 fills 3
  actor.task "a" on @mesh compute phase "forward" posts(%x) {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @fills_of_the_consumer {
  actor.phase "forward" actions 4
  actor.phase "update" actions 1
  // expected-error @below {{graph_c3: is filled 4 times, which does not divide the 1 actions of its consumer "b"}}
  %x = actor.register "x" slots 1 bytes 4
  actor.task "a" on @mesh compute phase "forward" posts(%x) {
  }
  actor.task "b" on @mesh compute phase "update" waits(%x) {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]

actor.graph @no_exchange {
  // expected-error @below {{graph_c4: expected exactly one exchange on the transfer stream}}
  actor.task "a" on @mesh transfer order 1 {
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]
oneflow.placement @one cpu [dp = 2] from 1

actor.graph @ranks_in_common {
  %x = actor.scratch "x" bytes 4
  %y = actor.scratch "y" bytes 4
  // expected-error @below {{graph_c4: expected a transfer between placements that share no rank, but both @mesh and @one have rank 1 (@mesh, @one)}}
  actor.task "a" on @mesh transfer order 1 {
    actor.exchange %x <tensor<1xf32>, @mesh, <[B]>> to %y <tensor<1xf32>, @one, <[B]>>
  }
}

// -----

oneflow.placement @s0 cpu [dp = 1]
oneflow.placement @s1 cpu [dp = 1] from 1

// Both ranks take part in both exchanges, and wait for each other in different ones.
actor.graph @two_collective_orders {
  actor.phase "forward" actions 2
  actor.phase "backward" actions 2
  actor.schedule on @s0 ["forward", "forward", "backward", "backward"] actions [0, 1, 0, 1]
  // expected-error @below {{graph_c5: two orders of the same tasks: where the schedule of @s0 comes to action 1 of "forward" (task "there"), the schedule of @s1 comes to action 0 of "backward" (task "back")}}
  actor.schedule on @s1 ["forward", "backward", "forward", "backward"] actions [0, 0, 1, 1]
  %x = actor.register "x" slots 2 bytes 4
  %y = actor.register "y" slots 2 bytes 4
  actor.task "there" on @s0 comm phase "forward" order 1 posts(%x) {
    actor.exchange %x <tensor<1xf32>, @s0, <[B]>> to %x <tensor<1xf32>, @s1, <[B]>>
  }
  actor.task "back" on @s1 comm phase "backward" order 1 posts(%y) {
    actor.exchange %y <tensor<1xf32>, @s1, <[B]>> to %y <tensor<1xf32>, @s0, <[B]>>
  }
}

// -----

oneflow.placement @mesh cpu [dp = 2]
oneflow.placement @one cpu [dp = 1] from 1

// Rank 1 is of both placements.
actor.graph @two_schedules_of_a_rank {
  actor.phase "forward" actions 1
  actor.phase "backward" actions 1
  actor.schedule on @mesh ["forward", "backward"] actions [0, 0]
  // expected-error @below {{graph_c5: two orders of the same tasks: where the schedule of @mesh comes to action 0 of "forward" (task "a"), the schedule of @one comes to action 0 of "backward" (task "b")}}
  actor.schedule on @one ["backward", "forward"] actions [0, 0]
  actor.task "a" on @mesh compute phase "forward" {
  }
  actor.task "b" on @one compute phase "backward" {
  }
}
