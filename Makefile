# make demo and make test are all that is needed; the other targets are slower suites with tools of their own.
.PHONY: demo test lint docs bench fuzz hostile interop

CARGO ?= cargo

demo: ## build tess and walk through a sample of each format
	$(CARGO) run --release --quiet -p tess -- demo target/demo --force

test: lint docs ## every check and every test
	$(CARGO) test --workspace --quiet

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

bench: ## side by side with the original engines: benches/compare/README.md
	benches/compare/run.sh

fuzz: ## FUZZ_SECONDS per target, needs cargo-fuzz: fuzz/README.md
	fuzz/run.sh

hostile: ## every small golden file cut at every offset and flipped ten thousand times, in an optimised build
	$(CARGO) test --release -p tesselle-tet --test corrupt -- --ignored

interop: ## live round trips with the original engines: interop/README.md
	interop/run.sh
