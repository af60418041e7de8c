/**
 * Records the statements that a release's api and launcher send all the time, as its own code makes them, so that an
 * upgrade test can keep them running while the migrations of a later release are applied. Writes
 * `test/fixtures/releases/<version>/statements.json`: `{name, text, values}`, with `{taskId}`, `{accountId}`, `{keyId}`
 * and `{key}` (an idempotency key) where the test puts its own.
 *
 * Usage: npm run ts -- scripts/release-fixture/statements.ts --release 1.0.0 --checkout <folder>
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command } from '@commander-js/extra-typings';

interface Recorded {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

type Release = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;

const options = new Command()
  .requiredOption('--release <version>', 'e.g. 1.0.0')
  .requiredOption('--checkout <folder>', 'a checkout of the release that is built')
  .parse()
  .opts();

const recorded: Recorded[] = [];
/** Answers each statement with no rows: what the caller makes of that does not matter. */
const database = {
  query(statement: { name: string; text: string }, values: readonly unknown[] = []): Promise<readonly unknown[]> {
    const plain = JSON.parse(JSON.stringify(values, asText)) as unknown[];
    recorded.push({ name: statement.name, text: statement.text, values: plain });
    return Promise.resolve([]);
  },
};

function asText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

async function load(file: string): Promise<Release> {
  return (await import(pathToFileURL(path.resolve(options.checkout, 'dist/src', file)).href)) as Release;
}

const task = {
  id: '{taskId}',
  accountId: '{accountId}',
  keyId: '{keyId}',
  idempotencyKey: '{key}',
  fingerprint: { hash: '\\x00', version: 1 },
  model: 'acme/images',
  route: 'default',
  definitionHash: 'none',
  inputJson: '{"prompt":"a lake"}',
  metadata: { order: '17' },
  storage: 'temp',
  queuedSeconds: 3600,
  holdMicroUsd: 1n,
  inputObjects: [],
  spendCapIds: [],
};

const [accept, read, outbox, authenticate] = await Promise.all([
  load('tasks/create/accept.js'),
  load('tasks/record/read.js'),
  load('tasks/outbox/outbox.js'),
  load('accounts/authenticate.js'),
]);
const folder = path.resolve('test/fixtures/releases', options.release);
const fixture = JSON.parse(await readFile(path.join(folder, 'fixture.json'), 'utf8')) as {
  samples: { accounts: readonly { key: string; keyId: string }[] };
};
const [{ key, keyId } = { key: '', keyId: '' }] = fixture.samples.accounts;
const authenticator = authenticate['createAuthenticator']?.(database) as unknown as Release;
await authenticator['authenticate']?.(`Bearer ${key}`).catch(() => undefined);
await accept['acceptTogether']?.(database, '{accountId}', [task], true);
await read['readTask']?.(database, '{taskId}', '{accountId}').catch(() => undefined);
await outbox['claimOutbox']?.(database, 10);

const text = JSON.stringify(recorded, undefined, 2).replaceAll(JSON.stringify(keyId), '"{keyId}"');
await writeFile(path.join(folder, 'statements.json'), `${text}\n`);
process.stderr.write(`${recorded.map(({ name }) => name).join(', ')}\n`);
