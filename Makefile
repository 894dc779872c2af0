# Few verbs. `make demo` and `make test` work on a fresh machine with only the Swift toolchain: each
# installs what it lacks. See CONTRIBUTING.md.

SHELL := /bin/bash
PREFIX ?= /usr/local
ARGS ?=
SEEDS ?= 10000
BUILD := .build
SWIFT_BUILD := swift build --build-path $(BUILD)
# Accessors of the JSON layer inline into the core: 4 % fewer instructions a record. Exclusive
# access is checked in every debug build, so in all tests, and not here: 4 % fewer again.
RELEASE := $(SWIFT_BUILD) -c release --static-swift-stdlib -Xswiftc -cross-module-optimization \
  -Xswiftc -enforce-exclusivity=unchecked

.PHONY: demo test build sim chaos chaos-build bench lint format docs install packaging-test clean \
  dependencies

demo: build
	@$(BUILD)/release/firebridge demo $(ARGS)

test: dependencies
	@deploy/test $(ARGS)

build: dependencies
	@$(RELEASE) --product firebridge

sim: dependencies
	@$(RELEASE) --product sim
	@$(BUILD)/release/sim --seeds $(SEEDS) $(ARGS)

chaos: chaos-build
	@Tests/chaos/run $(ARGS)

chaos-build: build
	@$(RELEASE) --product chaos-log

bench: build
	@$(RELEASE) --product bench
	@Benchmarks/run $(ARGS)

lint:
	@swift format lint --strict -r Sources Tests Package.swift

format:
	@swift format -i -r Sources Tests Package.swift

docs:
	@mkdir -p $(BUILD)/docs
	@swift package --build-path $(BUILD) dump-symbol-graph --minimum-access-level public >/dev/null
	@docc convert --fallback-display-name firebridge --fallback-bundle-identifier firebridge \
	  --additional-symbol-graph-dir $$(find $(BUILD) -type d -name symbolgraph | head -n 1) \
	  --output-path $(BUILD)/docs/firebridge.doccarchive
	@echo "$(BUILD)/docs/firebridge.doccarchive"

# Of what `make build` has made; a configuration that is there stays as it is.
install: $(BUILD)/release/firebridge
	install -D -m 755 $(BUILD)/release/firebridge $(DESTDIR)$(PREFIX)/bin/firebridge
	install -D -m 644 Config/database.rules.json \
	  $(DESTDIR)$(PREFIX)/share/firebridge/database.rules.json
	install -D -m 644 Config/firebridge.schema.json $(DESTDIR)$(PREFIX)/share/firebridge/firebridge.schema.json
	install -D -m 644 man/firebridge.8 $(DESTDIR)$(PREFIX)/share/man/man8/firebridge.8
	install -D -m 644 man/firebridge.yaml.5 $(DESTDIR)$(PREFIX)/share/man/man5/firebridge.yaml.5
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local/|$(PREFIX)/|' deploy/systemd/firebridge.service \
	  > $(DESTDIR)$(PREFIX)/lib/systemd/system/firebridge.service
	test -e $(DESTDIR)/etc/firebridge/firebridge.yaml || \
	  install -D -m 644 Config/firebridge.yaml $(DESTDIR)/etc/firebridge/firebridge.yaml

$(BUILD)/release/firebridge:
	@$(MAKE) --no-print-directory build

# The service under a real systemd, and the image in a real container; as root, some minutes.
packaging-test: build
	@Tests/packaging/static
	@Tests/packaging/documents
	@Tests/packaging/systemd
	@Tests/packaging/container
	@Tests/packaging/compose

clean:
	rm -rf $(BUILD)

dependencies:
	@deploy/dependencies
