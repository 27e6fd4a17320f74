import Foundation
import SchemaKit
import Testing
import TranscriptHarness

/// Every transcript holds on every transport and with every chunking.
///
///     LANYARD_UPDATE_TRANSCRIPTS=1 swift test --filter TranscriptTests
///
/// rewrites the expectations that do not hold, for review with `git diff`; `LANYARD_TRANSCRIPT=token/` plays only
/// those whose name contains it, and `LANYARD_TRANSCRIPT_COMBINATIONS=3` each in three of the nine ways.
@Suite struct TranscriptTests {
  @Test(arguments: Library.names)
  func transcript_holdsOnEveryTransport(_ name: String) throws {
    let transcript = try Library.transcript(name)
    if Library.isUpdating {
      let player = try Player(
        transcript, contract: Library.contract.get(), transport: .inProcess, chunking: .whole, updating: true)
      if let text = try player.play() { try Library.write(text, to: name) }
      return
    }
    // Each combination has its own schedule: a script must hold in any order of tasks.
    for (seed, transport, chunking) in Library.combinations(of: name) {
      do {
        try Player(
          transcript, contract: Library.contract.get(), transport: transport, chunking: chunking, seed: seed
        ).play()
      } catch {
        Issue.record("\(transport.rawValue), \(chunking.rawValue), seed \(seed): \(error)")
        return
      }
    }
  }
}

/// The transcripts in the repository.
enum Library {
  static let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  static let folder = top.appending(path: "Tests/Transcripts")
  static let isUpdating = ProcessInfo.processInfo.environment["LANYARD_UPDATE_TRANSCRIPTS"] == "1"
  /// The seed of the first of nine schedules: `LANYARD_TRANSCRIPT_SEED=1000` plays others.
  static let seed = ProcessInfo.processInfo.environment["LANYARD_TRANSCRIPT_SEED"].flatMap { UInt64($0) } ?? 0
  /// How many combinations of a transport and a chunking play each transcript: all of them, where nothing is said.
  static let combinationCount =
    ProcessInfo.processInfo.environment["LANYARD_TRANSCRIPT_COMBINATIONS"].flatMap { Int($0) } ?? .max
  static let contract = Result { try Contract(directory: top.appending(path: "Schemas")) }

  static let all: [String] = {
    let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return files.filter { $0.hasSuffix(".transcript") }.sorted()
  }()

  /// The transcripts to play.
  static let names: [String] = {
    let only = ProcessInfo.processInfo.environment["LANYARD_TRANSCRIPT"]
    return all.filter { only.map($0.contains) ?? true }
  }()

  /// The combinations that play a transcript, each with its seed. Where not all are asked for, the first one depends on
  /// the transcript and on `seed`, and three in a row have each transport and each chunking once.
  static func combinations(of name: String) -> [(seed: UInt64, Transport, Chunking)] {
    let all = Transport.allCases.flatMap { transport in Chunking.allCases.map { (transport, $0) } }
    let first = Library.all.firstIndex(of: name) ?? 0
    return (0..<min(combinationCount, all.count)).map { offset in
      let index =
        combinationCount < all.count
        ? (first + Int(seed % UInt64(all.count)) + offset * (Chunking.allCases.count + 1)) % all.count : offset
      return (seed + UInt64(index) + 1, all[index].0, all[index].1)
    }
  }

  static func transcript(_ name: String) throws -> Transcript {
    try Transcript(name: name, text: String(contentsOf: folder.appending(path: name), encoding: .utf8))
  }

  static func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: folder.appending(path: name))
  }
}

/// Seeds for fuzzers: `LANYARD_TRANSCRIPT_CORPUS=/tmp/seeds swift test --filter CorpusExport` writes each thing that a
/// script sends, byte for byte, into a file of its own.
@Suite struct CorpusExport {
  static let target = ProcessInfo.processInfo.environment["LANYARD_TRANSCRIPT_CORPUS"]

  @Test(.enabled(if: target != nil))
  func corpusExport_writesEachSentLineIntoAFile() throws {
    let folder = URL(filePath: try #require(Self.target))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var seeds: Set<[UInt8]> = []
    for name in Library.all {
      for step in try Library.transcript(name).steps {
        switch step.action {
        case .send(_, let text): seeds.insert(Array(text.utf8))
        case .sendRaw(_, let bytes): seeds.insert(bytes)
        default: break
        }
      }
    }
    for (number, seed) in seeds.enumerated() {
      try Data(seed).write(to: folder.appending(path: "seed-\(number)"))
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count >= seeds.count)
  }
}
