# SPDX-License-Identifier: MIT
"""make-data.py FOLDER TRAIN TEST [WRONG]: files of CIFAR-10's form with so many samples, to be learnt.

An image is noise over one of ten patterns; five files share the training samples as evenly as can be.
WRONG is the part of labels that are drawn anew, so that losses stay far from zero.
"""
import os
import random
import sys


def records(count, seed, wrong):
    numbers = random.Random(seed)
    patterns = [random.Random(label).randbytes(48) for label in range(10)]
    for _ in range(count):
        label = numbers.randrange(10)
        noise = numbers.randbytes(3072)
        fields = patterns[label]
        if wrong > 0 and numbers.random() < wrong:
            label = numbers.randrange(10)
        yield bytes([label]) + bytes(
            (noise[i] + fields[(i // 1024) * 16 + (i % 1024) // 256 * 4 + i % 32 // 8]) // 2
            for i in range(3072))


def main():
    folder, train, test = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    wrong = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0
    os.makedirs(folder, exist_ok=True)
    samples = list(records(train, 1, wrong))
    for part in range(5):
        with open(f"{folder}/data_batch_{part + 1}.bin", "wb") as file:
            file.write(b"".join(samples[train * part // 5:train * (part + 1) // 5]))
    with open(f"{folder}/test_batch.bin", "wb") as file:
        file.write(b"".join(records(test, 2, wrong)))


main()
