"""Runs the Python client Pyrebase against a firebridge tree.

usage: pyrebase_check.py HOST:PORT

Needs the package pyrebase4. Prints `ok` and ends with 0 when every step went as the client expects
of the hosted database; otherwise the failed step's traceback, and another code.
"""

import sys

from checks import run, wait_for


def main():
    import pyrebase

    firebase = pyrebase.initialize_app({
        "apiKey": "none", "authDomain": "", "storageBucket": "",
        "databaseURL": f"http://{sys.argv[1]}",
    })

    def at(*path):
        place = firebase.database().child("pyrebase")
        for name in path:
            place = place.child(name)
        return place

    at().remove()
    at("users", "ann").set({"name": "Ann", "age": 30})
    at("users", "bob").set({"name": "Bob", "age": 20})
    at("users", "ann").update({"age": 31})
    assert at("users", "ann").get().val() == {"name": "Ann", "age": 31}
    key = at("list").push("x")["name"]
    assert at("list").get().val() == {key: "x"}
    assert at("users").shallow().get().val() == {"ann", "bob"}

    ages = at("users").order_by_child("age")
    assert [user.key() for user in ages.get().each()] == ["bob", "ann"]
    assert [user.key() for user in at("users").order_by_child("age").start_at(25).get().each()] == ["ann"]
    assert [user.key() for user in at("users").order_by_child("name").equal_to("Bob").get().each()] == ["bob"]
    assert [user.key() for user in at("users").order_by_key().limit_to_last(1).get().each()] == ["bob"]
    at("scores").set({"a": 3, "b": 1, "c": 2})
    assert [score.key() for score in at("scores").order_by_value().limit_to_first(2).get().each()] == ["b", "c"]

    events, window = [], []
    at("users").stream(lambda message: events.append(
        (message["event"], message["path"], message["data"])))
    firebase.database().child("pyrebase").child("scores").order_by_value().limit_to_last(1).stream(
        lambda message: window.append((message["event"], message["path"], message["data"])))
    wait_for(events, lambda seen: len(seen) == 1 and seen[0][:2] == ("put", "/"))
    wait_for(window, lambda seen: seen == [("put", "/", {"a": 3})])
    at("users", "ann", "age").set(32)
    wait_for(events, lambda seen: seen[-1] == ("put", "/ann/age", 32))
    at("scores", "b").set(9)
    wait_for(window, lambda seen: seen[-1] == ("patch", "/", {"a": None, "b": 9}))
    at().remove()
    wait_for(events, lambda seen: seen[-1] == ("put", "/", None))
    wait_for(window, lambda seen: seen[-1] == ("put", "/", None))
    print("ok")


if __name__ == "__main__":
    run(main, __doc__)
