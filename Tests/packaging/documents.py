"""Runs the `console live` blocks of documents, each document's in one directory, in order.

What follows `$ ` is run, in a terminal of its own; what stands below it is what must be seen there:
`…` in a line stands for anything, as a line for any lines. Programs that do not end go on until the
document does, as do those of a `<!-- beside: COMMAND -->`. Blocks with `# NAME` in their first line
are files.
"""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

LIMIT = 30
# Those that go on by themselves, and reads that may come a moment too early.
STAYING = ("firebridge tree", "firebridge run", "firebridge watch", "curl -N")
READS = ("firebridge get", "firebridge health", "curl ")


def blocks(path):
    """(info, lines) of each fenced block."""
    found, is_open = [], False
    for line in open(path, encoding="utf-8").read().split("\n"):
        if line.startswith("```"):
            is_open = not is_open
            if is_open:
                found.append((line[3:], []))
        elif is_open:
            found[-1][1].append(line)
        elif beside := re.fullmatch("<!-- beside: (.*) -->", line):
            found.append(("console live", ["$ " + beside[1]]))
    return found


def commands(lines):
    """(command, what it prints) in order; a command goes on after a quote, `|` or a backslash."""
    found, goes_on = [], False
    for line in lines:
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif goes_on:
            found[-1][0] += "\n" + line
        else:
            found[-1][1].append(line)
            continue
        command = found[-1][0]
        goes_on = command.count("'") % 2 == 1 or command.endswith(("|", "\\"))
    return found


def plain(text):
    """Without what differs from run to run."""
    text = text.replace("\r", "")
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)
    text = re.sub(r"(?m)^\d\d:\d\d:\d\d\.\d{3} ", "TIME ", text)
    return re.sub(r"config_hash=\w+", "config_hash=HASH", text)


def matches(found, expected):
    """Whether lines are seen in this order from the first on; more may follow."""
    pattern = ""
    for line in plain("\n".join(expected)).split("\n"):
        if line == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += "[^\n]*".join(re.escape(part) for part in line.split("…")) + r" *\n"
    return re.match(pattern, plain(found).rstrip("\n") + "\n") is not None


class Program:
    """A command in a terminal of its own."""

    def __init__(self, command, directory):
        self.command, self.text, self.code = command, "", None
        environment = dict(os.environ, NO_COLOR="1", REPOSITORY=os.getcwd())
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe("sh", ["sh", "-c", command], environment)

    def read(self):
        """Takes in what it has said; it has ended when there is a code."""
        if self.code is not None or not select.select([self.terminal], [], [], 0.05)[0]:
            return
        try:
            self.text += os.read(self.terminal, 65536).decode()
        except OSError:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def end(self):
        """Ends it, and takes in what it still says."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            until = time.monotonic() + LIMIT
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                pass
            while self.code is None and time.monotonic() < until:
                self.read()


def run(command, directory, expected, staying):
    """None when it did what it should, else what was seen."""
    until = time.monotonic() + LIMIT
    if command.startswith(STAYING):
        if command.startswith("firebridge tree"):
            # There is one at a time: they share a port.
            for earlier, _ in staying:
                if earlier.command.startswith("firebridge tree"):
                    earlier.end()
        program = Program(command, directory)
        staying.append((program, expected))
        # Its first line says that it is there; the rest is looked at in the end.
        while not program.text and time.monotonic() < until:
            program.read()
        return None
    seen = ""
    while True:
        program = Program(command, directory)
        while program.code is None and time.monotonic() < until:
            program.read()
        if matches(program.text, expected) if expected else program.code == 0:
            return None
        program.end()
        seen = program.text or seen
        if not command.startswith(READS) or time.monotonic() > until:
            return seen
        time.sleep(0.1)


def check(path, work):
    """How many commands were run, and what went wrong."""
    directory = os.path.join(work, path.replace("/", "-"))
    os.mkdir(directory)
    os.symlink(os.path.abspath("Config"), os.path.join(directory, "Config"))
    staying, count, wrong = [], 0, []
    for info, lines in blocks(path):
        name = re.fullmatch(r"# ([\w.-]+\.\w+)", lines[0]) if lines else None
        if name:
            with open(os.path.join(directory, name[1]), "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
        if info != "console live":
            continue
        for command, expected in commands(lines):
            count += 1
            seen = run(command, directory, expected, staying)
            if seen is not None:
                wrong.append((command, expected, seen))
    for program, expected in staying:
        until = time.monotonic() + LIMIT
        while expected and not matches(program.text, expected) and time.monotonic() < until:
            program.read()
            if program.code is not None:
                break
        if expected and not matches(program.text, expected):
            wrong.append((program.command, expected, program.text))
    for program, _ in reversed(staying):
        program.end()
    for command, expected, seen in wrong:
        print(f"{path}: $ {command}\n--- expected\n" + "\n".join(expected), file=sys.stderr)
        print(f"--- seen\n{plain(seen)}", file=sys.stderr)
    return count, len(wrong)


def main():
    wrong = 0
    for path in sys.argv[2:]:
        count, bad = check(path, sys.argv[1])
        wrong += bad
        if count and not bad:
            print(f"documents: {path}: {count} commands do what it shows")
    sys.exit(1 if wrong else 0)


main()
