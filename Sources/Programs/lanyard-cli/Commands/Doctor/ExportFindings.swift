import CPlatform
import CommandSupport
import FileRules
import Glibc
import JSONRPC

/// Whether the audit log leaves the machine as the configuration file says (docs/audit-export.md). Read
/// from the files of `lanyard-export`, so that a destination that waits is told although the exporter is a service.
enum ExportFindings {
  private static let longestProblem = 4096

  /// - Parameter configured: the names of the destinations of the configuration file.
  static func look(at state: String?, configured: [String]) -> [Finding] {
    guard let state else { return [] }
    let directory = "\(state)/export"
    let others = names(in: directory).filter { !configured.contains($0) }
    return configured.map { finding($0, directory, isConfigured: true) ?? notRunning($0) }
      + others.compactMap { finding($0, directory, isConfigured: false) }
  }

  /// The names of the destinations of the running agent.
  static func configured(_ agent: inout AgentConnection) throws(CommandFailure) -> [String] {
    try agent.call("agent.status") { status in
      status["audit"]?["export"]?.elements.compactMap { $0["name"]?.string } ?? []
    }
  }

  /// Nil for a destination that no process serves.
  private static func finding(_ name: String, _ directory: String, isConfigured: Bool) -> Finding? {
    guard isServed("\(directory)/\(name).lock") else { return nil }
    guard let problem = firstLine(of: "\(directory)/\(name).problem") else {
      return Finding(.ok, "auditExport", subject: name, "The audit log is exported.")
    }
    return Finding(
      .problem, "auditExport", subject: name,
      "The export of the audit log waits, and the log keeps what is not exported. \(problem)",
      remedies: ["`lanyard export --status` shows how far it has come."])
  }

  private static func notRunning(_ name: String) -> Finding {
    Finding(
      .notice, "auditExport", subject: name,
      "The configuration file sends the audit log there, and no `lanyard export` runs for it.",
      remedies: ["`systemctl --user enable --now lanyard-export` starts it, or `lanyard export` here."])
  }

  private static func names(in directory: String) -> [String] {
    namesInDirectory(directory).filter { $0.hasSuffix(".lock") }.map { String($0.dropLast(".lock".count)) }
  }

  private static func isServed(_ lock: String) -> Bool {
    guard let descriptor = try? FileRule.madeFile.open(lock, O_RDWR) else { return false }
    defer { close(descriptor) }
    return lanyard_lock_file(descriptor) != 0
  }

  private static func firstLine(of file: String) -> String? {
    guard let descriptor = try? FileRule.madeFile.open(file) else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: longestProblem)
    let count = read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    return String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self)
  }
}
