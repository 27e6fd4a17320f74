import CommandSupport

/// Opens files that are encrypted by GnuPG. Its agent asks the person for the passphrase.
enum GnuPG {
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
