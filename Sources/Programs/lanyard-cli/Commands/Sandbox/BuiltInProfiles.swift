extension SandboxProfile {
  /// Profiles for programs that many use, in the format of a person's own.
  ///
  /// - `claude`: the model's server (docs.anthropic.com, Claude Code, corporate proxy, seen November 2026) and the page of the
  ///   sign-in. The servers of telemetry and error reports that the page names are left out. Its files lie in
  ///   `CLAUDE_CONFIG_DIR`.
  /// - `codex`: the API for a key, that of a ChatGPT plan, and the sign-in; its files lie in `~/.codex`.
  /// - `gemini`: the API for a key, that for a Google account, and the endpoints of Google's OAuth; its files lie in
  ///   `~/.gemini`.
  /// - `node`: the registry that npm asks unless it is told otherwise.
  /// - `python`: the index of packages and the server of their files.
  static let builtIn: [String: String] = [
    "claude": """
    {
      "pass": ["https://api.anthropic.com", "https://claude.ai"],
      "keep": ["~/.claude"],
      "read": ["~/.local/bin", "~/.local/share/claude"],
      "env": ["ANTHROPIC_MODEL"],
      "set": {"CLAUDE_CONFIG_DIR": "~/.claude", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    }
    """,
    "codex": """
    {
      "pass": ["https://api.openai.com", "https://chatgpt.com", "https://auth.openai.com"],
      "keep": ["~/.codex"],
      "read": ["~/.local/bin"]
    }
    """,
    "gemini": """
    {
      "pass": [
        "https://generativelanguage.googleapis.com", "https://cloudcode-pa.googleapis.com",
        "https://oauth2.googleapis.com", "https://accounts.google.com"
      ],
      "keep": ["~/.gemini"],
      "read": ["~/.local/bin"],
      "env": ["GEMINI_MODEL", "GOOGLE_CLOUD_PROJECT"]
    }
    """,
    "node": """
    {
      "pass": ["https://registry.npmjs.org"],
      "keep": ["~/.npm"],
      "read": ["~/.nvm/versions"]
    }
    """,
    "python": """
    {
      "pass": ["https://pypi.org", "https://files.pythonhosted.org"],
      "keep": ["~/.cache/pip", "~/.cache/uv"],
      "read": ["~/.local/share/uv"]
    }
    """,
  ]
}
