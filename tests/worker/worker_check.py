#!/usr/bin/python3
"""The worker as the daemon sees it: results are the bytes of a run in the foreground, whatever order
items are given in, and after the daemon or the worker was lost.

    worker_check.py NIGHTJAR MAKE_TINY_MODEL
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

HELLO, READY, DONE, PROGRESS, SWEPT, RESERVE, EVENT, ALIVE, BYE = range(1, 10)
WELCOME, TAKE, GO, ROOM = range(32, 36)
N_ITEMS = 6
JOB_ID = 5
JOB = """nightjar: 1
name: several
model: %s
sampling: {temperature: 0.9, max_tokens: 12, seed: 1}
prompts:
""" + "".join(f"  - {{id: i{i}, ids: [{i + 1}, {i + 2}, 3]}}\n" for i in range(N_ITEMS))


class Lost(Exception):
    pass


class Worker:
    """Speaks docs/formats/worker-pipe.md, written a second time."""

    def __init__(self, nightjar, folder):
        self.process = subprocess.Popen(
            [nightjar, "worker", str(JOB_ID), folder, "--threads", "1", "--batch", "2"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)

    def say(self, kind, payload):
        header = b"NJF1" + struct.pack("<HHII", kind, 0, len(payload), zlib.crc32(payload))
        self.process.stdin.write(header + struct.pack("<I", zlib.crc32(header)) + payload)

    def read(self, length):
        data = b""
        while len(data) < length:
            piece = self.process.stdout.read(length - len(data))
            if not piece:
                raise Lost
            data += piece
        return data

    def hear(self):
        header = self.read(20)
        kind, zero, length, payload_crc, header_crc = struct.unpack("<4xHHIII", header)
        payload = self.read(length)
        assert zero == 0 and zlib.crc32(header[:16]) == header_crc
        assert zlib.crc32(payload) == payload_crc and header[:4] == b"NJF1"
        return kind, payload


class Queue:
    """What a daemon would know: which items are open, and who has which."""

    def __init__(self, order):
        self.open = list(order)
        self.running = []
        self.done = set()
        self.n_sweeps = 0
        self.n_events = 0

    def requeue(self):
        self.open = self.running + self.open
        self.running = []

    def end(self, item):
        self.done.add(item)
        if item in self.running:
            self.running.remove(item)
        if item in self.open:
            self.open.remove(item)

    def answer(self, worker, n_places, is_last):
        while self.open and len(self.running) < n_places and not is_last:
            item = self.open.pop(0)
            self.running.append(item)
            worker.say(TAKE, struct.pack("<QQ", JOB_ID, item))
        worker.say(GO, struct.pack("<Q", 1 if is_last else 0))


def serve(worker, queue, leave_after, how):
    """Until the worker ends; after so many sweeps it is drained, killed or left alone."""
    n_places = 0
    n_sweeps = 0
    while True:
        kind, payload = worker.hear()
        if kind == HELLO:
            assert struct.unpack("<IQ", payload) == (1, worker.process.pid)
            worker.say(WELCOME, struct.pack("<I", 1))
        elif kind == READY:
            n_places = struct.unpack("<Q", payload)[0]
        elif kind == DONE:
            job, item, sample, is_ok = struct.unpack("<QQIB", payload[:21])
            assert (job, sample, is_ok) == (JOB_ID, 0, 1)
            queue.end(item)
        elif kind == PROGRESS:
            assert struct.unpack("<QQ", payload)[1] in queue.running
        elif kind == RESERVE:
            worker.say(ROOM, struct.pack("<BQ", 1, 1 << 40))
        elif kind == EVENT:
            queue.n_events += 1
        elif kind == SWEPT:
            n_sweeps += 1
            is_time = n_sweeps == leave_after
            if is_time and how == "kill":
                worker.process.kill()
            if is_time and how == "leave":
                worker.process.stdin.close()
            if not is_time or how == "drain":
                queue.answer(worker, n_places, is_time)
            queue.n_sweeps = n_sweeps
        elif kind == BYE:
            return struct.unpack("<Q", payload[:8])[0]


def run_worker(nightjar, folder, queue, leave_after=0, how=None):
    worker = Worker(nightjar, folder)
    queue.requeue()
    try:
        serve(worker, queue, leave_after, how)
    except (Lost, BrokenPipeError):
        pass
    code = worker.process.wait(timeout=20)
    for pipe in (worker.process.stdin, worker.process.stdout):
        pipe.close()
    return code


def check(name, holds):
    print(("ok   " if holds else "FAIL ") + name)
    return 0 if holds else 1


def main():
    nightjar, make_tiny_model = (os.path.abspath(path) for path in sys.argv[1:3])
    scratch = tempfile.mkdtemp()
    n_failures = 0
    try:
        os.chdir(scratch)
        subprocess.run([make_tiny_model, "t5", "model"], check=True)
        with open("spec.yaml", "w", encoding="utf-8") as file:
            file.write(JOB % os.path.abspath("model"))
        subprocess.run([nightjar, "run", "spec.yaml", "--out", "alone", "--threads", "1"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open("alone/results.jsonl", "rb") as file:
            wanted = file.read()

        def results_of(folder):
            with open(folder + "/run/results.jsonl", "rb") as results:
                return results.read()

        def new_folder(name):
            os.mkdir(name, 0o700)
            shutil.copy("spec.yaml", name)

        new_folder("once")
        queue = Queue([4, 1, 5, 0, 3, 2])
        code = run_worker(nightjar, "once", queue)
        n_failures += check("items in another order give the same results",
                            code == 0 and results_of("once") == wanted
                            and queue.done == set(range(N_ITEMS)) and queue.n_events > N_ITEMS)
        queue = Queue(range(N_ITEMS))
        code = run_worker(nightjar, "once", queue)
        n_failures += check("what is done is told to a queue that has forgotten it",
                            code == 0 and queue.done == set(range(N_ITEMS)))

        new_folder("ended")
        queue = Queue(reversed(range(N_ITEMS)))
        for leave_after, how, wanted_code in ((3, "drain", 75), (11, "kill", -9), (6, "leave", 75)):
            code = run_worker(nightjar, "ended", queue, leave_after, how)
            n_failures += check(f"it ends after a {how}", code == wanted_code)
        n_failures += check("and items are left", 0 < len(queue.done) < N_ITEMS)
        code = run_worker(nightjar, "ended", queue)
        n_failures += check("it goes on to the same results",
                            code == 0 and results_of("ended") == wanted)

        new_folder("fewer")
        queue = Queue([0, 2])
        code = run_worker(nightjar, "fewer", queue)
        n_failures += check("without items for all places it stops, and nothing is exported",
                            code == 75 and queue.done == {0, 2}
                            and not os.path.exists("fewer/run/results.jsonl"))

        began = time.monotonic()
        worker = Worker(nightjar, "fewer")
        worker.hear()
        second = subprocess.run([nightjar, "worker", str(JOB_ID), "fewer", "--nonsense", "1"],
                                stdin=subprocess.DEVNULL, capture_output=True, check=False)
        worker.process.stdin.close()
        code = worker.process.wait(timeout=20)
        worker.process.stdout.close()
        n_failures += check("an orphan ends at once", code == 75
                            and time.monotonic() - began < 10)
        n_failures += check("flags that make no sense are refused", second.returncode == 2)
    finally:
        os.chdir("/")
        shutil.rmtree(scratch)
    sys.exit(1 if n_failures else 0)


main()
