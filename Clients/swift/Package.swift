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

let package = Package(
  name: "lanyard-swift",
  platforms: [.macOS(.v15)],
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
    .executableTarget(
      name: "lanyard-examples", dependencies: ["LanyardClient", "LanyardHTTP"], path: "examples",
      swiftSettings: strict),
    .testTarget(
      name: "LanyardClientTests", dependencies: ["CLanyardClient", "LanyardClient", "LanyardHTTP"],
      swiftSettings: strict),
  ]
)
