internal import AgentModel
public import AgentPorts
internal import CPlatform
internal import Glibc

/// `.lanyard` files, which lie anywhere: the broker searches for them.
public struct BrokeredDirectoryAccounts: DirectoryAccounts {
  private let broker: Broker

  public init(broker: Broker) { self.broker = broker }

  public func account(for directory: String) async throws(DirectoryAccountsFailure) -> String? {
    // No directory has a longer path, so that no file can be there (PATH_MAX).
    guard directory.utf8.count < Int(PATH_MAX), !directory.utf8.contains(0) else { return nil }
    guard let answer = await broker.askAside(.directoryAccount, directory) else { throw DirectoryAccountsFailure() }
    return answer.bytes.first == Self.found ? String(answer.text.dropFirst()) : nil
  }

  private static let found = UInt8(ascii: "=")

  /// In the broker.
  public static func perform(_ request: BrokerRequest) {
    request.answer(DotLanyardFiles().account(for: request.text).map { "=" + $0 } ?? "-")
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
