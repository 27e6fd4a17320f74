// swift-tools-version: 6.1
// The map of the house: a ring a folder of `Sources`. A target imports only what stands in its own line: `make lint`.
// Rings by effect: values and pure decisions, the wire, the agent, adapters, programs (docs/architecture.md).

import PackageDescription

/// The Makefile asks in a release for what a try can do without: packed relocations, static-pie, functions in their order.
let isRelease = Context.environment["LANYARD_STATIC_PIE"] != nil

let strict: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + (isRelease ? [.unsafeFlags(["-Xfrontend", "-function-sections"])] : [])

/// What a release compiles a target for. `swift build` alone builds for a debugger and for the next try: nothing is optimised,
/// and only what changed is compiled.
enum Release {
  /// What others call many times for each request.
  case fast
  /// Most of the agent's own modules: a fifth less of the compiler's time (docs/decisions/0036-the-agent-is-seven-modules.md).
  case small
  /// What runs for milliseconds, seldom, or is not installed: the command line, the wire types, the agent's upkeep, the pages,
  /// tests, what reads schemas (docs/decisions/0034-the-release-is-what-is-tested.md).
  case unoptimized

  var settings: [SwiftSetting] {
    switch self {
    case .fast: []
    case .small: [.unsafeFlags(["-Osize"], .when(configuration: .release))]
    case .unoptimized: [.unsafeFlags(["-Onone"], .when(configuration: .release))]
    }
  }
}

/// A type is made by a call with its parts and their conformances, and not from a name that the runtime has to read and to look
/// up (docs/decisions/0037-a-start-looks-little-up.md).
let directTypes: [SwiftSetting] = [
  .unsafeFlags(
    ["-Xfrontend", "-disable-concrete-type-metadata-mangled-name-accessors"], .when(configuration: .release))
]

/// A target under the house rules. Its folder is `Sources/RING/NAME`.
func module(
  _ name: String, in ring: String, _ dependencies: [Target.Dependency] = [], release: Release = .fast
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(ring)/\(name)",
    swiftSettings: strict + directTypes + release.settings)
}

/// A folder that holds the C++ library for linking it in, and nothing else. Swift's runtime is written in C++: of all that
/// the dynamic linker looks up at a start, four fifths are names of that library
/// (docs/decisions/0033-the-cpp-library-is-linked-in.md). The Makefile names it in a release.
let cxxLibrary: [String] = Context.environment["LANYARD_STATIC_CXX"].map { ["-L", $0] } ?? []

/// Every symbol is bound at the start and the table is then read-only (full RELRO), so that no write can redirect a call.
/// By the toolchain's own linker, the same everywhere: where there is no gold, as in Debian 13, Swift takes GNU ld, which
/// leaves the table, and the constants, writable.
let bound: [LinkerSetting] = [
  .unsafeFlags(
    cxxLibrary + ["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now"])
]

/// `lanyard` as static-pie: at another address each time. It takes `--disable-local-rpath`: with a RUNPATH, glibc ends a
/// static-pie at its start. The relocations of a start are packed: they take 4 KB instead of 490.
let staticPIE = ["-Xclang-linker", "-static-pie", "-Xlinker", "--pack-dyn-relocs=relr"]

/// A start reads less: the program's names are not offered to libraries, since the runtime would look through them. In a release
/// the relocations are packed, and the compiler's library is linked in.
let quickStart: [LinkerSetting] = [
  .unsafeFlags(
    ["-Xlinker", "--no-export-dynamic"]
      + (isRelease
        ? ["-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xclang-linker", "-static-libgcc"]
        : []))
]

/// Swift's runtime is linked into a program, so that an installed one needs no toolchain. Tests share the toolchain's, and
/// so this is said for each program and not by `--static-swift-stdlib`.
let staticRuntime: [LinkerSetting] = [.unsafeFlags(["-static-stdlib"])]

/// The functions that requests call lie together in the agent (docs/decisions/0038-what-requests-call-lies-together.md).
let hotFunctionsTogether: [LinkerSetting] =
  isRelease
  ? [
    .unsafeFlags([
      "-Xlinker", "--no-warn-symbol-ordering", "-Xlinker",
      "--symbol-ordering-file=\(Context.packageDirectory)/.packaging/hot-functions",
    ])
  ] : []

/// For a program that imports Foundation: what it stands on is not named by itself.
let staticFoundation: [LinkerSetting] =
  staticRuntime + [
    .unsafeFlags([
      "-lCoreFoundation", "-l_FoundationICU", "-l_FoundationCollections", "-l_FoundationCShims",
      "-lswiftSynchronization", "-lstdc++",
    ])
  ]

/// A program of `Sources/Programs`.
func program(
  _ name: String, _ dependencies: [Target.Dependency], linker: [LinkerSetting] = staticRuntime,
  release: Release = .fast
) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Sources/Programs/\(name)",
    swiftSettings: strict + directTypes + release.settings, linkerSettings: bound + linker)
}

/// Tests stand in the ring of what they test.
func tests(_ name: String, in ring: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(
    name: name, dependencies: dependencies, path: "Tests/\(ring)/\(name)", exclude: exclude,
    swiftSettings: strict + Release.unoptimized.settings)
}

/// A library of the system that the linker binds.
func system(_ name: String, pkgConfig: String, apt: String) -> Target {
  .systemLibrary(name: name, path: "Sources/Foreign/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

/// C of our own: shims over what Swift does not reach.
func shim(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, path: "Sources/Foreign/\(name)")
}

/// Values and pure decisions: no async, no I/O.
let domain: [Target] = [
  module("AgentModel", in: "Domain"),  // parsed values: AccountID, Partition, Scope, Generation, Epoch; FailureKind
  module("AgentCore", in: "Domain", ["AgentModel", "JSONRPC"]),  // machines: TokenMachine, FailureClassifier, …
  module("ProxyCore", in: "Domain", ["AgentCore", "AgentModel", "Secrets"]),  // heads, bodies and fields of a forward proxy
  module("Secrets", in: "Domain", ["CSodium"]),  // secret bytes on guarded memory, seal and open, key derivation
]

/// The wire and the contract; what is generated comes from Schemas/.
let wire: [Target] = [
  module("JSONRPC", in: "Protocol"),  // line framing, strict JSON scanner and writer, envelope
  module("AgentProtocol", in: "Protocol", ["AgentModel", "JSONRPC", "Secrets"], release: .unoptimized),  // wire types
  // the schema dialect: parse, validate, compare, render
  module("SchemaKit", in: "Protocol", ["CSodium", "JSONRPC"]),
]

/// The agent: actors and handlers over ports.
let agent: [Target] = [
  module("AgentPorts", in: "Agent", ["AgentModel", "JSONRPC", "Secrets"]),  // what the agent needs from outside
  module("SecretJSON", in: "Agent", ["AgentModel", "JSONRPC", "Secrets"]),  // JSON whose secrets stay in guarded memory
  module(
    "AgentVault", in: "Agent", ["AgentCore", "AgentModel", "AgentPorts", "JSONRPC", "SecretJSON", "Secrets"]
  ),  // sealed records, key slots, ledger, rotation, locked inbox, backup format; fails with VaultFailure only
  module(
    "AgentOAuth", in: "Agent", ["AgentCore", "AgentModel", "AgentPorts", "JSONRPC", "SecretJSON", "Secrets"]
  ),  // provider client, metadata, responses, identity proof, client authentication; a typed failure each
  module(
    "AgentStore", in: "Agent",
    [
      "AgentCore", "AgentModel", "AgentOAuth", "AgentPorts", "AgentVault", "JSONRPC", "SecretJSON", "Secrets",
    ],
    release: .small
  ),  // the one owner of the store: opening, locking, transactions, change sets, what features keep and publish; failures
  module(
    "AgentRecords", in: "Agent",
    [
      "AgentCore", "AgentModel", "AgentOAuth", "AgentPorts", "AgentStore", "AgentVault", "JSONRPC", "SecretJSON",
      "Secrets",
    ],
    release: .small
  ),  // what is kept of accounts and providers: records, tables in memory, change sets; it sends no request
  module(
    "AgentPermissions", in: "Agent",
    [
      "AgentCore", "AgentModel", "AgentOAuth", "AgentPorts", "AgentRecords", "AgentStore", "AgentVault", "JSONRPC",
      "SecretJSON", "Secrets",
    ],
    release: .small
  ),  // what is allowed: policies, grants of callers, budgets, approvals, step-up, the audit of decisions
  module(
    "AgentWire", in: "Agent",
    [
      "AgentCore", "AgentModel", "AgentOAuth", "AgentPermissions", "AgentPorts", "AgentProtocol", "AgentRecords",
      "AgentStore", "AgentVault", "JSONRPC", "Secrets",
    ],
    release: .small
  ),  // the agent's values and failures as the contract has them
  module(
    "AgentSessions", in: "Agent",
    [
      "AgentCore", "AgentModel", "AgentOAuth", "AgentPorts", "AgentRecords", "AgentStore", "AgentVault", "Secrets",
    ],
    release: .small
  ),  // accounts at work: exchange, sign-out, revocation, identity, rights, roles, connectivity
  module(
    "AgentSignIn", in: "Agent",
    [
      "AgentCore", "AgentModel", "AgentOAuth", "AgentPorts", "AgentRecords", "AgentSessions", "AgentStore", "AgentVault",
      "JSONRPC", "Secrets",
    ],
    release: .small
  ),  // how accounts and providers come: sign-in, import, keys, machines, the setup of providers
  module(
    "AgentDecisions", in: "Agent",
    [
      "AgentCore", "AgentModel", "AgentOAuth", "AgentPermissions", "AgentPorts", "AgentRecords", "AgentSessions",
      "AgentStore", "AgentVault", "JSONRPC", "Secrets",
    ]
  ),  // decides about requests and operations, and performs them
  module(
    "AgentUpkeep", in: "Agent",
    [
      "AgentCore", "AgentDecisions", "AgentModel", "AgentOAuth", "AgentPermissions", "AgentPorts", "AgentRecords",
      "AgentSessions", "AgentSignIn", "AgentStore", "AgentVault", "JSONRPC", "SecretJSON", "Secrets",
    ],
    release: .unoptimized
  ),  // backup, key slots, diagnosis, the administrator's files
  module(
    "Agent", in: "Agent",
    [
      "AgentCore", "AgentDecisions", "AgentModel", "AgentOAuth", "AgentPermissions", "AgentPorts", "AgentRecords",
      "AgentSessions", "AgentSignIn", "AgentStore", "AgentUpkeep", "AgentVault", "JSONRPC", "Secrets",
    ]
  ),  // `AgentService` wires them: start, locking, shutdown, signals of the machine
  module(
    "AgentServing", in: "Agent",
    [
      "Agent", "AgentCore", "AgentDecisions", "AgentModel", "AgentOAuth", "AgentPermissions", "AgentPorts",
      "AgentProtocol", "AgentRecords", "AgentSessions", "AgentSignIn", "AgentStore", "AgentUpkeep", "AgentVault",
      "AgentWire", "JSONRPC", "SecretJSON", "Secrets",
    ]
  ),  // connections, method table, handlers
]

/// One outside thing each.
let adapters: [Target] = [
  // what libcurl does with a request, for the agent and for programs beside it
  module("CurlTransfers", in: "Adapters", ["AgentModel", "CCurl"]),
  module("DBus", in: "Adapters", ["AgentModel", "CBus"]),  // connections, calls and signals of a message bus
  module("DirectoryFiles", in: "Adapters", ["FileRules", "JSONRPC"]),  // `.lanyard` files, and the trust in them
  module("FileRules", in: "Adapters"),  // what must hold of a file before a program relies on it
  module(
    "HTTPAdapter", in: "Adapters",
    ["AgentModel", "AgentPorts", "CCurl", "CurlTransfers", "Secrets", "Threads"]
  ),  // HTTPExchange on libcurl
  module(
    "KeyProviders", in: "Adapters",
    ["AgentModel", "AgentPorts", "CPlatform", "CVerify", "DBus", "FileRules", "Secrets", "Threads"]
  ),  // key slots, anchors
  module("LoopbackHTTP", in: "Adapters", ["CPlatform", "Threads"]),  // a small HTTP/1.1 listener on loopback
  module(
    "SQLiteStore", in: "Adapters", ["AgentModel", "AgentPorts", "CPlatform", "CSQLite", "FileRules"]
  ),  // Store on SQLite
  module(
    "SystemAdapters", in: "Adapters",
    [
      "AgentModel", "AgentPorts", "CConfinement", "CPlatform", "DBus", "DirectoryFiles", "FileRules", "LoopbackHTTP",
      "Secrets", "Threads", "WatchedFiles",
    ]
  ),  // clock, entropy, browser, prompts, signals of the machine
  module(
    "StreamingHTTP", in: "Adapters", ["AgentModel", "CCurl", "CPlatform", "CurlTransfers", "Threads"]
  ),  // blocking requests whose bodies stream
  module("TLSServing", in: "Adapters", ["CTLSServer"]),  // TLS that ends at an authority of this run
  module("Threads", in: "Adapters", ["CPlatform"]),  // starts every thread, and has each wipe its stack
  module("TokenSignatures", in: "Adapters", ["AgentModel", "AgentPorts", "CVerify", "Secrets"]),  // by OpenSSL
  module(
    "UnixTransport", in: "Adapters", ["AgentCore", "AgentModel", "AgentPorts", "CPlatform", "JSONRPC", "Threads"]
  ),  // socket, stdio
  // files that a process must not outlive: its program, the agent's socket
  module("WatchedFiles", in: "Adapters", ["AgentModel", "CPlatform", "Threads"]),
]

/// Libraries of the system, and C of our own.
let foreign: [Target] = [
  system("CSodium", pkgConfig: "libsodium", apt: "libsodium-dev"),
  system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
  system("COpenSSL", pkgConfig: "libcrypto", apt: "libssl-dev"),
  shim("CBus", ["CLibraries"]),  // sd-bus, opened when the first connection needs it (Sources/Foreign/CBus/README.md)
  shim("CConfinement"),  // Landlock, the filter of system calls, the broker
  shim("CCurl", ["CLibraries"]),  // libcurl, opened when the first exchange needs it (Sources/Foreign/CCurl/README.md)
  shim("CFaultVFS", ["CSQLite"]),  // an SQLite file system that fails and dies on demand
  shim("CHeap"),  // the agent's heap wipes what it frees
  shim("CLibraries"),  // opens libraries of the system by absolute path
  shim("CPlatform"),  // what `import Glibc` does not reach
  shim("CTLSServer", ["CLibraries"]),  // certificates and TLS of a server, by libssl, opened when a proxy needs it
  shim("CQRCode", ["CLibraries"]),  // libqrencode, opened when a code is drawn (Sources/Foreign/CQRCode/README.md)
  shim("CQuickToken", ["CPlatform"]),  // the first instructions of `lanyard`: `lanyard token NAME`
  // the first instructions of programs that send secrets: a clean environment, open standard descriptors
  shim("CStart"),
  shim("CVerify", ["CLibraries"]),  // libcrypto, opened when it is first needed: signatures, and a key agreed upon
]

/// For the demo, the tests and client authors.
let practice: [Target] = [
  module("StateWalks", in: "Practice", ["AgentCore", "AgentModel"]),  // drives machines through all their states
  module("StorageFaults", in: "Practice", ["CFaultVFS"]),  // disks that fail, fill up and die on demand
  // an OpenID provider that can misbehave
  module("PracticeProvider", in: "Practice", ["COpenSSL", "LoopbackHTTP"], release: .unoptimized),
  module(
    "AgentSimulation", in: "Practice",
    [
      "Agent", "AgentServing", "AgentSessions", "AgentModel", "AgentPorts", "JSONRPC", "LoopbackHTTP",
      "PracticeProvider", "SQLiteStore", "Secrets", "StorageFaults", "TokenSignatures",
    ]
  ),  // seeded executor, virtual clocks, fault plans over the real store
  // ten thousand agents and one provider: discrete events over the machines of AgentCore
  module("FleetSimulation", in: "Practice", ["AgentCore", "AgentModel"]),
  module(
    "TranscriptHarness", in: "Practice",
    [
      "AgentServing", "AgentModel", "AgentPorts", "AgentSimulation", "CPlatform", "JSONRPC", "LoopbackHTTP",
      "PracticeProvider", "SchemaKit", "StorageFaults", "Threads", "UnixTransport",
    ],
    release: .unoptimized
  ),  // plays Tests/Transcripts on every transport
]

let programs: [Target] = [
  module("AuditExport", in: "Programs", ["AgentModel", "JSONRPC"]),  // what `lanyard-export` decides, and its formats
  // what `lanyard` and `lanyard-cli` share
  module("CommandSupport", in: "Programs", ["CPlatform", "DirectoryFiles", "FileRules", "JSONRPC", "UsageWords"]),
  module("MetricsExposition", in: "Programs", ["JSONRPC"]),  // figures as OpenMetrics text, requests of scrapers
  module("MCPBridge", in: "Programs", ["AgentCore", "AgentModel", "JSONRPC"]),  // what `lanyard-mcp` decides
  // which request of a browser `lanyard-web` takes, and what it may ask the agent for
  module("PageGate", in: "Programs", ["LoopbackHTTP"]),
  module("UsageWords", in: "Programs"),  // what every program says of a mistake in its command line
  // the pages of `lanyard ui`: HTML, style, script, pictures, and what forms ask the agent for
  module("WebPages", in: "Programs", ["AgentModel", "JSONRPC"], release: .unoptimized),
  program(
    "lanyard-agent",
    [
      "Agent", "AgentCore", "AgentModel", "AgentPermissions", "AgentPorts", "AgentServing", "AgentSessions", "CHeap",
      "CPlatform", "CStart", "DBus", "FileRules", "HTTPAdapter", "JSONRPC", "KeyProviders", "SQLiteStore", "Secrets",
      "SystemAdapters", "TokenSignatures", "UnixTransport", "UsageWords", "WatchedFiles",
    ],
    linker: staticRuntime + quickStart + hotFunctionsTogether
  ),  // wiring only
  program(
    "lanyard", ["CQuickToken", "CommandSupport"],
    linker: [
      .unsafeFlags(["-static-executable"] + (isRelease ? staticPIE : []))
    ]
  ),  // `token`, the prompt and the plain `exec` by hand, fast; everything else is lanyard-cli
  program(
    "lanyard-cli",
    [
      "AgentCore", "AgentModel", "CConfinement", "CLibraries", "CPlatform", "CQRCode", "CommandSupport", "DBus",
      "DirectoryFiles", "FileRules", "JSONRPC", "LoopbackHTTP", "MetricsExposition", "Threads", "UsageWords", "WatchedFiles",
      .product(name: "ArgumentParser", package: "swift-argument-parser"),
    ],
    linker: staticRuntime + quickStart + [
      // ArgumentParser brings FoundationEssentials, and that these.
      .unsafeFlags(["-l_FoundationCollections", "-l_FoundationCShims", "-lswiftSynchronization"])
    ], release: .unoptimized
  ),  // argument parsing and one call
  program(
    "lanyard-export",
    [
      "AgentCore", "AgentModel", "AuditExport", "CPlatform", "CStart", "CommandSupport", "CurlTransfers", "FileRules",
      "JSONRPC", "Secrets", "StreamingHTTP", "Threads", "WatchedFiles",
    ]
  ),  // sends the audit log to journald, syslog and OTLP/HTTP
  program(
    "lanyard-mcp",
    [
      "AgentCore", "AgentModel", "CPlatform", "CStart", "CommandSupport", "CurlTransfers", "FileRules", "JSONRPC",
      "MCPBridge", "StreamingHTTP", "Threads", "UsageWords", "WatchedFiles",
    ]
  ),  // a server of MCP on stdio that is a remote one, or the agent's own tools
  program(
    "lanyard-proxy",
    [
      "AgentCore", "AgentModel", "CConfinement", "CHeap", "CPlatform", "CStart", "CommandSupport", "CurlTransfers",
      "FileRules", "JSONRPC", "LoopbackHTTP", "ProxyCore", "Secrets", "StreamingHTTP", "TLSServing", "Threads",
      "WatchedFiles",
    ]
  ),  // a forward proxy that puts tokens on the requests of a sandbox
  program(
    "lanyard-web",
    [
      "AgentModel", "CHeap", "CPlatform", "CommandSupport", "JSONRPC", "LoopbackHTTP", "PageGate", "SystemAdapters",
      "Threads", "WatchedFiles", "WebPages",
    ]
  ),  // serves the pages to browsers of this person
  program("lanyard-fleet", ["FleetSimulation"], linker: []),  // what a fleet does to its provider: figures and pictures
  // the practice provider by itself, and the demo
  program(
    "lanyard-demo", ["CPlatform", "PracticeProvider", "UsageWords", "WatchedFiles"], linker: staticFoundation, release: .unoptimized),
  program("lanyard-schemas", ["SchemaKit", "UsageWords"], linker: [], release: .unoptimized),  // the generator: Swift, the clients, OpenRPC, reference docs
]

/// The client for programs in Swift. It needs nothing of the agent; its tests and examples are in a package of its own,
/// `Clients/swift`, so that they build fast.
let client: [Target] = [
  .target(name: "CLanyardClient", path: "Clients/swift/Sources/CLanyardClient"),  // what `import Glibc` does not reach
  .target(
    name: "LanyardClient", dependencies: ["CLanyardClient"], path: "Clients/swift/Sources/LanyardClient",
    swiftSettings: strict),
  .target(
    name: "LanyardHTTP", dependencies: ["LanyardClient"], path: "Clients/swift/Sources/LanyardHTTP",
    swiftSettings: strict),  // requests with a token, by URLSession
]

let checks: [Target] = [
  tests("AgentCoreTests", in: "Domain", ["AgentCore", "AgentModel", "JSONRPC", "StateWalks"]),
  tests("ProxyCoreTests", in: "Domain", ["AgentCore", "AgentModel", "ProxyCore", "Secrets"]),
  tests("SecretsTests", in: "Domain", ["Secrets"]),
  tests("JSONRPCTests", in: "Protocol", ["JSONRPC"]),
  tests(
    "SchemaTests", in: "Protocol", ["AgentCore", "AgentModel", "AgentProtocol", "JSONRPC", "SchemaKit", "Secrets"]),
  tests(
    "AgentOAuthTests", in: "Agent",
    [
      "AgentOAuth", "AgentCore", "AgentModel", "AgentPorts", "AgentSimulation", "JSONRPC", "PracticeProvider",
      "SecretJSON", "Secrets", "TokenSignatures",
    ]
  ),
  tests(
    "AgentTests", in: "Agent",
    [
      "Agent", "AgentRecords", "AgentSessions", "AgentPermissions", "AgentDecisions", "AgentUpkeep", "AgentServing",
      "AgentStore", "AgentWire",
      "AgentVault", "AgentOAuth", "AgentCore", "AgentModel", "AgentPorts", "AgentProtocol", "AgentSimulation",
      "JSONRPC", "SecretJSON",
      "PracticeProvider", "SQLiteStore", "SchemaKit", "Secrets", "StorageFaults", "TokenSignatures",
    ]
  ),
  tests(
    "HTTPAdapterTests", in: "Adapters",
    [
      "AgentCore", "AgentModel", "AgentPorts", "CurlTransfers", "HTTPAdapter", "JSONRPC", "Secrets", "StreamingHTTP",
      "Threads",
      "TokenSignatures",
    ]
  ),
  tests(
    "SQLiteStoreTests", in: "Adapters",
    ["SQLiteStore", "StorageFaults", "AgentPorts", "AgentModel", "CSQLite", "Secrets"]),
  tests(
    "SystemTests", in: "Adapters",
    [
      "SystemAdapters", "DBus", "DirectoryFiles", "FileRules", "KeyProviders", "AgentPorts", "AgentModel",
      "CConfinement", "CPlatform", "Secrets", "Threads", "WatchedFiles",
    ]),
  tests("TLSServingTests", in: "Adapters", ["TLSServing"]),
  tests(
    "TransportTests", in: "Adapters",
    [
      "AgentRecords", "AgentServing", "AgentSessions", "AgentModel", "AgentPorts", "AgentStore", "CPlatform", "JSONRPC",
      "KeyProviders", "SQLiteStore", "Secrets", "SystemAdapters", "UnixTransport",
    ]
  ),
  tests("AuditExportTests", in: "Programs", ["AgentModel", "AuditExport", "JSONRPC"]),
  tests("MetricsExpositionTests", in: "Programs", ["JSONRPC", "MetricsExposition"]),
  tests("MCPBridgeTests", in: "Programs", ["AgentCore", "AgentModel", "JSONRPC", "MCPBridge"]),
  tests("PageGateTests", in: "Programs", ["LoopbackHTTP", "PageGate"]),
  tests("WebPagesTests", in: "Programs", ["AgentModel", "JSONRPC", "WebPages"]),
  tests("FleetTests", in: "Practice", ["FleetSimulation"]),
  tests("PracticeProviderTests", in: "Practice", ["COpenSSL", "LoopbackHTTP", "PracticeProvider"]),
  tests(
    "SimulationTests", in: "Practice",
    [
      "Agent", "AgentModel", "AgentPorts", "AgentSimulation", "LoopbackHTTP", "PracticeProvider", "StorageFaults",
    ],
    exclude: ["Scenarios/README.md"]
  ),
  tests("TranscriptTests", in: "Practice", ["SchemaKit", "TranscriptHarness"]),
]

/// `LANYARD_BUILD=programs` leaves out what no person's program needs, for `make release`; `demo` also what the demo does not
/// show; `tests` only the client's library, which has tests in a package of its own. Planning and building take less.
let build = Context.environment["LANYARD_BUILD"]
let isForPersons = build == "programs" || build == "demo"
let besidesDemo = [
  "AuditExport", "CTLSServer", "MCPBridge", "PageGate", "ProxyCore", "StreamingHTTP", "TLSServing", "WebPages",
  "lanyard-export", "lanyard-mcp", "lanyard-proxy", "lanyard-web",
]
let ofDevelopers =
  [
    "AgentSimulation", "CFaultVFS", "FleetSimulation", "SchemaKit", "StateWalks", "StorageFaults", "TranscriptHarness",
    "lanyard-fleet", "lanyard-schemas",
  ]
let leftOut =
  (isForPersons ? ofDevelopers : []) + (build == "demo" ? besidesDemo : []) + (build == nil ? [] : client.map(\.name))
let targets = domain + wire + agent + adapters + foreign + practice + programs + client

/// What programs may depend on.
let libraries: [Product] = [
  .library(name: "LanyardClient", targets: ["LanyardClient"]),
  .library(name: "LanyardHTTP", targets: ["LanyardHTTP"]),
]

/// The programs that are installed.
let installed = [
  "lanyard", "lanyard-cli", "lanyard-agent", "lanyard-demo", "lanyard-export", "lanyard-mcp", "lanyard-proxy",
  "lanyard-web",
].filter { !leftOut.contains($0) }

let package = Package(
  name: "lanyard",
  products: installed.map { .executable(name: $0, targets: [$0]) } + (build == nil ? libraries : []),
  dependencies: [
    // Exact, since no Package.resolved is in git: a commit always has the same bytes.
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2")
  ],
  targets: targets.filter { !leftOut.contains($0.name) } + (isForPersons ? [] : checks)
)
