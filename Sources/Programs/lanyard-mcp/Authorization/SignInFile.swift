internal import CPlatform
internal import CommandSupport
internal import FileRules
internal import Glibc
internal import MCPBridge
internal import StreamingHTTP

/// The file by which all bridges of a server, a process each, begin one sign-in: it names the sign-in that goes on. Its lock
/// ends with the process that holds it.
struct SignInFile: ~Copyable {
  private let file: Int32
  private static let maximumBytes = 32 << 10
  /// Beginning a sign-in takes some requests to the authorization server.
  private static let patienceMilliseconds = 30_000
  private static let pauseMilliseconds = 5

  /// Waits for the lock.
  ///
  /// - Throws: a failure if another bridge does not let go of it, or there is no runtime directory.
  init(server: String, _ cancellation: HTTPCancellation) throws(BridgeFailure) {
    let path: String
    do throws(CommandFailure) {
      path = AgentPaths.directory(of: try AgentPaths.socket()) + "/" + ProviderNaming.fileName(server: server)
    } catch {
      throw BridgeFailure(error)
    }
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard file >= 0 else { throw Self.failure("\(path) can't be opened: \(SystemError.message(errno)).") }
    guard (try? FileRule.madeFile.check(file)) != nil else {
      close(file)
      throw Self.failure("\(path) does not belong to you alone.")
    }
    var rest = Self.patienceMilliseconds
    while lanyard_lock_file(file) != 0 {
      guard rest > 0, !cancellation.isCancelled else {
        close(file)
        throw Self.failure("Another lanyard mcp has begun the sign-in and does not finish.")
      }
      pause(Self.pauseMilliseconds)
      rest -= Self.pauseMilliseconds
    }
    self.file = file
  }

  deinit { close(file) }

  /// The sign-in that a bridge began last.
  func pending() -> PendingSignIn? {
    var bytes = [UInt8](repeating: 0, count: Self.maximumBytes)
    let count = pread(file, &bytes, bytes.count, 0)
    return count > 0 ? bytes[..<count].withUnsafeBytes { PendingSignIn($0) } : nil
  }

  func write(_ pending: PendingSignIn?) {
    _ = ftruncate(file, 0)
    guard let bytes = pending?.bytes else { return }
    _ = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress!, $0.count, 0) }
  }

  private static func failure(_ message: String) -> BridgeFailure {
    BridgeFailure(
      BridgeFailure.Code.authorizationFailed, "signInNotBegun", "The sign-in could not be begun. \(message)")
  }
}
