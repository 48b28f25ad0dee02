# storm.py LIBRARY - storm.cc by way of an interpreter: four threads, each of which allocates,
# imports a module and lets it go, loads and unloads LIBRARY, raises, and forks, again and again
# until SIGTERM.
# It says `ready`, and at its end `fine`, or what went wrong, and how many turns all have made.
import _ctypes
import ctypes
import importlib
import os
import signal
import sys
import tempfile
import threading

library = sys.argv[1]
over = threading.Event()
wrong = []
turns = [0, 0, 0, 0]


def work(n):
    return sum(i * i % 7 for i in range(n))


def allocate(n):
    held = [bytes([i]) * (100 + (n * 37 + i * 911) % 4000) for i in range(50)]
    if any(b[-1] != i for i, b in enumerate(held)):
        wrong.append("an allocation")


def dive(depth):
    held = ["x"] * 40
    if not depth:
        raise RuntimeError(len(held))
    dive(depth - 1)
    wrong.append("a frame")


def raise_and_catch():
    try:
        dive(8)
    except RuntimeError as e:
        if e.args != (40,):
            wrong.append("an exception")


# Two threads do not unload one module.
def import_and_unload(id):
    name = "plugin%d" % id
    if importlib.import_module(name).twice(21) != 42:
        wrong.append("a module")
    del sys.modules[name]


def load_and_call():
    handle = _ctypes.dlopen(library, 0)
    twice = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(_ctypes.dlsym(handle, "plugin_twice"))
    if twice(21) != 42:
        wrong.append("a library")
    _ctypes.dlclose(handle)


def fork_and_wait():
    child = os.fork()
    if not child:
        os._exit(0 if work(100) == 197 else 1)
    if os.waitpid(child, 0) != (child, 0):
        wrong.append("a child")


def turn(id, n):
    if work(100) != 197:
        wrong.append("a sum")
    allocate(n)
    raise_and_catch()
    if n % 3 == 0:
        import_and_unload(id)
        load_and_call()
    if n % 8 == 0:
        fork_and_wait()
    turns[id] += 1


def run(id):
    n = id
    while not over.is_set() and not wrong:
        try:
            turn(id, n)
        except BaseException as e:
            wrong.append(repr(e))
        n += 1


signal.signal(signal.SIGTERM, lambda *_: over.set())
with tempfile.TemporaryDirectory() as folder:
    for i in range(4):
        with open("%s/plugin%d.py" % (folder, i), "w") as f:
            f.write("import json\ndef twice(n):\n    return n * 2\n")
    sys.path.insert(0, folder)
    others = [threading.Thread(target=run, args=(i,)) for i in range(3)]
    for t in others:
        t.start()
    print("ready", flush=True)
    run(3)
    for t in others:
        t.join()
print(wrong[0] if wrong else "fine")
print(sum(turns), "turns")
sys.exit(bool(wrong))
