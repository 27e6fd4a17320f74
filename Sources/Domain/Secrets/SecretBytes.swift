internal import CSodium

/// Secret bytes in guarded memory with a single owner, wiped when the owner goes out of scope.
///
/// The type has no description, is not `Codable` and not copyable: bytes leave it only through `withBytes`.
public struct SecretBytes: ~Copyable, @unchecked Sendable {
  // `@unchecked Sendable`: `memory` has a single owner and is written only in `init`.
  private let memory: UnsafeMutableRawBufferPointer
  /// Number of secret bytes.
  public let count: Int

  /// Lends `capacity` guarded bytes to `fill`, which writes the secret and returns its length.
  ///
  /// - Throws: what `fill` throws; the memory is released.
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

  /// Copies `bytes` into guarded memory. The caller wipes the source.
  public init(copying bytes: UnsafeRawBufferPointer) {
    self.init(capacity: bytes.count) { target in
      target.copyMemory(from: bytes)
      return bytes.count
    }
  }

  /// Takes over memory of the pool, which is full.
  init(taking memory: UnsafeMutableRawBufferPointer) {
    self.memory = memory
    count = memory.count
  }

  /// Random bytes from the system's generator.
  public init(random count: Int) {
    self.init(capacity: count) { target in
      randombytes_buf(target.baseAddress!, count)
      return count
    }
  }

  deinit { SecretPool.shared.release(memory) }

  /// Lends the bytes to `body`, which must not keep them or copy them to memory that is not wiped.
  ///
  /// - Throws: what `body` throws.
  public borrowing func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
  }
}

/// A shared, immutable reference to secret bytes, for values that pass through state machines, effects and waiters.
public final class Secret: Sendable {
  private let bytes: SecretBytes

  /// Takes over `bytes`.
  public init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

  /// Copies `bytes` into guarded memory. The caller wipes the source.
  public convenience init(copying bytes: UnsafeRawBufferPointer) { self.init(SecretBytes(copying: bytes)) }

  /// Copies `text`, which is not wiped: for public text where an API takes a `Secret`, and for tests.
  public convenience init(text: String) {
    self.init(
      SecretBytes(capacity: text.utf8.count) { target in
        target.copyBytes(from: text.utf8)
        return target.count
      })
  }

  /// Number of secret bytes.
  public var count: Int { bytes.count }

  /// Lends the bytes to `body`, which must not keep them or copy them to memory that is not wiped.
  ///
  /// - Throws: what `body` throws.
  public func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withBytes(body)
  }

  /// Compares in constant time; secrets of different lengths differ.
  public func equals(_ other: Secret) -> Bool {
    guard count == other.count else { return false }
    return withBytes { mine in
      other.withBytes { theirs in sodium_memcmp(mine.baseAddress!, theirs.baseAddress!, mine.count) == 0 }
    }
  }
}

/// Builds a secret piece by piece in guarded memory, such as a form body or a record before encryption.
public struct SecretBuilder: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  private let isPassing: Bool
  /// Number of bytes appended so far.
  public private(set) var count = 0

  /// Reserves `capacity` bytes; the builder grows when needed.
  ///
  /// - Parameter isPassing: for the body of a server's answer: where too little can be locked, it is not.
  public init(capacity: Int = 256, isPassing: Bool = false) {
    self.isPassing = isPassing
    memory = SecretPool.shared.allocate(max(capacity, 64), isPassing: isPassing)
  }

  deinit { SecretPool.shared.release(memory) }

  /// Makes room for `capacity` bytes in all.
  public mutating func reserve(_ capacity: Int) {
    guard capacity > memory.count else { return }
    let larger = SecretPool.shared.allocate(capacity, isPassing: isPassing)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count]))
    SecretPool.shared.release(memory)
    memory = larger
  }

  /// Appends bytes.
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if count + bytes.count > memory.count { reserve(max(memory.count * 2, count + bytes.count)) }
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// Appends a byte.
  public mutating func append(_ byte: UInt8) { withUnsafeBytes(of: byte) { append($0) } }

  /// Appends the UTF-8 bytes of a text.
  public mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends a secret.
  public mutating func append(_ secret: Secret) { secret.withBytes { append($0) } }

  /// Drops the first `number` bytes: the others move to their place, and what they leave is wiped.
  public mutating func removeFirst(_ number: Int) {
    guard number > 0 else { return }
    precondition(number <= count)
    let rest = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[number..<count])
    memory.copyMemory(from: rest)
    sodium_memzero(memory.baseAddress! + rest.count, number)
    count = rest.count
  }

  /// Lends the bytes appended so far to `body`, which must not keep them.
  ///
  /// - Throws: what `body` throws.
  public borrowing func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
  }

  /// The finished secret, in memory of its exact length. A long one stays where it is.
  public consuming func finish() -> Secret {
    if let shrunk = SecretPool.shared.shrink(memory, to: count) {
      memory = SecretPool.shared.allocate(1)
      return Secret(SecretBytes(taking: shrunk))
    }
    return Secret(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count])))
  }
}
