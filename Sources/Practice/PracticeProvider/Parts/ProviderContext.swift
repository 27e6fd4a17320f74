/// What every part of the provider reads: its issuer, its options, its clock and its randomness.
struct ProviderContext {
  let issuer: Issuer
  let random: @Sendable (Int) -> [UInt8]
  var options: PracticeOptions
  /// Wall clock in milliseconds, with the provider's offset; set at the beginning of each call.
  var now: Int64 = 0

  var nowSeconds: Int64 { now / 1000 }

  /// An unpredictable value: 192 random bits behind a prefix that names its kind.
  func newValue(_ prefix: String) -> String { prefix + Base64URL.encode(random(24)) }
}
