import CommandSupport
import Glibc

/// A link to `lanyard` under the name by which a tool looks for its helper.
struct HelperLink: SetupChange {
  let place: String
  let target: String

  var lines: [String] { ["a link to \(target)"] }

  func state() throws(CommandFailure) -> SetupState {
    var information = stat()
    guard lstat(place, &information) == 0 else { return .absent }
    return leads ? .present : .taken("another program")
  }

  func apply(notingIn record: inout SetupRecord) throws(CommandFailure) {
    try record.write()
    try SetupFile.makeDirectories(AgentPaths.directory(of: place))
    guard symlink(target, place) == 0 else {
      throw CommandFailure(.other, name: "output", "\(place) can't be made: \(SystemError.message(errno)).")
    }
  }

  func undo(notingIn record: inout SetupRecord) throws(CommandFailure) {
    if leads { unlink(place) }
  }

  private var leads: Bool {
    var text = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(place, &text, text.count - 1)
    return count > 0 && String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) == target
  }
}
