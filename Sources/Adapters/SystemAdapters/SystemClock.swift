public import AgentModel
public import AgentPorts
internal import CPlatform

/// The machine's clocks: CLOCK_REALTIME for people, CLOCK_BOOTTIME for lifetimes.
public struct SystemClock: AgentClock {
  public let bootID: String

  public init() {
    var text = [CChar](repeating: 0, count: 37)
    if lanyard_boot_id(&text) == 0 {
      bootID = String(decoding: text.prefix(36).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    } else {
      // Without /proc every start counts as another boot: boot times of earlier starts are then never compared.
      bootID = "process-" + SystemEntropy().bytes(16).map { String($0, radix: 16) }.joined(separator: "-")
    }
  }

  public func wall() -> Timestamp { Timestamp(milliseconds: lanyard_wall_milliseconds()) }

  public func boot() -> BootInstant { BootInstant(milliseconds: lanyard_boot_milliseconds()) }

  public func sleep(until deadline: BootInstant) async {
    guard boot() < deadline, !Task.isCancelled else { return }
    await BootTimer.shared.sleep(until: deadline)
  }
}
