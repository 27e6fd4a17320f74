import LoopbackHTTP

/// The page at `/device`, where the user types the code of another screen (RFC 8628 section 3.3).
struct DevicePage {
  let users: [PracticeUser]
  var userCode = ""
  /// The code came in the URL: the user compares it with the other screen (RFC 8628 section 3.3.1).
  var isCodeFromAddress = false
  var problem: String?

  func response(status: Int = 200) -> HTTPResponse {
    let lead =
      isCodeFromAddress
      ? "Allow this only if your device shows the same code."
      : "Type the code that your device shows."
    return Page.response(
      title: "Connect a device",
      about: """
        <h1>Connect a device</h1>
        <p class="lead">\(lead)</p>
        """,
      form: """
        <form method="post" action="device" autocomplete="off">
        \(problem.map { "<p class=\"wrong\" role=\"alert\">\(Page.escape($0))</p>" } ?? "")
        <label class="field" for="user_code">Code</label>
        <input type="text" class="code" id="user_code" name="user_code" value="\(Page.escape(userCode))" \
        placeholder="XXXX-XXXX" maxlength="16" autocapitalize="characters" spellcheck="false" required>
        \(PersonFields(users: users, chosen: nil).html)
        <div class="buttons">
        <button class="main" name="decision" value="allow">Allow</button>
        <button name="decision" value="deny" formnovalidate>Deny</button>
        </div>
        </form>
        """,
      status: status
    )
  }
}
