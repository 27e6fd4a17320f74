import CommandSupport

/// Opens files that are encrypted by GnuPG. Its agent asks the person for the passphrase.
enum GnuPG {
  /// An armored message, or one of bytes: the first of these has its highest bit set (RFC 9580 §4.2).
  static func isEncrypted(_ contents: HeldBytes) -> Bool {
    contents.withBytes { ($0.first ?? 0) >= 0x80 || $0.starts(with: "-----BEGIN PGP".utf8) }
  }

  static func decrypt(_ store: StoreFile) throws(CommandFailure) -> HeldBytes {
    let program = try ChildOutput.require("gpg", package: "gnupg")
    let output = try ChildOutput.of(program, ["--quiet", "--decrypt"], input: store.contents)
    guard output.hasSucceeded else {
      throw CommandFailure(
        .other, name: "storeSealed", "\(store.path) could not be decrypted by gpg. Nothing was changed.",
        hints: [output.complaint, "Without a desktop gpg needs the terminal: `export GPG_TTY=$(tty)`."]
          .filter { !$0.isEmpty })
    }
    return output.stdout
  }
}
