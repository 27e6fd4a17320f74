extension Options {
  /// The text of `--help`.
  static let help = """
    lanyard-agent: holds the accounts of one person and serves tokens to local
    programs (JSON-RPC 2.0).

    USAGE: lanyard-agent [--stdio | --socket PATH] [OPTIONS]

    WHERE
      --socket PATH           Serve on this unix socket. Default: $LANYARD_SOCKET,
                              else $XDG_RUNTIME_DIR/lanyard/agent.sock, else
                              /run/user/UID/lanyard/agent.sock, if /run/user/UID is
                              yours, else /tmp/lanyard-UID/agent.sock.
      --stdio                 Serve one client on standard input and output, until
                              its input ends.
      --state-dir DIR         The directory of the sealed store. Default:
                              $LANYARD_STATE_DIR, else $XDG_STATE_HOME/lanyard,
                              else ~/.local/state/lanyard.

      --config PATH           The configuration file. Default:
                              $XDG_CONFIG_HOME/lanyard/agent.json, else
                              ~/.config/lanyard/agent.json, if it is there. JSON:
                              caFile, proxy, lockAfterSeconds, lockOn, limits.
                              Options come before it, and it before the variables
                              CURL_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR,
                              https_proxy, all_proxy and no_proxy. Variables that
                              the manual does not list are removed at the start.

      --system-directory PATH The administrator's directory, on a machine that has
                              no /etc/lanyard. The files in it must be root's or
                              yours, and not writable by others.

    THE VAULT
      --protection KIND       How the store is protected. No kind falls back to
                              another.
                              key-file (default): a key beside the store, which the
                              first start creates.
                              passphrase: the agent starts locked, until
                              `lanyard unlock` or --passphrase-file.
                              secret-service: an item in the keyring of your
                              session. While the keyring is locked, so is the
                              agent; `lanyard unlock` lets the keyring ask you.
                              systemd-credential: the credential lanyard.key of
                              the service manager.
      --passphrase-file PATH  A file with the passphrase that only you can read.
      --pinentry PATH         The program that asks for a PIN or passphrase.
                              Default: pinentry in /usr/local/bin, /usr/bin or
                              /bin.
      --accept-old-store      Accept an old copy of the store, if there is no newer
                              one. Signs every account in it out and sends none of
                              its refresh tokens, which may be used already. Also
                              accepts the store of another vault that you put in
                              the place of the one that was here.
      --require-locked-memory
                              Do not start where the machine does not let the
                              agent lock enough memory (`ulimit -l`), so that
                              secrets could be written to swap. Without this
                              option the agent starts with a warning.
      --new-store             Begin an empty store if the one that was here is gone
                              and no copy of it exists. With a vault here this
                              changes nothing.

    LOCKING
      --lock-after SECONDS    Lock the vault if no request has used it for this
                              long. Time in which the machine sleeps counts.
      --lock-on EVENTS        Lock the vault before the machine sleeps (sleep),
                              when the screen is locked (screen), or both
                              (sleep,screen). Needs systemd-logind.
                              Without these options the vault stays open until
                              `lanyard lock`. Programs get no token from a locked
                              vault.

    CALLERS
      --strict-grants         Refuse every program without a grant
                              (`lanyard grant create`). Default: every program of
                              yours is trusted. `lanyard` itself uses the file
                              owner-grant in the state directory.

    CHECKS AND LOGS
      --check                 Do not serve. Examine the store and its protection,
                              print the findings as JSON, and change nothing.
                              `lanyard doctor` uses this if no agent runs.
      --log-level LEVEL       trace, debug, info, notice (default), warning or
                              error, to standard error. No level logs a token, a
                              name or an address.
      --version
      --help, -h

    The agent runs in the foreground until SIGTERM, SIGINT or
    `lanyard rpc agent.shutdown`. It is ready when its socket accepts.

    EXIT CODES
      0   ended as asked, or nothing found by --check that prevents a start
      64  a mistake in the options or in the configuration file
      73  a directory can't be created or is not private
      74  the disk can't read or write the store
      75  another agent holds this state
      76  the vault can't be opened, or this process can't be protected

    """
}
