internal import AgentPorts
internal import Glibc
internal import SQLiteStore
internal import SystemAdapters

/// Backup files, which lie anywhere: the broker opens and writes them, and only what begins like a store of the agent.
struct BrokeredBackups: OutsideFiles {
  let broker: Broker

  func check(_ path: String) throws(BackupFileFailure) { _ = try ask(.backupCheck, path) }

  func write(_ store: Int32, to path: String) throws(BackupFileFailure) -> Int {
    guard let count = Int(try ask(.backupWrite, path, handing: store).text) else { throw .store(.inputOutput) }
    return count
  }

  func open(_ path: String) throws(BackupFileFailure) -> Int32 {
    let descriptor = try ask(.backupRead, path).descriptor
    guard descriptor >= 0 else { throw .store(.inputOutput) }
    return descriptor
  }

  private func ask(
    _ kind: Broker.Kind, _ path: String, handing store: Int32 = -1
  ) throws(BackupFileFailure) -> Broker.Answer {
    guard path.utf8.count < Int(PATH_MAX), !path.utf8.contains(0) else { throw .noPath }
    guard let answer = broker.ask(kind, path, handing: store) else {
      throw .store(broker.isRunning ? .inputOutput : .closed)
    }
    if let failure = Self.failures[answer.text] { throw failure }
    return answer
  }

  // In the broker.

  static func check(_ request: BrokerRequest) {
    perform(request) { () throws(BackupFileFailure) in
      try DirectFiles().check(request.text)
      request.answer("free")
    }
  }

  static func write(_ request: BrokerRequest) {
    perform(request) { () throws(BackupFileFailure) in
      request.answer("\(try DirectFiles().write(request.handed, to: request.text))")
    }
  }

  static func read(_ request: BrokerRequest) {
    perform(request) { () throws(BackupFileFailure) in
      request.answer("open", passing: try DirectFiles().open(request.text))
    }
  }

  private static func perform(_ request: BrokerRequest, _ body: () throws(BackupFileFailure) -> Void) {
    do throws(BackupFileFailure) {
      try body()
    } catch {
      request.answer(failures.first { $0.value == error }?.key ?? "failed inputOutput")
    }
  }

  private static let failures: [String: BackupFileFailure] = [
    "failed noPath": .noPath, "failed exists": .exists, "failed noDirectory": .noDirectory,
    "failed notFound": .notFound, "failed notABackup": .notABackup, "failed forbidden": .forbidden,
    "failed full": .store(.full), "failed readOnly": .store(.readOnly), "failed inputOutput": .store(.inputOutput),
    "failed corrupt": .store(.corrupt),
  ]
}
