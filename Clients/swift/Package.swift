// swift-tools-version: 6.1
// The Swift client by itself, with its tests and its conformance driver. Programs may depend on this package, or on the
// product `LanyardClient` of the repository's root.

import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// One program for each example of the README.
let examples = ["token", "errors", "events", "http", "sign-in"]

let package = Package(
  name: "lanyard-swift",
  platforms: [.macOS(.v13)],
  products: [
    .library(name: "LanyardClient", targets: ["LanyardClient"]),
    .library(name: "LanyardHTTP", targets: ["LanyardHTTP"]),
  ],
  targets: [
    .target(name: "CLanyardClient"),  // what `import Glibc` does not reach
    .target(name: "LanyardClient", dependencies: ["CLanyardClient"], swiftSettings: strict),
    .target(name: "LanyardHTTP", dependencies: ["LanyardClient"], swiftSettings: strict),  // URLSession
    .executableTarget(
      name: "lanyard-conformance", dependencies: ["LanyardClient", "LanyardHTTP"], path: "conformance/Driver",
      swiftSettings: strict),
    .testTarget(
      name: "LanyardClientTests",
      dependencies: ["LanyardClient", "LanyardHTTP"] + examples.map { .target(name: "example-\($0)") },
      exclude: ["real_agent.py"], swiftSettings: strict),
  ]
    + examples.map { example in
      .executableTarget(
        name: "example-\(example)", dependencies: ["LanyardClient", "LanyardHTTP"], path: "examples/\(example)",
        swiftSettings: [.swiftLanguageMode(.v6)])
    }
)
