internal import AgentModel
public import AgentPorts
internal import CPlatform
internal import DirectoryFiles
internal import Glibc

/// `.lanyard` files, which lie anywhere: the broker searches for them.
public struct BrokeredDirectoryAccounts: DirectoryAccounts {
  private let broker: Broker

  public init(broker: Broker) { self.broker = broker }

  public func account(for directory: String) async throws(DirectoryAccountsFailure) -> String? {
    guard let path = PathBytes(wireText: directory) else { throw .noDirectory }
    guard path.bytes.count < Int(PATH_MAX) else { throw .unreadable }
    guard let answer = await broker.askAside(.directoryAccount, directory) else { throw .unavailable }
    switch answer.bytes.first {
    case Self.found: return String(answer.text.dropFirst())
    case Self.unreadable: throw .unreadable
    default: return nil
    }
  }

  private static let found = UInt8(ascii: "=")
  private static let unreadable = UInt8(ascii: "!")

  /// In the broker.
  public static func perform(_ request: BrokerRequest) {
    request.answer(answer(for: request.text))
  }

  /// The first character tells which: `=` and the account, `!` for a trusted file that changed or can't be read, `-` for
  /// none.
  static func answer(for directory: String) -> String {
    guard let path = PathBytes(wireText: directory) else { return "-" }
    do throws(DirectoryFileFault) {
      guard let file = try TrustedFiles().nearest(to: path) else { return "-" }
      return file.account.map { "=\($0)" } ?? "!"
    } catch {
      return "!"
    }
  }
}

/// Files of certificate authorities, which lie anywhere: the broker reads them, and hands over the certificates alone.
public enum BrokeredAuthorities {
  /// The bundles of systems have 200 KiB.
  private static let mostBytes = 8 << 20

  /// The certificates of a PEM file; nil if it can't be read or has none.
  public static func certificates(of path: String, through broker: Broker) async -> [UInt8]? {
    guard path.utf8.count < Int(PATH_MAX), let answer = await broker.askAside(.authorities, path),
      answer.descriptor >= 0
    else {
      return nil
    }
    defer { close(answer.descriptor) }
    return contents(of: answer.descriptor)
  }

  /// In the broker.
  public static func perform(_ request: BrokerRequest) {
    let file = open(request.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0, let bytes = contents(of: file) else { return }
    let certificates = PEMCertificates.blocks(in: bytes)
    guard !certificates.isEmpty else { return }
    let copy = lanyard_memory_file("authorities")
    guard copy >= 0 else { return }
    var done = 0
    while done < certificates.count {
      let written = certificates.withUnsafeBytes { write(copy, $0.baseAddress! + done, $0.count - done) }
      guard written > 0 else { return }
      done += written
    }
    request.answer("certificates", passing: copy)
  }

  private static func contents(of file: Int32) -> [UInt8]? {
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= mostBytes else { return nil }
    let size = Int(status.st_size)
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      while count < size {
        let got = pread(file, buffer.baseAddress! + count, size - count, off_t(count))
        if got <= 0 { break }
        count += got
      }
    }
    return bytes.count == size ? bytes : nil
  }
}
