import Foundation

/// The only style sheet, embedded in each page and allowed by its hash (CSP level 2, section 4.2.5).
package enum Stylesheet {
  package static let hash = "sha256-" + Data(Digest.sha256(text.utf8)).base64EncodedString()

  package static let text = """
    :root { --ink: #16202c; --soft: #5a6878; --line: #d9dfe6; --edge: #7f8b99; --paper: #ffffff; --ground: #eef1f5;
      --accent: #14606e; --accent-ink: #ffffff; --tint: #e6f2f3; --bad: #a3312a; --bad-tint: #fbeceb; }
    @media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --soft: #9fadbb; --line: #344150; --edge: #74859a;
      --paper: #1b242e; --ground: #11171e; --accent: #5bb8c4; --accent-ink: #0b1d20; --tint: #1d3338; --bad: #f0958d;
      --bad-tint: #3a2220; } }
    * { box-sizing: border-box; }
    body { margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; place-items: center; padding: 24px 16px;
      background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto,
      "Noto Sans", Ubuntu, Cantarell, sans-serif; }
    main { width: 100%; max-width: 440px; padding: 32px; background: var(--paper); border: 1px solid var(--line);
      border-radius: 16px; box-shadow: 0 1px 2px rgb(0 0 0 / 5%), 0 12px 32px rgb(0 0 0 / 6%); }
    .mark { display: flex; align-items: center; gap: 10px; margin: 0 0 20px; font-size: 14px; font-weight: 600;
      color: var(--soft); }
    .badge { width: 18px; height: 22px; border-radius: 4px; background: var(--accent); position: relative; }
    .badge::before { content: ""; position: absolute; left: 6px; top: 3px; width: 6px; height: 2px; border-radius: 1px;
      background: var(--paper); }
    .badge::after { content: ""; position: absolute; left: 5px; top: 9px; width: 8px; height: 8px; border-radius: 50%;
      background: var(--paper); }
    h2, legend, label.field { display: block; padding: 0; margin: 0 0 6px; font-size: 14px; font-weight: 600; }
    h1 { margin: 0 0 6px; font-size: 24px; line-height: 1.25; letter-spacing: -.01em; }
    .lead { margin: 0 0 20px; color: var(--soft); overflow-wrap: anywhere; }
    .lead b { color: var(--ink); font-weight: 600; }
    fieldset { border: 0; margin: 0 0 16px; padding: 0; min-width: 0; }
    label.field small { font-size: 13px; font-weight: 400; color: var(--soft); }
    .person { display: flex; align-items: center; gap: 12px; padding: 9px 12px; margin: 0 0 8px;
      border: 1px solid var(--edge); border-radius: 10px; cursor: pointer; }
    .person:hover { border-color: var(--accent); }
    .person:has(input:checked) { border-color: var(--accent); background: var(--tint); }
    .person:has(input:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
    .person input { accent-color: var(--accent); width: 18px; height: 18px; margin: 0; flex: none; }
    .face { flex: none; width: 36px; height: 36px; border-radius: 50%; display: grid; place-items: center;
      background: var(--accent); color: #fff; font-size: 14px; font-weight: 600; }
    .face0 { background: #14606e; } .face1 { background: #7a4a12; } .face2 { background: #5b3f8c; }
    .face3 { background: #2f6a3a; }
    .who { min-width: 0; flex: 1; line-height: 1.3; }
    .who b { display: block; font-weight: 600; }
    .who small { color: var(--soft); font-size: 13px; overflow-wrap: anywhere; }
    .tenant { flex: none; font-size: 12px; color: var(--soft); border: 1px solid var(--line); border-radius: 99px;
      padding: 1px 9px; background: var(--paper); }
    input[type=text], input[type=password] { width: 100%; padding: 10px 12px; margin: 0 0 16px; font: inherit;
      color: inherit; background: var(--paper); border: 1px solid var(--edge); border-radius: 10px; }
    input:focus-visible, button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    input.code { font: 600 22px/1.4 ui-monospace, "DejaVu Sans Mono", monospace; letter-spacing: .12em;
      text-align: center; text-transform: uppercase; }
    .scopes { list-style: none; margin: 0 0 20px; padding: 12px 14px; background: var(--ground); border-radius: 10px;
      font-size: 14px; }
    .scopes li { display: flex; gap: 8px; padding: 2px 0; }
    .scopes li::before { content: "✓"; color: var(--accent); font-weight: 700; }
    .buttons { display: flex; gap: 10px; }
    button { flex: 1; min-height: 46px; padding: 10px 16px; font: inherit; font-weight: 600; border-radius: 10px;
      border: 1px solid var(--edge); background: var(--paper); color: var(--ink); cursor: pointer; }
    button.main { flex: 2; border-color: var(--accent); background: var(--accent); color: var(--accent-ink); }
    button.plain { width: 100%; margin: 10px 0 0; border-color: transparent; color: var(--accent); }
    button:hover { filter: brightness(.96); }
    .wrong { margin: 0 0 16px; padding: 10px 14px; border-radius: 10px; background: var(--bad-tint); color: var(--bad);
      font-size: 14px; font-weight: 600; }
    .sign { width: 56px; height: 56px; margin: 4px 0 16px; border-radius: 50%; display: grid; place-items: center;
      font-size: 26px; font-weight: 700; }
    .good { background: var(--tint); color: var(--accent); }
    .bad { background: var(--bad-tint); color: var(--bad); }
    .foot { margin: 20px 0 0; padding-top: 16px; border-top: 1px solid var(--line); font-size: 13px;
      color: var(--soft); }
    @media (min-width: 860px) {
      main.wide { max-width: 840px; display: grid; grid-template-columns: 5fr 7fr; column-gap: 48px; padding: 40px; }
      main.wide .foot { grid-column: 1 / -1; margin-top: 28px; }
    }
    @media (max-width: 480px) {
      body { padding: 0; place-items: stretch; background: var(--paper); }
      main { max-width: none; padding: 24px 20px; border: 0; border-radius: 0; box-shadow: none; }
    }
    """
}
