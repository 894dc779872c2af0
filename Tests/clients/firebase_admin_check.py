"""Runs the official firebase-admin client against a firebridge tree.

usage: firebase_admin_check.py HOST:PORT

Needs the package firebase-admin. Prints `ok` and ends with 0 when every step went as the client
expects of the hosted database; otherwise the failed step's traceback, and another code.
"""

import os
import sys
import threading
import time
import traceback


def wait_for(events, condition, seconds=10):
    """The events, once the condition holds of them."""
    deadline = time.monotonic() + seconds
    while not condition(events):
        assert time.monotonic() < deadline, f"no such event among {events}"
        time.sleep(0.01)
    return list(events)


def read_and_write(db):
    root = db.reference("check")
    root.delete()
    assert root.get() is None
    root.set({"name": "ann", "age": 30, "tags": ["a", "b"], "deep": {"x": {"y": True}}})
    assert root.get() == {"name": "ann", "age": 30, "tags": ["a", "b"], "deep": {"x": {"y": True}}}
    assert root.child("deep/x").get() == {"y": True}
    root.update({"age": 31, "deep/x/z": 1.5, "name": None})
    assert root.get() == {"age": 31, "tags": ["a", "b"], "deep": {"x": {"y": True, "z": 1.5}}}
    assert root.get(shallow=True) == {"age": 31, "tags": True, "deep": True}
    root.child("deep").delete()
    assert root.child("deep").get() is None
    root.child("ü/emoji 🙂 & %").set("é")
    assert root.get()["ü"] == {"emoji 🙂 & %": "é"}
    root.child("big").set(2**53 + 1)
    assert root.child("big").get() == 2**53 + 1


def push(db):
    root = db.reference("pushed")
    root.delete()
    keys = [root.push({"n": n}).key for n in range(20)]
    assert keys == sorted(keys) and all(len(key) == 20 for key in keys), keys
    assert [root.child(key).get()["n"] for key in keys] == list(range(20))


def server_values(db):
    root = db.reference("served")
    root.set({"at": {".sv": "timestamp"}, "n": 1})
    assert abs(root.child("at").get() - time.time() * 1000) < 60_000
    root.update({"n": {".sv": {"increment": 41}}})
    assert root.child("n").get() == 42


def conditional(db):
    node = db.reference("conditional")
    node.delete()
    value, etag = node.get(etag=True)
    assert value is None and etag == "null_etag", (value, etag)
    done, value, etag = node.set_if_unchanged(etag, {"v": 1})
    assert done and value == {"v": 1}, (done, value, etag)
    assert node.get_if_changed(etag) == (False, None, None)
    node.set({"v": 2})
    changed, value, fresh = node.get_if_changed(etag)
    assert changed and value == {"v": 2} and fresh != etag
    done, value, current = node.set_if_unchanged(etag, {"v": 3})
    assert not done and value == {"v": 2} and current == fresh, (done, value, current)


def transaction(db):
    counter = db.reference("counter")
    counter.set(0)

    def count():
        for _ in range(10):
            counter.transaction(lambda current: (current or 0) + 1)

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.get() == 30, counter.get()


def queries(db):
    node = db.reference("dinosaurs")
    node.set({"a": {"height": 3}, "b": {"height": 1}, "c": {"height": 2}, "d": {}, "e": {"x": 1}})
    assert list(node.order_by_key().limit_to_first(2).get()) == ["a", "b"]
    assert list(node.order_by_child("height").start_at(2).get()) == ["c", "a"]
    assert list(node.order_by_child("height").limit_to_last(1).get()) == ["a"]
    assert list(node.order_by_child("height").equal_to(1).get()) == ["b"]
    values = db.reference("values")
    values.set({"a": 2, "b": 1, "c": "x", "d": True})
    assert list(values.order_by_value().get()) == ["d", "b", "a", "c"]


def errors(db, exceptions):
    try:
        db.reference("check").update({"a": 1, "a/b": 2})
    except exceptions.InvalidArgumentError as error:
        assert "ancestor" in str(error), error
    else:
        raise AssertionError("an update of a place and its ancestor was accepted")


def listen(db):
    node = db.reference("heard")
    node.set({"first": 1})
    events = []
    node.listen(lambda event: events.append((event.event_type, event.path, event.data)))
    wait_for(events, lambda seen: seen and seen[0] == ("put", "/", {"first": 1}))
    key = node.push({"text": "hallo é 🙂"}).key
    wait_for(events, lambda seen: ("put", f"/{key}", {"text": "hallo é 🙂"}) in seen)
    node.update({"first": 2, "deep/er": 3})
    wait_for(events, lambda seen: seen[-1] == ("patch", "/", {"first": 2, "deep/er": 3}))
    db.reference("heard/first").delete()
    wait_for(events, lambda seen: seen[-1] == ("put", "/first", None))
    db.reference("unheard").set(1)
    node.delete()
    wait_for(events, lambda seen: seen[-1] == ("put", "/", None))
    assert len(events) == 5, events
    # The registration is not closed: the client would wait for the next event, a keep-alive.


def main():
    os.environ["FIREBASE_DATABASE_EMULATOR_HOST"] = sys.argv[1]
    import firebase_admin
    from firebase_admin import db, exceptions

    firebase_admin.initialize_app(options={"databaseURL": "https://demo.firebaseio.com"})
    read_and_write(db)
    push(db)
    server_values(db)
    conditional(db)
    transaction(db)
    queries(db)
    errors(db, exceptions)
    listen(db)
    print("ok")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    code = 1
    try:
        main()
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(code)  # not waiting for the client's listening thread
