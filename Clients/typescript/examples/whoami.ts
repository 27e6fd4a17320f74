// Lists the accounts, and tells how long each has a token for: `node whoami.js`.

import { Client, LanyardError } from "lanyard";

const client = new Client({ name: "whoami", timeoutMs: 30_000 });
const { accounts, active } = await client.account.list();
for (const account of accounts) {
  const mark = account.id === active ? "*" : " ";
  try {
    const token = await client.token.get({ account: account.id });
    console.log(`${mark} ${account.alias ?? account.id}: a token for ${token.expiresInSeconds} s`);
  } catch (error) {
    if (!(error instanceof LanyardError)) throw error;
    console.log(`${mark} ${account.alias ?? account.id}: ${error.message}`);
  }
}
