public import AgentPorts
internal import CPlatform

/// The kernel's generator.
public struct SystemEntropy: Entropy {
  public init() {}

  public func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let result = lanyard_random(buffer.baseAddress, count)
      // Ids, states and nonces from another source could be guessed: the agent ends instead.
      precondition(result == 0, "the kernel gives no random bytes")
      initialized = count
    }
  }
}
