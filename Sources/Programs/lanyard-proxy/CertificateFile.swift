import CommandSupport
import FileRules
import Glibc

/// The file with the certificate of this run's authority, for the programs of the sandbox. Its directory is the person's alone;
/// the file goes at the end. One that a killed proxy left is removed by the next start.
final class CertificateFile {
  let path: String
  /// Open and locked as long as this process runs.
  private let descriptor: Int32

  init(_ certificate: String) throws(CommandFailure) {
    let directory = try Self.directory()
    guard makeDirectory(directory) == 0,
      (try? FileRule.privateDirectory.check(path: directory)) != nil
    else {
      throw CommandFailure(.other, name: "output", "\(Text.shown(directory)) is not a directory that only you can use.")
    }
    Self.removeLeft(in: directory)
    let path = "\(directory)/authority-\(getpid()).pem"
    self.path = path
    unlink(path)
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CommandFailure(
        .other, name: "output", "\(Text.shown(path)) can't be written: \(SystemError.message(errno)).")
    }
    flock(descriptor, LOCK_EX | LOCK_NB)
    // Programs take this file in place of the system's, and some of their connections pass unopened.
    var text = certificate + Self.systemAuthorities
    let isWritten = text.withUTF8 { Output.write(UnsafeRawBufferPointer($0), to: descriptor) }
    guard isWritten else {
      let error = errno
      unlink(path)
      throw CommandFailure(
        .other, name: "output", "\(Text.shown(path)) can't be written: \(SystemError.message(error)).")
    }
  }

  deinit { close(descriptor) }

  /// The authorities that programs of this system trust, in PEM form; empty if none of the usual files is there.
  private static var systemAuthorities: String {
    let named = Environment.value("SSL_CERT_FILE").map { [$0] } ?? []
    for path in named + systemFiles {
      guard let file = fopen(path, "re") else { continue }
      defer { fclose(file) }
      var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
      while bytes.count <= mostSystemBytes {
        let count = fread(&piece, 1, piece.count, file)
        guard count > 0 else { break }
        bytes += piece[..<count]
      }
      if bytes.count <= mostSystemBytes, !bytes.isEmpty { return "\n" + String(decoding: bytes, as: UTF8.self) }
    }
    return ""
  }

  /// Of Debian and Arch, Fedora, openSUSE, Alpine and the BSDs.
  private static let systemFiles = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
  ]
  private static let mostSystemBytes = 4 << 20

  func remove() { unlink(path) }

  /// Beside the directory of the agent's socket, and not in it: a sandbox that sees this file need not see that.
  private static func directory() throws(CommandFailure) -> String {
    if let runtime = Environment.value("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") { return "\(runtime)/lanyard-proxy" }
    return try "\(AgentPaths.directory(of: AgentPaths.socket()))-proxy"
  }

  private static func removeLeft(in directory: String) {
    for name in namesInDirectory(directory) where name.hasPrefix("authority-") && name.hasSuffix(".pem") {
      let left = open("\(directory)/\(name)", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
      guard left >= 0 else { continue }
      // A proxy that runs holds the lock.
      if flock(left, LOCK_EX | LOCK_NB) == 0 { unlink("\(directory)/\(name)") }
      close(left)
    }
  }
}
