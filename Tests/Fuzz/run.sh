#!/bin/sh
# Fuzzes the line scanner: Tests/Fuzz/run.sh [SECONDS]   (60 without an argument)
# Exits 0 with a message where the toolchain has no fuzzer; otherwise 0 only if nothing was found.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
seconds=${1:-60}
build=${LANYARD_FUZZ_BUILD:-$root/.build/fuzz}
mkdir -p "$build/found"

printf '@_cdecl("LLVMFuzzerTestOneInput") public func f(_ s: UnsafePointer<UInt8>?, _ n: Int) -> CInt { 0 }\n' \
  >"$build/probe.swift"
if ! swiftc -sanitize=fuzzer,address -parse-as-library "$build/probe.swift" -o "$build/probe" >"$build/probe.log" 2>&1
then
  echo "fuzz: this toolchain has no fuzzer runtime; nothing was run. See $build/probe.log"
  exit 0
fi

swiftc -O -enforce-exclusivity=checked -sanitize=fuzzer,address -parse-as-library -swift-version 6 \
  -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault \
  -enable-upcoming-feature MemberImportVisibility -module-name ScannerFuzz \
  "$root"/Sources/JSONRPC/*.swift "$here/Driver.swift" -o "$build/scanner" >"$build/compile.log" 2>&1 \
  || { cat "$build/compile.log"; exit 1; }

# Seeds: the small corpus kept here, and every line that the golden transcripts send or expect.
seeds="$build/seeds"
rm -rf "$seeds" && mkdir -p "$seeds"
cp "$here"/corpus/* "$seeds/"
if [ -d "$root/Tests/Transcripts" ]; then
  find "$root/Tests/Transcripts" -name '*.transcript' -exec cat {} + \
    | sed -n 's/^[a-z0-9]*[<>]~\{0,1\} \([{[].*\)$/\1/p' | sort -u \
    | awk -v to="$seeds" '{ file = to "/line" NR; print > file; close(file) }'
fi

# The Swift runtime keeps what it allocates, so leaks are not looked for.
cd "$build"
if ! ASAN_OPTIONS=detect_leaks=0 "$build/scanner" "$build/found" "$seeds" -dict="$here/json.dict" -max_len=512 \
  -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$build/crash-" -verbosity=0 -timeout=5 \
  ${LANYARD_FUZZ_ARGS:-} >"$build/log" 2>&1
then
  tail -40 "$build/log"
  echo "fuzz: found something; the input is in $build/crash-*"
  exit 1
fi
grep number_of_executed_units "$build/log"
echo "fuzz: nothing found in $seconds s"
