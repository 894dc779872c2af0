"""Reads deploy/container/compose.yaml and checks what can be checked without images: its services
lead to one another, those of firebridge are confined, and their commands are accepted."""

import subprocess
import sys

import yaml

firebridge, work = sys.argv[1:3]
with open("deploy/container/compose.yaml") as file:
    services = yaml.safe_load(file)["services"]
with open("Config/firebridge.yaml") as file:
    configuration = yaml.safe_load(file)

for name, service in services.items():
    for other, how in service.get("depends_on", {}).items():
        assert other in services, f"{name} waits for {other}, which is not there"
        if how["condition"] == "service_healthy":
            test = services[other]["healthcheck"]["test"]
            assert test[0] == "CMD", f"{other}: its health check needs a shell"
    if service["image"] == "firebridge":
        assert service["read_only"] and service["cap_drop"] == ["ALL"], f"{name} is not confined"

# The topics that are created are those that are asked for.
wanted = [mapping["topic"] for mapping in configuration["mappings"]]
wanted.append(configuration["delivery"]["dead_letter_topic"])
created = services["topics"]["command"][0]
assert all(topic in created for topic in wanted), f"expected {wanted} to be created"
assert "retention.ms=-1" in created, "dead letters of old records would be removed at once"

# The bridge's command, as `check` takes it, with the file of this repository.
command = list(services["bridge"]["command"])
command[0] = "check"
command[command.index("--config") + 1] = "Config/firebridge.yaml"
checked = subprocess.run([firebridge, *command], capture_output=True, text=True)
assert checked.returncode == 0, checked.stderr
effective = yaml.safe_load(checked.stdout.partition("\n")[2])
brokers = effective["kafka"]["brokers"]
listeners = services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
assert f"://{brokers[0]}" in listeners, f"Kafka does not tell of {brokers}"
assert effective["database"]["url"].startswith("http://tree:9000/"), effective["database"]["url"]
grace = services["bridge"]["stop_grace_period"]
assert int(grace.rstrip("s")) > int(str(effective["delivery"]["drain"]).rstrip("s")), grace
