"""What only Apache Kafka can show: static membership, retention, brokers that restart one by one."""
import json, random, re, shutil, subprocess, time

from .matrix import row
from .parts import CLUSTER, Failure, RealKafka, wait_for
from .story import CHUNKS, TOPICS, missing

shared = {}


def kafka(directory):
    """One cluster of one node for all rows that leave it as it was."""
    if "one" not in shared:
        stop_all()  # memory
        shared["one"] = RealKafka(directory, name="one")
    return shared["one"]


def stop_all():
    for cluster in shared.values():
        cluster.stop()
    shared.clear()


def on_one(world, name, seed, directory, **story):
    cluster = kafka(directory)
    prefix = f"{name}."
    cluster.create([prefix + topic for topic in TOPICS] + [prefix + "firebridge.dead-letters"])
    return world(name, seed, broker=cluster, prefix=prefix, **story)


@row(46, "SIGKILL two hundred times under static membership", real=True)
def killed_often(make, directory, seed, options):
    w = on_one(make, "killed", seed, directory, conversations=400, chunks=40)
    yield w
    chance = random.Random(seed)
    kills = options.kills
    w.start()
    w.tell(seconds=kills * 0.9)
    reading = 0
    for number in range(kills):
        time.sleep(chance.uniform(0.05, 1.1))
        w.bridge.kill()
        w.times += 1
        # All lives have one log: it is read before the next one begins.
        reading += w.bridge.says('"assigned"') > 0
        w.start(name="bridge", wait=False)
        if number % 10 == 9:
            wait_for(lambda: f"ready: {w.bridge.tail()}", 60, w.bridge.ready)
    w.healed()
    w.notes.append(f"{reading} of {kills} were killed with partitions")
    if reading < kills / 4:
        w.violations.append("too few were killed at work")
    w.finish(seconds=180)


@row(47, "an instance restarts under static membership: no rebalance", real=True)
def static_restart(make, directory, seed, options):
    w = on_one(make, "static", seed, directory, conversations=100)
    yield w
    first = w.start("first")
    w.start("second")
    wait_for("both have partitions", 30, lambda: first.metric("assigned_partitions") and w.bridge.metric("assigned_partitions"))
    w.tell(seconds=10)
    w.wait_until_seen(30)
    before = first.says('"assigned"')
    w.bridge.stop()
    w.start("second")
    w.times += 1
    w.healed()
    w.finish()
    again = first.says('"assigned"') - before
    w.notes.append(f"{again} assignments elsewhere")
    if again:
        w.violations.append("the other instance was assigned anew")


@row(48, "retention removes what was still to be read (delete-records)", real=True)
def retention(make, directory, seed, options):
    w = on_one(make, "retention", seed, directory, conversations=40)
    yield w
    w.start()
    w.tell(seconds=2, part=0.4)
    w.settle()
    w.bridge.stop()
    w.look()
    # From here on the log is no longer all that was told; of the other partitions it is.
    w.checks_prefix, w.allows_loss = False, True
    w.order.exempt |= {record["key"] for record in w.story.records if record["partition"] == 0}
    w.tell(seconds=0.5)
    w.flush()
    topic = w.prefix + CHUNKS
    found = w.positions()[f"{topic}/0"]
    first, high = found["committed"], found["high"]
    file = directory / "delete.json"
    file.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": high - 20}]}))
    w.broker.tool("records", "--offset-json-file", file)
    w.times += 1
    w.start()
    wait_for("the alarm", 60, lambda: w.bridge.says('"log_gap"') and w.bridge.metric("log_gaps_total") >= 1)
    w.healed()
    w.finish()
    tree = w.tree.read()
    removed = [record for record in w.story.records
               if record["topic"] == topic and record["partition"] == 0 and first <= record["offset"] < high - 20]
    if not removed:
        w.violations.append(f"nothing has been removed: {found}")
    gone = [one for record in w.story.records if record not in removed and (one := missing(record, tree))]
    w.violations += [f"was not removed, and is missing: {one}" for one in gone[:5]]
    w.notes.append(f"told as log_gap, {len(removed)} of {len(w.story.records)} records gone")


@row(49, "brokers of three restart one by one, killed and frozen too", real=True)
def rolling(make, directory, seed, options):
    stop_all()  # memory
    cluster = shared["three"] = RealKafka(directory, nodes=3, name="three")
    prefix = "rolling."
    cluster.create([prefix + topic for topic in TOPICS] + [prefix + "firebridge.dead-letters"], replicas=3)
    w = make("rolling", seed, broker=cluster, prefix=prefix, conversations=150)
    yield w
    w.start()
    w.tell(seconds=100)
    for number, verb in ((1, "stop"), (2, "kill"), (3, "stop")):
        w.wait_until_seen(10, seconds=60)
        cluster.node(number, verb)
        w.times += 1
        time.sleep(3)
        cluster.node(number, "start")
        time.sleep(4)
    # The group's coordinator, its sockets open, for longer than a session and than the brokers' own patience (9 s).
    w.wait_until_seen(10, seconds=60)
    number, before = coordinator(cluster), len(w.bridge.events("revoked"))
    cluster.node(number, "freeze")
    w.times += 1
    time.sleep(15)
    cluster.node(number, "thaw")
    wait_for(lambda: f"its session has ended: {w.bridge.tail()}", 30, lambda: any(one["lost"] for one in w.bridge.events("revoked")[before:]))
    w.healed()
    w.finish(seconds=180)


def coordinator(cluster):
    """The node that keeps the group."""
    done = subprocess.run([str(CLUSTER), "tool", str(cluster.directory), "groups", "--describe", "--state", "--group", "chaos"],
                          capture_output=True, text=True, timeout=60)
    found = re.search(r"\((\d+)\)", done.stdout)
    if found is None:
        raise Failure(f"no coordinator: {done.stdout}{done.stderr[-300:]}")
    return int(found.group(1))


@row(60, "an operator sets the group's offsets back", real=True)
def reset(make, directory, seed, options):
    w = on_one(make, "reset", seed, directory, conversations=60)
    yield w
    w.start()
    w.tell(seconds=2)
    w.settle()
    w.bridge.stop()
    w.rewound = True
    time.sleep(7)  # a static member's session
    for topic in TOPICS:
        w.broker.tool("groups", "--reset-offsets", "--group", "chaos", "--topic", w.prefix + topic, "--to-earliest", "--execute")
    w.times += 1
    w.look()
    w.start()
    wait_for("it reads again", 30, lambda: w.bridge.metric("records_consumed_total") > len(w.story.records) // 2)
    w.healed()
    w.finish()


@row(63, "Kafka trusts the client's certificate no more, until another is there", real=True)
def client_certificate(make, directory, seed, options):
    stop_all()  # memory
    trusted, held = directory / "trusted.pem", (directory / "client.pem", directory / "client.key")
    old, new = client_pair(directory, "old"), client_pair(directory, "new")
    for file, target in zip(old, held):
        shutil.copy(file, target)
    shutil.copy(old[0], trusted)
    listener = "listener.name.tls.ssl"
    cluster = shared["tls"] = RealKafka(
        directory, tls=True, name="tls", options=[f"{listener}.client.auth=required", f"{listener}.truststore.location={trusted}"])
    prefix = "certificate."
    cluster.create([prefix + topic for topic in TOPICS] + [prefix + "firebridge.dead-letters"])
    w = make("certificate", seed, broker=cluster, prefix=prefix, conversations=60)
    yield w
    w.start(brokers=cluster.tls, properties=[
        "security.protocol: SSL", f"ssl.ca.location: {cluster.ca}", f"ssl.certificate.location: {held[0]}",
        f"ssl.key.location: {held[1]}"])
    w.tell(seconds=2, part=0.4)
    w.settle()
    cluster.node(1, "stop")
    shutil.copy(new[0], trusted)
    cluster.node(1, "start")
    w.times += 1
    w.tell(seconds=2)
    w.flush()
    wait_for(lambda: f"a reason that names it: {w.bridge.reasons()} {w.bridge.tail()}", 60,
             lambda: any("alert certificate unknown" in reason for reason in w.bridge.reasons()))
    # One after the other, as scripts do: for a while key and certificate are no pair.
    shutil.copy(new[0], held[0])
    wait_for(lambda: f"no pair is refused: {w.bridge.tail()}", 60, lambda: w.bridge.says('"reload_refused"'))
    shutil.copy(new[1], held[1])
    w.healed()
    w.finish(recovers=30)


def client_pair(directory, name):
    pair = directory / f"{name}.pem", directory / f"{name}.key"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-days", 30, "-out", pair[0],
             "-keyout", pair[1]]
    subprocess.run([str(word) for word in words], check=True, capture_output=True)
    return pair
