/// Comparing what only the right browser knows.
package enum ConstantTime {
  /// Takes as long for any text of the same length: the time does not tell a sender how much of a guess was right.
  package static func equal(_ guess: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    guard guess.count == right.count else { return false }
    return zip(guess, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
