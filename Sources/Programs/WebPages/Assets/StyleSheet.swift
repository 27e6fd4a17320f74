/// The style sheet of every page, one with that of the pages of a sign-in: the same colours, type and round corners. Words
/// never depend on colour alone; text has a contrast of 4.5 and more in both schemes.
enum StyleSheet {
  static let text = """
    :root { --ground: #f4f5f7; --card: #fff; --ink: #1c2126; --soft: #56606a; --line: #e0e4e8; --edge: #7f8b99;
      --accent: #14606e; --on-accent: #fff; --tint: #e6f2f3; --good: #177245; --good-tint: #e4f3ea; --warn: #875400;
      --warn-tint: #fcf1dc; --bad: #b3261e; --bad-tint: #fbebea; --bar: #2f8f9d; --shade: 0 1px 2px rgb(0 0 0 / 4%);
      color-scheme: light dark; }
    @media (prefers-color-scheme: dark) { :root { --ground: #14171a; --card: #1e2226; --ink: #eef0f2; --soft: #a7b1bb;
      --line: #31373d; --edge: #74859a; --accent: #5bb8c4; --on-accent: #0b1d20; --tint: #1d3338; --good: #5fce96;
      --good-tint: #1a3327; --warn: #f0bd62; --warn-tint: #392e19; --bad: #ff8a80; --bad-tint: #3d2321; --bar: #4aa9b6;
      --shade: none; } }
    * { box-sizing: border-box; }
    html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
    body { margin: 0; min-height: 100vh; min-height: 100dvh; background: var(--ground); color: var(--ink);
      font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Ubuntu, Cantarell, sans-serif; }
    h1 { margin: 0 0 1.25rem; font-size: 1.6rem; line-height: 1.2; letter-spacing: -.015em; }
    h2 { margin: 0 0 .75rem; font-size: 1.05rem; line-height: 1.3; }
    h3 { margin: 0 0 .5rem; font-size: 1rem; font-weight: 600; }
    p { margin: 0 0 .75rem; }
    a { color: var(--accent); text-underline-offset: .2em; }
    small { display: block; color: var(--soft); font-size: .8125rem; line-height: 1.4; }
    code, pre, .request, .method { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, monospace; }
    code { font-size: .9em; padding: .1em .35em; border-radius: .35rem; background: var(--tint); overflow-wrap: anywhere; }
    li, h1, p, caption { overflow-wrap: break-word; }
    dd, td, th, h2, h3, label, .lane-name, .who, .request, blockquote, .finding p { overflow-wrap: anywhere; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .4rem; }
    main:focus { outline: none; }
    .unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%);
      white-space: nowrap; }
    .skip { position: absolute; left: .5rem; top: -4rem; z-index: 2; padding: .6rem 1rem; border-radius: .6rem;
      background: var(--accent); color: var(--on-accent); }
    .skip:focus { top: .5rem; }

    .top { display: flex; align-items: center; justify-content: space-between; gap: 1rem; padding: 1rem 1.25rem .5rem; }
    .brand { display: inline-flex; align-items: center; gap: .6rem; margin: 0; font-weight: 600; color: var(--ink);
      text-decoration: none; }
    .badge { width: 18px; height: 22px; border-radius: 4px; background: var(--accent); position: relative; flex: none; }
    .badge::before { content: ""; position: absolute; left: 6px; top: 3px; width: 6px; height: 2px; border-radius: 1px;
      background: var(--card); }
    .badge::after { content: ""; position: absolute; left: 5px; top: 9px; width: 8px; height: 8px; border-radius: 50%;
      background: var(--card); }
    .standing { display: flex; align-items: center; gap: .75rem; font-size: .875rem; }
    .pages { padding: 0 .75rem .5rem; }
    .pages ul { display: flex; flex-wrap: wrap; gap: .25rem; list-style: none; margin: 0; padding: 0; }
    .pages a { display: flex; align-items: center; justify-content: space-between; gap: .5rem; padding: .4rem .65rem;
      border-radius: .6rem; color: var(--soft); font-size: .9375rem; text-decoration: none; }
    .pages a:hover { color: var(--ink); background: var(--card); }
    .pages a[aria-current] { color: var(--ink); background: var(--card); font-weight: 600; box-shadow: var(--shade); }
    .count { min-width: 1.4em; padding: 0 .4em; border-radius: 1em; background: var(--bad); color: var(--card);
      font-size: .8125rem; font-weight: 700; line-height: 1.5; text-align: center; }
    main { padding: .75rem 1.25rem 4rem; max-width: 76rem; min-width: 0; }
    @media (min-width: 60rem) {
      body:has(> .pages) { display: grid; grid-template: auto 1fr / 13rem minmax(0, 1fr); }
      .top { grid-column: 1 / -1; padding: 1.25rem 2rem .5rem; }
      .pages { padding: 1rem 0 0 1.25rem; }
      .pages ul { position: sticky; top: 1rem; flex-direction: column; }
      main { padding: 1rem 2rem 4rem 2rem; }
      #ended { grid-column: 2; }
    }

    .notice { padding: .7rem 1rem; border-radius: .7rem; background: var(--tint); border: 1px solid var(--line);
      overflow-wrap: anywhere; max-width: 60rem; }
    .notice.bad { background: var(--bad-tint); color: var(--bad); }
    #ended:not([hidden]) { position: fixed; left: 1rem; right: 1rem; bottom: .5rem; z-index: 1; margin: 0 auto; }
    .hint { color: var(--soft); font-size: .9rem; max-width: 60rem; }
    .panel, table, .card, .empty, .finding { background: var(--card); border: 1px solid var(--line); border-radius: 1rem;
      box-shadow: var(--shade); }
    .panel, .card, .empty, .finding { padding: 1.25rem; margin: 0 0 1.25rem; }
    .panel > :last-child, .card > :last-child, .empty > :last-child, .finding > :last-child { margin-bottom: 0; }
    .empty { padding: 2rem 1.25rem; color: var(--soft); }
    .empty h2 { color: var(--ink); }
    .finding { border-left: 4px solid var(--edge); }
    .finding.bad { border-left-color: var(--bad); }
    .confirm { max-width: 40rem; }
    .heading { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: .25rem 1rem; }
    .columns { display: grid; gap: 0 1.25rem; align-items: start; }
    @media (min-width: 76rem) { .columns { grid-template-columns: 1fr 1fr; } }

    .figures { display: flex; flex-wrap: wrap; gap: .5rem 2.25rem; list-style: none; margin: 0 0 1.5rem; padding: 0; }
    .figure, .figure a { display: flex; align-items: baseline; gap: .5rem; color: var(--soft); }
    .figure b { color: var(--ink); font-size: 1.75rem; line-height: 1.2; font-weight: 650;
      font-variant-numeric: tabular-nums; letter-spacing: -.02em; }
    .figure.good b { color: var(--good); } .figure.warn b { color: var(--warn); } .figure.bad b { color: var(--bad); }

    .mark { display: inline-flex; align-items: baseline; gap: .45rem; font-weight: 500; }
    .mark::before { content: ""; flex: none; width: .6rem; height: .6rem; border-radius: 50%; background: var(--edge); }
    .mark.good::before { background: var(--good); }
    .mark.warn::before { background: var(--warn); border-radius: .15rem; }
    .mark.bad { color: var(--bad); }
    .mark.bad::before { background: var(--bad); border-radius: 0; transform: rotate(45deg) scale(.85); }
    .tags { display: flex; flex-wrap: wrap; gap: .3rem; }
    .tags:empty { display: none; }
    .tag { display: inline-block; padding: 0 .55em; border: 1px solid var(--line); border-radius: 1em; color: var(--soft);
      font-size: .75rem; line-height: 1.6; background: var(--ground); }
    .tag.on { background: var(--tint); border-color: transparent; color: var(--accent); font-weight: 600; }
    .face { flex: none; width: 2.25rem; height: 2.25rem; border-radius: 50%; display: grid; place-items: center;
      color: #fff; font-size: .9rem; font-weight: 600; }
    .face::before { content: attr(data-initial); }
    .face0 { background: #14606e; } .face1 { background: #7a4a12; } .face2 { background: #5b3f8c; }
    .face3 { background: #2f6a3a; }
    .who { display: block; min-width: 0; }
    .who b { display: block; line-height: 1.35; }

    table { width: 100%; border-collapse: separate; border-spacing: 0; margin: 0 0 1.25rem; font-size: .9375rem; }
    caption { padding: 0 0 .6rem; text-align: left; font-size: 1.05rem; font-weight: 600; }
    th, td { padding: .75rem .9rem; text-align: left; vertical-align: top; font-weight: 400; border-top: 1px solid var(--line); }
    thead th { padding: .6rem .9rem; border: 0; color: var(--soft); font-size: .8125rem; font-weight: 600; }
    th > b, .who b { font-weight: 600; }
    tr.idle { color: var(--soft); }
    tr.bad > th:first-child { box-shadow: inset 3px 0 var(--bad); }
    .line { display: block; }
    td { min-width: 5rem; } tbody th { min-width: 8rem; } .bars-table :is(th, td) { min-width: 0; }
    thead th, td time, td .mark, td button, td .button, td summary { white-space: nowrap; }
    .identity { display: flex; gap: .75rem; min-width: 12rem; }
    #accounts td:nth-child(3) { min-width: 6.75rem; } #accounts td:nth-child(4) { min-width: 8.5rem; }
    @media (min-width: 72.01rem) { #accounts th:last-child, #accounts td:last-child { width: 15.5rem; } }
    #grants tbody th { min-width: 12.5rem; }
    #grants td:nth-child(3) { min-width: 11rem; }
    @media (min-width: 79rem) { #accounts th:last-child, #accounts td:last-child { width: 20rem; }
      #accounts td:nth-child(4) { min-width: 10rem; } }
    .field:has(#try-offline) { flex-basis: 18rem; }
    time { white-space: nowrap; font-variant-numeric: tabular-nums; }
    .what { font-weight: 500; }
    @media (max-width: 72rem) {
      table:not(.bars-table) { border: 0; background: none; box-shadow: none; }
      table:not(.bars-table) thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      table:not(.bars-table), table:not(.bars-table) :is(caption, tr, th, td) { display: block; }
      table:not(.bars-table) tbody { display: grid; gap: .75rem; align-items: start;
        grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }
      table:not(.bars-table) tr { min-width: 0; padding: .9rem 1rem; background: var(--card);
        border: 1px solid var(--line); border-radius: 1rem; }
      table:not(.bars-table) tr.bad { border-left: 3px solid var(--bad); }
      tr.bad > th:first-child { box-shadow: none; }
      table:not(.bars-table) :is(th, td) { min-width: 0; padding: .2rem 0; border: 0; }
      table:not(.bars-table) tbody th { padding-bottom: .4rem; font-size: 1rem; }
      .identity { min-width: 0; }
      #accounts :is(th, td) { width: auto; min-width: 0; }
      table:not(.bars-table) td { display: grid; grid-template-columns: 5.5rem minmax(0, 1fr); column-gap: .75rem; }
      table:not(.bars-table) :is(th, td) { overflow-wrap: anywhere; }
      table:not(.bars-table) td > * { grid-column: 2; justify-self: start; min-width: 0; max-width: 100%; }
      table:not(.bars-table) td::before { content: attr(data-column); grid-column: 1; grid-row: 1 / span 9;
        color: var(--soft); font-size: .8125rem; line-height: 1.8; }
      table:not(.bars-table) td[data-column="Actions"] { display: block; padding-top: .6rem; }
      table:not(.bars-table) td[data-column="Actions"]::before, td.none { content: none; display: none !important; }
    }

    button, .button, summary { cursor: pointer; }
    button, .button, .menu > summary { display: inline-flex; align-items: center; justify-content: center; min-height: 2.25rem;
      padding: .3rem .85rem; border: 1px solid var(--edge); border-radius: .6rem; background: var(--card);
      color: var(--ink); font: inherit; font-size: .9rem; font-weight: 550; line-height: 1.3; text-decoration: none;
      text-align: center; }
    button:hover, .button:hover, .menu > summary:hover { border-color: var(--accent); background: var(--tint); }
    button.main, .button.main { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
    button.main:hover, .button.main:hover { filter: brightness(.93); }
    button.danger, .button.danger { color: var(--bad); }
    button.danger:hover, .button.danger:hover { border-color: var(--bad); background: var(--bad-tint); }
    button.quiet { min-height: 2rem; padding: .15rem .7rem; border-color: var(--line); font-size: .875rem; }
    .buttons { display: flex; flex-wrap: wrap; gap: .5rem; align-items: flex-start; }
    .inline { display: inline-flex; flex-wrap: wrap; gap: .5rem; margin: 0; }
    .menu { position: relative; }
    .menu > summary { list-style: none; }
    .menu > summary::-webkit-details-marker { display: none; }
    td :is(button, .button, .menu > summary) { min-height: 2rem; padding: .15rem .7rem; font-size: .85rem; }
    .menu-items { display: grid; gap: .4rem; margin-top: .4rem; padding: .6rem; border: 1px solid var(--line);
      border-radius: .8rem; background: var(--ground); }
    .menu-items :is(button, .button, .inline) { width: 100%; }
    summary { font-weight: 550; }
    pre { margin: .75rem 0 0; padding: 1rem; overflow: auto; max-height: 32rem; border-radius: .7rem; background: var(--ground);
      font-size: .8125rem; line-height: 1.55; }

    .fields, .filters { display: flex; flex-wrap: wrap; gap: .9rem; align-items: flex-end; margin: 0 0 1rem; }
    .field { display: grid; gap: .25rem; min-width: 0; flex: 1 1 11rem; max-width: 24rem; }
    .filters .field { flex: 1 1 8rem; max-width: 15rem; }
    label, legend { font-size: .875rem; font-weight: 550; }
    fieldset { flex: 1 1 100%; min-width: 0; margin: 0; padding: 0; border: 0; }
    legend { padding: 0; margin: 0 0 .25rem; }
    .ticks { display: flex; flex-wrap: wrap; gap: .35rem 1.25rem; }
    .tick { display: inline-flex; align-items: center; gap: .5rem; font-weight: 400; font-size: .9375rem; min-height: 1.75rem; }
    .fields > .tick { flex: 1 1 100%; }
    input[type=checkbox] { width: 1.1rem; height: 1.1rem; margin: 0; flex: none; accent-color: var(--accent); }
    input[type=text], input[type=search], select, textarea { width: 100%; min-width: 0; min-height: 2.25rem; padding: .35rem .65rem;
      border: 1px solid var(--edge); border-radius: .6rem; background: var(--card); color: inherit; font: inherit;
      font-size: .9375rem; }
    select { text-overflow: ellipsis; }
    .inline select { width: auto; max-width: 100%; }
    ::placeholder { color: var(--soft); opacity: 1; }
    .choices { display: flex; gap: .25rem; list-style: none; margin: 0; padding: 0; font-size: .875rem; }
    .choices a { padding: .2rem .6rem; border-radius: .5rem; text-decoration: none; color: var(--soft); }
    .choices a[aria-current] { background: var(--tint); color: var(--accent); font-weight: 600; }
    .pager { display: flex; flex-wrap: wrap; align-items: center; gap: 1rem; margin: 0 0 1.25rem; color: var(--soft); }

    .cards { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr));
      margin: 0 0 1.75rem; align-items: start; }
    .card { margin: 0; }
    .ask { border-top: 4px solid var(--accent); }
    .request { margin: 0 0 .9rem; padding: .7rem .85rem; border-radius: .6rem; background: var(--ground); font-size: .9rem;
      overflow-wrap: anywhere; }
    .host { font-weight: 700; }
    .path { color: var(--soft); }
    dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .3rem 1rem; margin: 0 0 1rem; font-size: .9375rem; }
    dt { color: var(--soft); }
    dd { margin: 0; }
    .facts { gap: .6rem 1.25rem; }
    .said { margin: 0 0 1rem; }
    .said figcaption { color: var(--soft); font-size: .8125rem; }
    blockquote { margin: .25rem 0 0; padding: .5rem .85rem; border-left: 3px solid var(--edge); overflow-wrap: anywhere; }
    .verdict { padding: .9rem 1.1rem; border-radius: .8rem; background: var(--ground); border-left: 4px solid var(--edge); }
    .verdict.good { background: var(--good-tint); border-color: var(--good); }
    .verdict.warn { background: var(--warn-tint); border-color: var(--warn); }
    .verdict.bad { background: var(--bad-tint); border-color: var(--bad); }
    .verdict :is(small, .hint) { color: inherit; }
    .verdict > :last-child { margin: 0; }
    .checks { margin: 0 0 .75rem; padding: 0 0 0 1.1rem; }
    .checks.alone { padding: 0; list-style: none; }
    .outcomes { display: flex; flex-wrap: wrap; gap: .3rem 1.25rem; list-style: none; margin: 0 0 1rem; padding: 0; }

    .legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; font-size: .875rem; color: var(--soft); }
    .legend .mark { color: inherit; font-weight: 400; }
    .legend .mark::before { border-radius: .15rem; transform: none; }
    .legend .mark.good::before { background: var(--bar); }
    .axis.steps { display: grid; grid-template-columns: repeat(5, 1fr); }
    .axis.steps :nth-child(5) { grid-area: 1 / 5; }
    .axis.steps :last-child { grid-area: 1 / 5; justify-self: end; }
    .lanes { display: grid; grid-template-columns: minmax(7rem, 15rem) minmax(0, 1fr); gap: .9rem 1.25rem; align-items: end; }
    .lane { display: contents; }
    .lane-name { min-width: 0; line-height: 1.35; }
    .lane-name .tag { margin-left: .4rem; }
    .axis { grid-column: 2; display: flex; justify-content: space-between; margin-top: -.5rem; color: var(--soft);
      font-size: .8125rem; font-variant-numeric: tabular-nums; }
    svg { display: block; width: 100%; }
    svg.bars { height: 2.75rem; }
    svg.line { height: 1.5rem; }
    svg.bar { height: .75rem; min-width: 4rem; }
    svg .allow { fill: var(--bar); }
    svg .deny { fill: var(--bad); }
    svg line.ground { stroke: var(--line); vector-effect: non-scaling-stroke; }
    svg rect.ground { fill: var(--line); opacity: .6; }
    svg .whole { fill: var(--bar); opacity: .55; }
    svg .whole.bad { fill: var(--bad); } svg .whole.warn { fill: var(--warn); }
    svg .token { fill: var(--soft); } svg .session { fill: var(--accent); } svg .offline { fill: var(--warn); }
    .key::before { content: ""; display: inline-block; width: .3rem; height: .85rem; margin-right: .45rem; vertical-align: -.1rem;
      background: var(--soft); }
    .key.session::before { background: var(--accent); } .key.offline::before { background: var(--warn); }
    .sessions { align-items: center; }
    .bars-table { border: 0; box-shadow: none; background: none; font-size: .875rem; font-variant-numeric: tabular-nums; }
    .bars-table caption { font-size: .875rem; color: var(--soft); font-weight: 400; padding: 0 0 .25rem; }
    .bars-table :is(th, td) { padding: .3rem .6rem .3rem 0; border: 0; vertical-align: middle; white-space: nowrap; }
    .bars-table td:nth-child(2) { width: 60%; }
    .bars-table td:last-child, .bars-table th:last-child { text-align: right; }
    @media (max-width: 40rem) {
      .lanes { grid-template-columns: minmax(0, 1fr); gap: .35rem 0; }
      .lane-name { margin-top: .6rem; }
      .axis { grid-column: 1; margin-top: 0; }
      .axis.steps :nth-child(5) { display: none; }
      .fields > button { width: 100%; }
    }

    .sheet { display: grid; place-items: center; padding: 1.25rem; }
    .sheet main { width: 100%; max-width: 27rem; padding: 2rem; margin: 0; }
    .sheet .brand { margin: 0 0 1.25rem; font-size: .875rem; color: var(--soft); }
    .sheet .fields { display: grid; }
    .sheet .field { max-width: none; }
    .sign { width: 3rem; height: 3rem; margin: 0 0 1.25rem; border-radius: 50%; display: grid; place-items: center;
      background: var(--bad); color: var(--card); font-size: 1.5rem; font-weight: 700; }
    @media (prefers-reduced-motion: no-preference) { button, .button, .pages a { transition: background-color .12s, border-color .12s; } }
    @media (forced-colors: active) { .mark::before, .count, svg rect { forced-color-adjust: none; } }
    @media print { .top, .pages, .buttons, form, .skip { display: none; } }
    """
}
