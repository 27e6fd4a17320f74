internal import CSodium

/// Secret bytes in guarded memory, with one owner; wiped when the owner ends.
///
/// It has no description, is not Codable and cannot be copied by accident: bytes leave only through `withBytes`.
public struct SecretBytes: ~Copyable, @unchecked Sendable {
  // Guarded memory with a single owner; writing happens in init and through `inout` only.
  private let memory: UnsafeMutableRawBufferPointer
  /// How many bytes the secret has.
  public let count: Int

  /// Lends `capacity` guarded bytes to `fill`, which returns how many of them are the secret.
  public init<Failure: Error>(
    capacity: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) {
    let memory = SecretPool.shared.allocate(max(capacity, 1))
    do {
      count = try fill(UnsafeMutableRawBufferPointer(rebasing: memory[..<capacity]))
    } catch {
      SecretPool.shared.release(memory)
      throw error
    }
    precondition(count <= capacity)
    self.memory = memory
  }

  /// A guarded copy. The source stays the caller's to wipe.
  public init(copying bytes: UnsafeRawBufferPointer) {
    self.init(capacity: bytes.count) { target in
      target.copyMemory(from: bytes)
      return bytes.count
    }
  }

  /// Random bytes from the system's generator.
  public init(random count: Int) {
    self.init(capacity: count) { target in
      randombytes_buf(target.baseAddress!, count)
      return count
    }
  }

  deinit { SecretPool.shared.release(memory) }

  /// Lends the bytes. They must not be kept or copied to unguarded memory that nobody wipes.
  public borrowing func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
  }
}

/// A reference to secret bytes, for what must travel through machines, effects and waiters. Immutable.
public final class Secret: Sendable {
  private let bytes: SecretBytes

  public init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

  /// A guarded copy. The source stays the caller's to wipe.
  public convenience init(copying bytes: UnsafeRawBufferPointer) { self.init(SecretBytes(copying: bytes)) }

  /// For text that is no secret where a secret is asked for, and for tests: the text itself is not wiped.
  public convenience init(text: String) {
    self.init(
      SecretBytes(capacity: text.utf8.count) { target in
        target.copyBytes(from: text.utf8)
        return target.count
      })
  }

  public var count: Int { bytes.count }

  /// Lends the bytes. They must not be kept or copied to unguarded memory that nobody wipes.
  public func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withBytes(body)
  }

  /// Compares in constant time.
  public func equals(_ other: Secret) -> Bool {
    guard count == other.count else { return false }
    return withBytes { mine in
      other.withBytes { theirs in sodium_memcmp(mine.baseAddress!, theirs.baseAddress!, mine.count) == 0 }
    }
  }
}

/// Builds a secret piece by piece in guarded memory: a form body, a provider's answer, a record before its seal.
public struct SecretBuilder: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  public private(set) var count = 0

  public init(capacity: Int = 256) { memory = SecretPool.shared.allocate(max(capacity, 64)) }

  deinit { SecretPool.shared.release(memory) }

  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if count + bytes.count > memory.count {
      let larger = SecretPool.shared.allocate(max(memory.count * 2, count + bytes.count))
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
      SecretPool.shared.release(memory)
      memory = larger
    }
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  public mutating func append(_ byte: UInt8) { withUnsafeBytes(of: byte) { append($0) } }

  public mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  public mutating func append(_ secret: Secret) { secret.withBytes { append($0) } }

  /// Lends what was appended so far.
  public borrowing func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
  }

  /// Ends the building.
  public consuming func finish() -> Secret {
    Secret(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count])))
  }
}
