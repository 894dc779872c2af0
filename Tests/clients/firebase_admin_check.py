"""Runs the official firebase-admin client against a firebridge tree.

usage: firebase_admin_check.py HOST:PORT

Needs the package firebase-admin. Prints `ok` and ends with 0 when every step went as the client
expects of the hosted database; otherwise the failed step's traceback, and another code.
"""

import os
import sys
import threading
import time

from checks import run, wait_for


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
    # Neither is an ETag of this database's.
    assert node.get_if_changed("wrong")[:2] == (True, None)
    assert node.set_if_unchanged("wrong", {"v": 0}) == (False, None, "null_etag")
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
    node = db.reference("transacted")
    node.set({"name": "ann"})
    assert node.transaction(lambda current: {**current, "age": 1}) == {"name": "ann", "age": 1}
    assert node.get() == {"name": "ann", "age": 1}


def queries(db):
    node = db.reference("dinosaurs")
    node.set({"a": {"height": 3}, "b": {"height": 1}, "c": {"height": 2}, "d": {}, "e": {"x": 1}})
    assert list(node.order_by_key().limit_to_first(2).get()) == ["a", "b"]
    assert list(node.order_by_child("height").start_at(2).get()) == ["c", "a"]
    assert list(node.order_by_child("height").limit_to_last(1).get()) == ["a"]
    assert list(node.order_by_child("height").equal_to(1).get()) == ["b"]
    for bounded in [node.order_by_key().limit_to_first(9), node.order_by_key().limit_to_last(9)]:
        assert list(bounded.get()) == ["a", "b", "c", "e"]
    assert list(node.order_by_child("height").end_at(2).get()) == ["e", "b", "c"]
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


def rules(firebase_admin, db, exceptions):
    """What the client's own integration tests do: rules by REST, indexes, and other identities."""
    url = "https://ruled.firebaseio.com"
    owner = firebase_admin.initialize_app(options={"databaseURL": url}, name="ruled")
    client = db.reference("", owner)._client
    stored = client.body("get", "/.settings/rules.json", params="format=strict")
    stored["rules"] = {
        "python": {
            "dinosaurs": {".indexOn": ["height", "ratings/pos"]},
            "scores": {".indexOn": ".value"},
            "protected": {"$uid": {".read": "auth != null", ".write": "$uid === auth.uid"}},
            "public": {".read": "true"},
            "admin": {".read": "false", ".write": "false"},
        }
    }
    client.request("put", "/.settings/rules.json", json=stored)
    assert client.body("get", "/.settings/rules.json", params="format=strict") == stored

    def denied(action):
        try:
            action()
        except exceptions.UnauthenticatedError as error:
            assert str(error) == "Permission denied", error
        else:
            raise AssertionError("what the rules forbid was done")

    def at(path, app=owner):
        return db.reference("python/" + path, app)

    at("dinosaurs").set({
        name: {"height": height, "ratings": {"pos": pos}}
        for name, height, pos in [("lin", 0.6, 1), ("pter", 0.6, 4), ("steg", 4, 5), ("bru", 25, 2)]
    })
    at("scores").set({"steg": 5, "lin": 80, "bru": 55})
    assert list(at("dinosaurs").order_by_child("height").get()) == ["lin", "pter", "steg", "bru"]
    assert list(at("dinosaurs").order_by_child("height").start_at(2).end_at(5).get()) == ["steg"]
    assert set(at("dinosaurs").order_by_child("ratings/pos").start_at(4).get()) == {"pter", "steg"}
    assert list(at("scores").order_by_value().limit_to_last(2).get()) == ["bru", "lin"]
    try:
        at("dinosaurs").order_by_child("length").get()
    except exceptions.InvalidArgumentError as error:
        assert "Index not defined" in str(error), error
    else:
        raise AssertionError("a query without an index was answered")
    events = []
    at("users").listen(lambda event: events.append((event.event_type, event.path, event.data)))
    wait_for(events, lambda seen: seen == [("put", "/", None)])
    empty = at("users").push()
    assert empty.get() == ""
    wait_for(events, lambda seen: seen[1:] == [("put", f"/{empty.key}", "")])

    for path in ["admin", "protected/user1", "protected/user2", "public"]:
        at(path).set("test")
    user = firebase_admin.initialize_app(
        options={"databaseURL": url, "databaseAuthVariableOverride": {"uid": "user1"}}, name="user1")
    nobody = firebase_admin.initialize_app(
        options={"databaseURL": url, "databaseAuthVariableOverride": None}, name="nobody")
    denied(lambda: at("admin", user).get())
    denied(lambda: at("admin", user).set("test2"))
    assert at("protected/user2", user).get() == "test"
    denied(lambda: at("protected/user2", user).set("test2"))
    at("protected/user1", user).set("test2")
    assert at("protected/user1", user).get() == "test2"
    denied(lambda: at("protected", user).order_by_key().limit_to_first(2).get())
    assert at("public", nobody).get() == "test"
    # By the emulator's address and a namespace.
    at_address = firebase_admin.initialize_app(
        options={"databaseURL": f"http://{sys.argv[1]}?ns=ruled"}, name="address")
    assert at("public", at_address).get() == "test"
    denied(lambda: at("protected/user1", nobody).get())
    denied(lambda: at("admin", nobody).get())


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
    rules(firebase_admin, db, exceptions)
    print("ok")


if __name__ == "__main__":
    run(main, __doc__)
