# SPDX-License-Identifier: MIT
"""gpu-estimate.py: what a step of convnet with Adam in bf16 should take on one H200, before it is measured.

A step is a chain of nodes: kernels of our own, calls of libraries, and copies. A node takes the time that
passes between two nodes, and the greater of its bytes and its operations at the rates below. Bytes and
operations follow from the shapes; nothing is read twice from memory, and nothing stays in the L2 cache, which
makes small batches faster than this.
The rates are assumptions. When there is a record of a GPU (bench/results), correct them by it.

Prints, in Markdown, the operations of a step in microseconds, beside an estimate that was made by hand, and
what each planned change leaves.
"""
BATCHES = (32, 512, 4096)

MEMORY = 4.8e12  # bytes/s of an H200, by its data sheet
MATRIX = 989e12  # operations/s of its tensor cores in bf16, dense, by its data sheet

# The share of MEMORY that kernels reach by what they do.
STREAM = 0.77  # they read and write in order
PLACES = 0.67  # pooling backward: each place looks for its outputs
CHANNELS = 0.56  # a convolution of cuDNN with 8 channels, forward
CHANNELS_WEIGHTS = 0.44  # its weight gradient
FUSED = 0.65  # convolution and pooling in one kernel of our own

# The share of MATRIX.
FORWARD, DATA, PRODUCT = 0.58, 0.54, 0.6
WEIGHTS = 0.41  # only kernels of sm_80 have bf16 weight gradients in cuDNN's legacy calls
OWN_MATRIX = 0.3  # mma.sync in a kernel of our own

# Microseconds of a node that has nothing to do: a launch within a graph, its first and last blocks.
OWN, CONVOLUTION, LINEAR = 1.5, 3.5, 4.0  # of our own; a library's convolution, product
UPDATE_BEGIN = 3.0  # in all: one thread computes the step's factors in doubles
# Of a step, outside of its nodes: the copies to and from the host, with their latency over PCIe, and the
# launch of the graph.
COPY_IN, COPY_OUT, LAUNCH = 3.0, 2.0, 4.0

# convnet
IMAGE = 32 * 32
RECORD = 3 * IMAGE  # bytes of an image in the data set
CLASSES, HIDDEN = 10, 512
CHANNELS1, CHANNELS2, PADDED = 64, 128, 8
OUTPUT1, OUTPUT2 = CHANNELS1 * IMAGE, CHANNELS2 * IMAGE // 4
POOLED1, POOLED2 = OUTPUT1 // 4, OUTPUT2 // 4
FILTER1, FILTER2 = 9 * 3 * CHANNELS1, 9 * CHANNELS1 * CHANNELS2
MATRIX1, MATRIX2 = POOLED2 * HIDDEN, HIDDEN * CLASSES
PARAMETERS = FILTER1 + FILTER2 + MATRIX1 + MATRIX2 + CHANNELS1 + CHANNELS2 + HIDDEN + CLASSES
HALF, FLOAT = 2, 4  # bytes

# speed.awk's floor: the elements that are written and read for a sample, and the bytes of the weights, at
# the rates that it names.
FLOOR_ELEMENTS, FLOOR_BYTES, FLOOR_MEMORY, FLOOR_MATRIX = 656384, 162e6, 4.3e12, 790e12


class Node:
    """Each value is for the whole step if it does not grow with the batch, else for a sample."""

    def __init__(self, gap, sample=0, step=0, share=STREAM, operations=0, matrix=PRODUCT):
        self.gap, self.sample, self.step, self.share = gap, sample, step, share
        self.operations, self.matrix = operations, matrix

    def bytes(self, batch):
        return self.sample * batch + self.step

    def us(self, batch):
        moved = self.bytes(batch) / (MEMORY * self.share)
        computed = self.operations * batch / (MATRIX * self.matrix)
        return self.gap + 1e6 * max(moved, computed)


def convolution1():
    return 2 * FILTER1 * IMAGE


def convolution2():
    return 2 * FILTER2 * IMAGE // 4


# The operations of a step: a name, its nodes, and the estimate by hand.
def today():
    images, places1, places2 = PADDED * IMAGE, POOLED1, POOLED2

    def reorder(filters):  # a filter into cuDNN's order and type, or its gradient back
        return Node(OWN, step=filters * (FLOAT + HALF))

    return {
        "memset, input_fill": [Node(OWN), Node(OWN, RECORD + HALF * images)],
        "conv1 forward": [Node(CONVOLUTION, HALF * (images + OUTPUT1), share=CHANNELS,
                               operations=convolution1(), matrix=FORWARD)],
        "pool1 forward": [Node(OWN, HALF * (OUTPUT1 + POOLED1) + places1)],
        "conv2 forward": [Node(CONVOLUTION, HALF * (POOLED1 + OUTPUT2), operations=convolution2(),
                               matrix=FORWARD)],
        "pool2 forward": [Node(OWN, HALF * (OUTPUT2 + POOLED2) + places2)],
        "fc1, fc2, loss": [
            Node(LINEAR, HALF * (POOLED2 + HIDDEN), HALF * MATRIX1, operations=2 * MATRIX1),
            Node(LINEAR, HALF * (HIDDEN + CLASSES), HALF * MATRIX2, operations=2 * MATRIX2),
            Node(OWN, 2 * HALF * CLASSES)],
        "fc2 backward, bias, ReLU": [
            Node(LINEAR, HALF * (HIDDEN + CLASSES), FLOAT * MATRIX2, operations=2 * MATRIX2),
            Node(LINEAR, HALF * (HIDDEN + CLASSES), HALF * MATRIX2, operations=2 * MATRIX2),
            Node(OWN, 3 * HALF * HIDDEN)],
        "fc1 gradients": [
            Node(LINEAR, HALF * (POOLED2 + HIDDEN), FLOAT * MATRIX1, operations=2 * MATRIX1),
            Node(LINEAR, HALF * (POOLED2 + HIDDEN), HALF * MATRIX1, operations=2 * MATRIX1)],
        "pool2 backward": [Node(OWN, HALF * (2 * POOLED2 + OUTPUT2) + places2, share=PLACES)],
        "conv2 weights": [Node(CONVOLUTION, HALF * (POOLED1 + OUTPUT2), operations=convolution2(),
                               matrix=WEIGHTS), reorder(FILTER2)],
        "conv2 data": [Node(CONVOLUTION, HALF * (POOLED1 + OUTPUT2), operations=convolution2(),
                            matrix=DATA)],
        "pool1 backward": [Node(OWN, HALF * (2 * POOLED1 + OUTPUT1) + places1, share=PLACES)],
        "conv1 weights": [Node(CONVOLUTION, HALF * (images + OUTPUT1), share=CHANNELS_WEIGHTS,
                               operations=convolution1(), matrix=WEIGHTS), reorder(FILTER1)],
        # Weights and two states are read and written, gradients read, copies in half width written.
        "update, Adam, prepare": [Node(UPDATE_BEGIN), Node(OWN, step=PARAMETERS * (7 * FLOAT + HALF)),
                                  reorder(FILTER1), reorder(FILTER2)],
    }


BY_HAND = {
    "memset, input_fill": (4, 6, 22), "conv1 forward": (5, 30, 225), "pool1 forward": (3, 27, 200),
    "conv2 forward": (6, 42, 270), "pool2 forward": (3, 15, 105), "fc1, fc2, loss": (17, 20, 75),
    "fc2 backward, bias, ReLU": (13, 14, 25), "fc1 gradients": (13, 19, 115),
    "pool2 backward": (4, 19, 140), "conv2 weights": (11, 60, 385), "conv2 data": (6, 45, 290),
    "pool1 backward": (5, 38, 270), "conv1 weights": (9, 45, 285), "update, Adam, prepare": (44, 44, 44),
    "copies, launch": (9, 9, 9),
}
BEFORE_ADAM = ("memset, input_fill", "conv1 forward", "pool1 forward", "conv2 forward", "pool2 forward",
               "fc1, fc2, loss", "fc2 backward, bias, ReLU")


class Step:
    """The operations, and what one branch of the graph does beside others."""

    def __init__(self):
        self.rows = today()
        self.outside = COPY_IN + COPY_OUT + LAUNCH
        self.beside = []  # nodes that run beside what follows fc1's weight gradient

    def us(self, batch):
        chain = sum(node.us(batch) for nodes in self.rows.values() for node in nodes)
        late = [node for name, nodes in self.rows.items() if name not in BEFORE_ADAM for node in nodes]
        late_us = sum(node.us(batch) for node in late)
        # Both branches share the memory. OWN: the place where they join.
        moved = sum(node.bytes(batch) for node in late + self.beside)
        both = 1e6 * moved / (MEMORY * STREAM)
        alone = sum(node.us(batch) for node in self.beside)
        return self.outside + chain - late_us + (max(late_us, both, alone) + OWN if self.beside else late_us)

    def nodes(self):
        return sum(len(nodes) for nodes in self.rows.values()) + len(self.beside)


def fewer_nodes(step):
    """The first loss overwrites the result; Adam reads and writes cuDNN's orders."""
    del step.rows["memset, input_fill"][0]
    del step.rows["conv2 weights"][1], step.rows["conv1 weights"][1]
    del step.rows["update, Adam, prepare"][2:]


def adam_beside(step):
    """The update of fc1, 98 % of all, begins when its gradient is there; its factors are computed before."""
    update = step.rows["update, Adam, prepare"]
    begin, all_of_it = update[0], update[1]
    most = MATRIX1 / PARAMETERS
    step.beside = [begin, Node(OWN, step=all_of_it.step * most)]
    update[0:2] = [Node(OWN, step=all_of_it.step * (1 - most))]


def one_first_layer(step):
    """conv1, ReLU and pool1 from the bytes; pool1 backward with conv1's weight gradient. Places have two bits;
    a filter's 27 inputs are padded to 32."""
    del step.rows["memset, input_fill"][-1]
    del step.rows["pool1 forward"], step.rows["pool1 backward"]
    operations = convolution1() * 32 // 27
    places = POOLED1 // 4
    step.rows["conv1 forward"] = [Node(OWN, RECORD + HALF * POOLED1 + places, share=FUSED,
                                       operations=operations, matrix=OWN_MATRIX)]
    step.rows["conv1 weights"][0] = Node(OWN, RECORD + 2 * HALF * POOLED1 + places, share=FUSED,
                                         operations=operations, matrix=OWN_MATRIX)


def copies_beside(step):
    """Both copies on streams of their own, to memory that every second step has, so that a step has two
    recordings; the device's stream waits for events that have long occurred."""
    step.outside = LAUNCH + OWN


CHANGES = (
    ("before", None),
    ("fewer nodes: no memset, reorder or prepare", fewer_nodes),
    ("Adam of fc1 beside backward", adam_beside),
    ("conv1, ReLU and pool1 in one kernel, and backward", one_first_layer),
    ("copies beside the step before", copies_beside),
)


def floor_us(batch):
    operations = 3 * 2 * (MATRIX1 + MATRIX2) + 3 * convolution2() + 2 * convolution1()
    moved = FLOOR_ELEMENTS * HALF * batch + FLOOR_BYTES
    return 1e6 * max(operations * batch / FLOOR_MATRIX, moved / FLOOR_MEMORY)


def line(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def rule(columns):
    print("|" + "---|" * columns)


def operations_table():
    step = Step()
    line("operation, microseconds", *(f"batch {batch}" for batch in BATCHES), "by hand")
    rule(5)
    rows = {name: [sum(node.us(batch) for node in nodes) for batch in BATCHES]
            for name, nodes in step.rows.items()}
    rows["copies, launch"] = [step.outside] * len(BATCHES)
    for name, times in rows.items():
        line(name, *(f"{us:.0f}" for us in times), " / ".join(map(str, BY_HAND[name])))
    line("step", *(f"{step.us(batch):.0f}" for batch in BATCHES),
         " / ".join(str(sum(by_hand[i] for by_hand in BY_HAND.values())) for i in range(len(BATCHES))))


def changes_table():
    line("change, with those above it", "nodes", *(f"batch {batch}: us, times the floor" for batch in BATCHES))
    rule(5)
    step = Step()
    for name, change in CHANGES:
        if change:
            change(step)
        line(name, step.nodes(), *(f"{step.us(batch):.0f}, {step.us(batch) / floor_us(batch):.1f}"
                                   for batch in BATCHES))


if __name__ == "__main__":
    operations_table()
    print()
    changes_table()
