/// How `lanyard-demo` is used.
enum Usage {
  /// EX_USAGE of sysexits.h.
  static let exitStatus: Int32 = 64

  static let text = """
    lanyard-demo: try Lanyard without an account

    Usage: lanyard-demo [run [--by-hand] [--keep]]
           lanyard-demo provider [OPTIONS]

    Commands:
      run          sign in, refresh, crash, sign out, with explanations (default)
        --by-hand  sign in yourself, in your browser
        --keep     keep the temporary directory
      provider     run the practice provider: an OpenID provider on this machine
                   (see lanyard-demo provider --help)

    The demo uses a temporary directory and touches no account, agent or file of
    yours. Exit code 0 if every step worked as described, else 1.
    """
}
