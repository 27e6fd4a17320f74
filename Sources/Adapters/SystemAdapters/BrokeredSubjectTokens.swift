public import AgentPorts
internal import FileRules
internal import Glibc
public import Secrets

/// Files of subject tokens, which lie anywhere: the broker opens and judges them, and hands them over unread.
public struct BrokeredSubjectTokens: SubjectTokenFiles {
  private let broker: Broker

  public init(broker: Broker) { self.broker = broker }

  /// Tokens have some kilobytes.
  private static let mostBytes = 64 << 10

  public func token(at path: String) async throws(SubjectTokenFault) -> Secret {
    guard path.utf8.count < Int(PATH_MAX), let answer = await broker.askAside(.subjectToken, path) else {
      throw .unreadable
    }
    guard answer.descriptor >= 0 else { throw SubjectTokenFault(rawValue: answer.text) ?? .unreadable }
    defer { close(answer.descriptor) }
    return try Self.token(in: answer.descriptor)
  }

  /// The text of an open file, without white space behind it.
  private static func token(in file: Int32) throws(SubjectTokenFault) -> Secret {
    var isRead = true
    let bytes = SecretBytes(capacity: mostBytes + 1) { buffer in
      var count = 0
      while count < buffer.count {
        let more = read(file, buffer.baseAddress! + count, buffer.count - count)
        if more < 0, errno == EINTR { continue }
        if more < 0 { isRead = false }
        if more <= 0 { break }
        count += more
      }
      return count
    }
    guard isRead else { throw .unreadable }
    let text = Secret(bytes)
    return try text.withBytes { bytes throws(SubjectTokenFault) in
      if let fault = fault(in: bytes) { throw fault }
      return Secret(copying: UnsafeRawBufferPointer(rebasing: bytes.prefix { $0 > 0x20 }))
    }
  }

  /// In the broker. Platforms make such a file a link to the newest one, so that links are followed. An agent that a flaw
  /// turned against the person gets no other file by this: what is no token is not handed over.
  public static func perform(_ request: BrokerRequest) {
    do throws(FileFault) {
      let file = try FileRule.trustedFile.open(request.text, followingLinks: true)
      if let fault = fault(in: file) { return request.answer(fault.rawValue) }
      request.answer("token", passing: file)
    } catch {
      request.answer(fault(of: error).rawValue)
    }
  }

  private static func fault(in file: Int32) -> SubjectTokenFault? {
    withUnsafeTemporaryAllocation(byteCount: mostBytes + 1, alignment: 1) { buffer in
      var count = 0
      while count < buffer.count {
        let more = pread(file, buffer.baseAddress! + count, buffer.count - count, off_t(count))
        if more < 0, errno == EINTR { continue }
        if more <= 0 { break }
        count += more
      }
      defer { explicit_bzero(buffer.baseAddress!, count) }
      return fault(in: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  /// Nil for one word as tokens are (`b64token`, RFC 6750 §2.1), such as a signed JWT, and white space behind it: no file of
  /// several lines, as keys, settings and lists of passwords are.
  package static func fault(in bytes: UnsafeRawBufferPointer) -> SubjectTokenFault? {
    if bytes.count > mostBytes { return .tooLarge }
    let text = bytes.prefix { $0 > 0x20 }
    let isAlone = bytes[text.endIndex...].allSatisfy { $0 <= 0x20 }
    if text.isEmpty { return isAlone ? .empty : .malformed }
    let word = text.prefix { $0 != UInt8(ascii: "=") }
    let isToken =
      !word.isEmpty && word.allSatisfy(isOfToken) && text[word.endIndex...].allSatisfy { $0 == UInt8(ascii: "=") }
    return isAlone && isToken ? nil : .malformed
  }

  private static func isOfToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-._~+/".utf8.contains(byte)
    }
  }

  private static func fault(of error: FileFault) -> SubjectTokenFault {
    switch error {
    case .foreignOwner: .foreign
    case .openToOthers: .writable
    case .tooLarge: .tooLarge
    case .link, .otherKind: .malformed
    case .system(ENOENT), .system(ENOTDIR): .missing
    case .system: .unreadable
    }
  }
}
