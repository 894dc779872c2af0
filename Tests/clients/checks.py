"""What the checks with Python clients share."""
import os
import sys
import time
import traceback


def wait_for(events, condition, seconds=10):
    """The events, once the condition holds of them."""
    deadline = time.monotonic() + seconds
    while not condition(events):
        assert time.monotonic() < deadline, f"no such event among {events}"
        time.sleep(0.01)
    return list(events)


def run(main, usage):
    """Calls `main`, says what failed, and ends the process without waiting for the client's threads."""
    if len(sys.argv) != 2:
        sys.exit(usage)
    code = 1
    try:
        main()
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(code)
