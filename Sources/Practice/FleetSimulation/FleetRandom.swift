/// SplitMix64, as of one seed, with the distributions that a fleet needs.
struct FleetRandom {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Uniform from 0 up to 1.
  mutating func fraction() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }

  /// Uniform, in milliseconds.
  mutating func uniform(_ range: Range<Int64>) -> Int64 {
    range.lowerBound + Int64(fraction() * Double(range.upperBound - range.lowerBound))
  }

  /// The time to the next of events that come at random with this mean, in milliseconds.
  mutating func pause(mean: Int64) -> Int64 { Int64(-Double(mean) * Logarithm.natural(1 - fraction())) }
}

/// The natural logarithm, so that a seed gives the same run with every C library.
enum Logarithm {
  /// For a positive `value`: its exponent, and a series for what is left between 1 and 2.
  static func natural(_ value: Double) -> Double {
    let ratio = (value.significand - 1) / (value.significand + 1)
    let square = ratio * ratio
    var (term, sum) = (ratio, 0.0)
    for odd in stride(from: 1.0, to: 34, by: 2) {
      sum += term / odd
      term *= square
    }
    return Double(value.exponent) * 0.693_147_180_559_945_3 + 2 * sum
  }
}
