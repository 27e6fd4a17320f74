// swift-tools-version: 6.1
// The map of the house. Arrows point down: a target imports only what stands in its own line.
// Rings by effect: values, pure decisions, the wire, ports, actors, adapters, programs.

import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// One room of the house: a Swift target under the house rules.
func room(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

func system(_ name: String, pkgConfig: String, apt: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])])
}

/// Values and pure decisions: no async, no I/O.
let pure: [Target] = [
  room("AgentModel"),  // parsed values: AccountID, Partition, Scope, Generation, Epoch, Timestamp
  room("AgentCore", ["AgentModel", "JSONRPC"]),  // machines: TokenMachine, FailureClassifier, TrustedTime, Backoff
  room("JSONRPC"),  // line framing, strict JSON scanner and writer, envelope
  room("Secrets", ["CSodium"]),  // secret bytes on guarded memory, seal and open, key derivation
]

/// The contract, generated from Schemas/.
let contract: [Target] = [
  room("AgentProtocol", ["AgentModel", "JSONRPC", "Secrets"]),  // wire types of every method and event, error codes
  room("SchemaKit", ["CSodium", "JSONRPC"]),  // the schema dialect: parse, validate, compare, render
  program("lanyard-schemas", ["SchemaKit"]),  // the generator: Swift, OpenRPC, Python, reference docs
]

/// The agent: actors and handlers over ports.
let agent: [Target] = [
  room("AgentPorts", ["AgentModel", "JSONRPC", "Secrets"]),  // what the agent needs from outside
  room("Agent", ["AgentCore", "AgentModel", "AgentPorts", "AgentProtocol", "JSONRPC", "Secrets"]),
]

/// One outside thing each.
let adapters: [Target] = [
  room("DBus", ["AgentModel", "CBus"]),  // connections, calls and signals of a message bus
  room("HTTPAdapter", ["AgentModel", "AgentPorts", "CCurl", "Secrets"]),  // HTTPExchange on libcurl
  room("KeyProviders", ["AgentModel", "AgentPorts", "CPlatform", "CVerify", "DBus", "Secrets"]),  // key slots, anchors
  room("LoopbackHTTP", ["CPlatform"]),  // a small HTTP/1.1 listener on loopback
  room("SQLiteStore", ["AgentModel", "AgentPorts", "CPlatform", "CSQLite"]),  // Store on SQLite
  room("SystemAdapters", ["AgentModel", "AgentPorts", "CPlatform", "DBus", "LoopbackHTTP", "Secrets"]),  // clock
  room("TokenSignatures", ["AgentModel", "AgentPorts", "CVerify", "Secrets"]),  // signatures of tokens, by OpenSSL
  room("UnixTransport", ["AgentCore", "AgentModel", "AgentPorts", "CPlatform", "JSONRPC"]),  // socket, stdio
]

/// For the demo, the tests and client authors.
let practice: [Target] = [
  room("StorageFaults", ["CFaultVFS"]),  // disks that fail, fill up and die on demand
  room("PracticeProvider", ["COpenSSL", "LoopbackHTTP"]),  // an OpenID provider on loopback that can misbehave
  room(
    "AgentSimulation",
    [
      "Agent", "AgentModel", "AgentPorts", "JSONRPC", "LoopbackHTTP", "PracticeProvider", "SQLiteStore", "Secrets",
      "StorageFaults", "TokenSignatures",
    ]
  ),  // seeded executor, virtual clocks, fault plans over the real store
  room(
    "TranscriptHarness",
    [
      "Agent", "AgentModel", "AgentPorts", "AgentSimulation", "CPlatform", "JSONRPC", "LoopbackHTTP",
      "PracticeProvider", "SchemaKit", "StorageFaults", "UnixTransport",
    ]
  ),  // plays Tests/Transcripts on every transport
]

let programs: [Target] = [
  program(
    "lanyard-agent",
    [
      "Agent", "AgentModel", "AgentPorts", "CHeap", "CPlatform", "DBus", "HTTPAdapter", "KeyProviders", "SQLiteStore",
      "Secrets", "SystemAdapters", "TokenSignatures", "UnixTransport",
    ]
  ),  // wiring only
  room("CommandSupport", ["CPlatform", "JSONRPC"]),  // what both programs of a person share: the agent, the words
  .executableTarget(
    name: "lanyard", dependencies: ["CommandSupport"], swiftSettings: strict,
    linkerSettings: [.unsafeFlags(["-static-executable"])]
  ),  // `token` by hand, fast; everything else is lanyard-cli
  .executableTarget(
    name: "lanyard-cli",
    dependencies: ["CommandSupport", "JSONRPC", .product(name: "ArgumentParser", package: "swift-argument-parser")],
    swiftSettings: strict,
    linkerSettings: [
      // No part of Swift need be installed where it runs; ArgumentParser brings FoundationEssentials, and that these.
      .unsafeFlags(["-static-stdlib", "-l_FoundationCollections", "-l_FoundationCShims", "-lswiftSynchronization"])
    ]
  ),  // argument parsing and one call
  program("lanyard-demo", ["CPlatform", "PracticeProvider"]),  // the practice provider by itself, and the demo
]

let foreign: [Target] = [
  system("CSodium", pkgConfig: "libsodium", apt: "libsodium-dev"),
  system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
  system("COpenSSL", pkgConfig: "libcrypto", apt: "libssl-dev"),
  .target(name: "CBus"),  // sd-bus, opened when the first connection needs it (Sources/CBus/README.md)
  .target(name: "CCurl"),  // libcurl, opened when the first exchange needs it (Sources/CCurl/README.md)
  .target(name: "CHeap"),  // the agent's heap wipes what it frees
  .target(name: "CVerify"),  // libcrypto, opened when it is first needed: signatures, and a key agreed upon
  .target(name: "CPlatform"),  // what `import Glibc` does not reach
  .target(name: "CFaultVFS", dependencies: ["CSQLite"]),  // an SQLite file system that fails and dies on demand
]

let checks: [Target] = [
  tests("AgentCoreTests", ["AgentCore", "AgentModel", "JSONRPC"]),
  tests(
    "AgentTests",
    [
      "Agent", "AgentCore", "AgentModel", "AgentPorts", "AgentProtocol", "AgentSimulation", "JSONRPC",
      "PracticeProvider", "SQLiteStore", "SchemaKit", "Secrets", "StorageFaults", "TokenSignatures",
    ]
  ),
  tests(
    "HTTPAdapterTests",
    ["AgentCore", "AgentModel", "AgentPorts", "HTTPAdapter", "JSONRPC", "Secrets", "TokenSignatures"]
  ),
  tests("JSONRPCTests", ["JSONRPC"]),
  tests("PracticeProviderTests", ["PracticeProvider", "LoopbackHTTP"]),
  tests("SchemaTests", ["AgentCore", "AgentModel", "AgentProtocol", "JSONRPC", "SchemaKit", "Secrets"]),
  tests("SecretsTests", ["Secrets"]),
  tests(
    "SimulationTests",
    ["AgentModel", "AgentPorts", "AgentSimulation", "LoopbackHTTP", "PracticeProvider", "StorageFaults"],
    exclude: ["Scenarios/README.md"]
  ),
  tests("SQLiteStoreTests", ["SQLiteStore", "StorageFaults", "AgentPorts", "AgentModel", "CSQLite", "Secrets"]),
  tests("SystemTests", ["SystemAdapters", "DBus", "KeyProviders", "AgentPorts", "AgentModel", "CPlatform", "Secrets"]),
  tests("TranscriptTests", ["SchemaKit", "TranscriptHarness"]),
  tests(
    "TransportTests",
    [
      "Agent", "AgentModel", "AgentPorts", "AgentProtocol", "CPlatform", "JSONRPC", "KeyProviders", "Secrets",
      "SQLiteStore", "SystemAdapters", "UnixTransport",
    ]
  ),
]

let package = Package(
  name: "lanyard",
  products: [
    .executable(name: "lanyard", targets: ["lanyard"]),
    .executable(name: "lanyard-cli", targets: ["lanyard-cli"]),
    .executable(name: "lanyard-agent", targets: ["lanyard-agent"]),
    .executable(name: "lanyard-demo", targets: ["lanyard-demo"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
  ],
  targets: pure + contract + agent + adapters + practice + programs + foreign + checks
)
