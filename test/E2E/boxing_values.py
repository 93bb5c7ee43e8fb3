# Part of OneFlow MLIR, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the plans of boxing-cases compute, send and hold, against what they should.

The values are those of NumPy: the same tensor, whatever the states. All of them are small
integers, also in the floating-point types, and so are all sums and products of them on the
way (below 2^24): every order of a reduction gives the same bits, which are those of one
rank. What is sent and held is what oneflow-compile --explain said.

As a program it is one rank of an MPI job: boxing_values.py PLAN. Every rank compares its
outputs, and prints "bytes ENTRY NUMBER;" for what it sent.
"""

import collections
import csv
import re
import sys

import numpy as np

from runtime import Session

REDUCERS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}
PARTS = 8  # as in BoxingCases.cpp

# Steps that move nothing: they are kernels, or nothing at all.
LOCAL_STEPS = {"slice", "embed", "dilute", ""}


def make_values(session, entry):
    """({input: array}, {output: expected array}) of an entry."""
    random = np.random.default_rng(session.entries[entry])
    _, shape, dtype = session.outputs[entry][0]
    whole = random.integers(-99, 100, shape)
    if dtype == np.bool_:
        # As many true as false, also where eight parts are joined.
        whole = random.integers(0, 2, shape).astype(bool)
        parts = random.random((PARTS, *shape)) < random.choice([0.1, 0.9], shape)
        return values_of(session, entry, whole, parts)
    # From 1 to 4 and negative: a product of eight is below 2^24.
    parts = random.integers(1, 5, (PARTS, *shape)) * random.choice(
        [-1, 1], (PARTS, *shape))
    return values_of(session, entry, whole, parts)


def values_of(session, entry, whole, parts):
    """What make_values returns, for the whole tensor and the parts that are joined."""
    dtype = session.outputs[entry][0][2]
    inputs = {name: parts if name.startswith("parts") else whole
              for name, _, _ in session.inputs[entry]}
    # The sum of booleans is "any": astype takes what is not zero to true.
    joined = {name: reduce(parts, axis=0).astype(dtype)
              for name, reduce in REDUCERS.items()}
    expected = {}
    for name, _, _ in session.outputs[entry]:
        reducer = re.search(r"P\((\w+)\)", name.split(" -> ")[0])
        expected[name] = joined[reducer.group(1)] if reducer else whole.astype(dtype)
    return inputs, expected


def wrong_values(outputs, expected):
    """The outputs that are not, bit for bit, as expected."""
    return [name for name, value in outputs.items()
            if value.tobytes() != expected[name].tobytes()]


class Task:
    """A communication as it ran: {rank: arguments of its event}."""

    def __init__(self, kind):
        self.kind, self.ranks = kind, {}

    def bytes(self):
        return sum(ran["bytes"] for ran in self.ranks.values())

    def peak(self):
        return max(ran["staging_bytes"] + ran["buffer_bytes"]
                   for ran in self.ranks.values())


def tasks_by_case(events):
    """{case: its communications in order}."""
    tasks = {}
    for event in events:
        if "bytes" in event.get("args", {}):
            kind, order, case = event["name"].split(" ", 2)
            task = tasks.setdefault((int(order), case), Task(kind))
            task.ranks[event["pid"]] = event["args"]
    cases = collections.defaultdict(list)
    for order, case in sorted(tasks):
        cases[case].append(tasks[order, case])
    return cases


def read_explanation(text):
    """{entry: {case: its rows of --explain in order}}; numbers are int."""
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        if row["step"] == "total":
            continue
        for key in row:
            if key.endswith("bytes"):
                row[key] = int(row[key])
        case = re.sub(r" \([^()]*:\d+\)$", "", row["source"])
        rows[row["function"]][case].append(row)
    return rows


def predicted_bytes(rows):
    """Of one entry."""
    return sum(row["bytes"] for steps in rows.values() for row in steps)


def wrong_cost(steps, ran):
    """What is wrong with the tasks of a case, given its rows; None if nothing is."""
    def describe(step, count):
        return f"{step.replace('_', '-')} of {count} bytes"

    # Those of a case that do not wait for each other run in any order.
    steps = sorted((describe(row["step"], row["bytes"]), row["peak_bytes"],
                    row["bound_bytes"], row["gather_bytes"], row["bytes"])
                   for row in steps if row["step"] not in LOCAL_STEPS)
    ran = sorted((describe(task.kind, task.bytes()), task.peak()) for task in ran)
    if [step[0] for step in steps] != [task[0] for task in ran]:
        return f"predicted {[step[0] for step in steps]}, ran {[task[0] for task in ran]}"
    for (name, peak, bound, gather, count), (_, held) in zip(steps, ran):
        if held > peak:
            return f"{name}: predicted a peak of {peak} bytes, held {held}"
        if peak > bound:
            return f"{name}: predicted a peak of {peak} bytes above its bound of {bound}"
        if count > gather:
            return f"{name}: gathering everything moves {gather} bytes"
    return None


def wrong_costs(rows, tasks):
    """{case: what is wrong} with the tasks of one entry, given its rows."""
    wrong = {case: wrong_cost(rows.get(case, []), tasks.get(case, []))
             for case in rows.keys() | tasks.keys()}
    return {case: what for case, what in wrong.items() if what}


def check_plan(path, explanation, trace_path):
    """Runs every entry. (number of cases, ["ENTRY: FROM -> TO: what is wrong"])."""
    rows, count, wrong = read_explanation(explanation), 0, []
    with Session(path) as session:
        for entry in session.entries:
            inputs, expected = make_values(session, entry)
            before = session.counters().bytes_moved
            outputs, events = session.trace(entry, inputs, trace_path)
            moved = session.counters().bytes_moved - before
            count += len(outputs)
            wrong += [f"{entry}: {case}: wrong values"
                      for case in wrong_values(outputs, expected)]
            wrong += [f"{entry}: {case}: {what}" for case, what in
                      wrong_costs(rows[entry], tasks_by_case(events)).items()]
            if moved != predicted_bytes(rows[entry]):
                wrong.append(f"{entry}: predicted {predicted_bytes(rows[entry])} bytes, "
                             f"counted {moved}")
    return count, wrong


def run_under_mpi(path):
    """Exit status of one rank."""
    failed, text = False, ""
    with Session(path, transport="mpi") as session:
        for entry in session.entries:
            inputs, expected = make_values(session, entry)
            before = session.counters().bytes_moved
            for name in wrong_values(session.run(entry, inputs), expected):
                text += f"{entry}: {name}: wrong values\n"
                failed = True
            text += f"bytes {entry} {session.counters().bytes_moved - before};\n"
    # At once: the launcher mixes what the ranks write.
    sys.stdout.write(text)
    sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run_under_mpi(sys.argv[1]))
