internal import AgentModel
internal import CPlatform

/// The clocks and the randomness of this machine.
enum Moment {
  static var boot: BootInstant { BootInstant(milliseconds: lanyard_boot_milliseconds()) }
  static var wall: Timestamp { Timestamp(milliseconds: lanyard_wall_milliseconds()) }

  /// From 0 up to 1.
  static func jitter() -> Double { Double.random(in: 0..<1) }
}
