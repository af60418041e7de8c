/**
 * A problem that only the operator can fix ends a process at once, with one plain message that names the variable: a
 * line of its log, which is JSON where the log is.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createWebhookKeys } from '../../src/accounts/webhook-key.ts';
import type { WebhookKeys } from '../../src/accounts/webhook-key.ts';
import { newWebhookSecret } from '../../src/callbacks/signing.ts';
import { checkStoredSecrets } from '../../src/commands/process-lifecycle.ts';
import type { Foundation } from '../../src/processes/foundation.ts';
import { builtProgram } from '../support/built-program.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

/** EX_CONFIG: a supervisor does not restart the process. */
const UNUSABLE_CONFIGURATION = 78;
const BEFORE = 'the encryption key of before, 32 characters';
/** The level of the line that has the reason. */
const FATAL = 60;
/** Nothing listens there. */
const NOWHERE = '127.0.0.1:1';

let test: TestDatabase;
before(async () => {
  test = await createTestDatabase();
});
after(() => test.close());

/** Starts a role of the program, which has to end by itself. */
function run(role: string, environment: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [...builtProgram(), role], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      DATABASE_URL: `postgres://darkroom@${NOWHERE}/darkroom`,
      TEMPORAL_ADDRESS: NOWHERE,
      STORE_URL: 'file:///nowhere/darkroom',
      URL_SIGNING_KEY: 'a signing key of at least 32 characters',
      ENCRYPTION_KEY: 'an encryption key of at least 32 characters',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** @returns the message of the last line, which has to be the only one of this level. */
function reasonOf(output: string, role: string, code: number): string {
  const lines = output
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { level: number; role: string; exitCode?: number; msg: string });
  const last = lines.at(-1) ?? assert.fail('it logged nothing');
  assert.deepEqual([last.level, last.role, last.exitCode], [FATAL, role, code], output);
  assert.equal(lines.filter(({ level }) => level === FATAL).length, 1, output);
  return last.msg;
}

function assertPlain(output: string, expected: RegExp): void {
  assert.match(output, expected);
  assert.doesNotMatch(output, /\n +at |node_modules/, output);
}

describe('an api', () => {
  for (const [problem, environment, expected] of [
    [
      'an address that it may reach is none',
      { EGRESS_ALLOW: 'everything' },
      /EGRESS_ALLOW: "everything": want host:port/,
    ],
    ['the store is none', { STORE_URL: 'ftp://store' }, /STORE_URL.*begins with ftp:/],
    ['the database is none', { DATABASE_URL: 'mysql://db' }, /DATABASE_URL: want postgres:\/\//],
    [
      'the certificate cannot be read',
      { TLS_CERT_FILE: '/nowhere.pem', TLS_KEY_FILE: '/nowhere.key' },
      /TLS_CERT_FILE: .*nowhere\.pem/,
    ],
  ] as const) {
    it(`does not wait for its database when ${problem}`, async () => {
      const { code, output } = await run('api', environment);
      assert.equal(code, UNUSABLE_CONFIGURATION, output);
      assertPlain(reasonOf(output, 'api', UNUSABLE_CONFIGURATION), expected);
    });
  }

  it('says it as plain text where its log is for people', async () => {
    const { code, output } = await run('api', { DATABASE_URL: 'mysql://db', LOG_FORMAT: 'pretty' });
    assert.equal(code, UNUSABLE_CONFIGURATION, output);
    assertPlain(output, /^  - DATABASE_URL: want postgres:\/\//m);
  });

  it('logs an error that is not expected with its stack, in one line', async () => {
    // When it runs: once it listens for signals.
    const fails = `const { on } = process;
      process.on = function (event, ...rest) {
        if (event === 'SIGTERM') setImmediate(() => { throw new TypeError('a bug'); });
        return on.call(this, event, ...rest);
      };`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(fails)}`;
    const { code, output } = await run('api', { NODE_OPTIONS });
    assert.equal(code, 1, output);
    assert.equal(reasonOf(output, 'api', 1), 'the process ends: a bug');
    assert.match(output, /"stack":"TypeError: a bug/);
  });

  it('reports which stored secrets none of its keys decrypts, and keeps serving requests that replace them', async () => {
    const webhookKeys = createWebhookKeys(BEFORE);
    const accountId = await createAccount(test.database, 'studio');
    await test.database.transaction((transaction) =>
      webhookKeys.replace(transaction, accountId, newWebhookSecret(), Date.now()),
    );
    const lines: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
    const check = (keys: WebhookKeys): Promise<void> =>
      checkStoredSecrets({ database: test.database, logger, webhookKeys: keys } as unknown as Foundation);

    await check(webhookKeys);
    assert.deepEqual(lines, []);
    await check(createWebhookKeys('another key'.repeat(4)));
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /neither by ENCRYPTION_KEY nor by ENCRYPTION_KEY_FALLBACKS/);
    assert.match(lines[0] ?? '', new RegExp(`"undecryptable":1,.*"${accountId}"`));
    await check(createWebhookKeys('another key'.repeat(4), BEFORE));
    assert.match(lines[1] ?? '', /still need ENCRYPTION_KEY_FALLBACKS/);
  });

  it('reports that PostgreSQL rejected its login', async () => {
    const url = new URL(test.url);
    url.pathname = '/nothing_of_that_name';
    const { code, output } = await run('api', { DATABASE_URL: url.href });
    assert.equal(code, 1, output);
    assertPlain(
      reasonOf(output, 'api', 1),
      /^DATABASE_URL: PostgreSQL denies access: database "nothing_of_that_name" does not exist$/,
    );
  });
});

describe('validate-configuration', () => {
  it('accepts what an api or a worker accepts, without connecting to anything', async () => {
    const { code, output } = await run('validate-configuration', { EGRESS_DENY: '8.8.8.0/24' });
    assert.equal(code, 0, output);
    assert.match(output, /configuration is valid/);
  });

  it('reports everything that they would reject, at once', async () => {
    const { code, output } = await run('validate-configuration', {
      TASK_RETENTION_DAYS: '7',
      TRACE_RATIO: '7',
      CALLBACK_OFFSETS_SECONDS: 'abc',
      STORAGE_USD_PER_GB_MONTH: '-3',
      CALLBACK_HEADER_PREFIX: 'webhook',
      TRUSTED_PROXIES: '999.1.1.1/8',
      EGRESS_DENY: '1.1.1.1/99',
    });
    assert.equal(code, UNUSABLE_CONFIGURATION, output);
    const reason = reasonOf(output, 'validate-configuration', UNUSABLE_CONFIGURATION);
    assertPlain(reason, /^the configuration has 8 problem\(s\):$/m);
    for (const name of [
      'TASK_RETENTION_DAYS',
      'TRACE_RATIO',
      'CALLBACK_OFFSETS_SECONDS',
      'STORAGE_USD_PER_GB_MONTH',
      'CALLBACK_HEADER_PREFIX',
      'TRUSTED_PROXIES',
      'EGRESS_DENY',
    ]) {
      assert.match(reason, new RegExp(`^  - ${name}: `, 'm'));
    }
  });
});

describe('migrate', () => {
  for (const [problem, environment, expected] of [
    ['no PostgreSQL answers', {}, /^DATABASE_URL: postgres:\/\/127\.0\.0\.1:1\/darkroom: connect ECONNREFUSED/m],
    [
      'the name of the host is unknown',
      { DATABASE_DIRECT_URL: 'postgres://somebody:secret@nowhere.invalid/darkroom' },
      /^DATABASE_DIRECT_URL: postgres:\/\/nowhere\.invalid\/darkroom: getaddrinfo \w+ nowhere\.invalid/m,
    ],
  ] as const) {
    it(`names the setting, and no password, when ${problem}`, async () => {
      const { code, output } = await run('migrate', environment);
      assert.equal(code, 1, output);
      assertPlain(reasonOf(output, 'migrate', 1), expected);
      assert.doesNotMatch(output, /secret/);
    });
  }

  it('reports that Temporal is unavailable', async () => {
    const { code, output } = await run('migrate', programEnvironment(test.url));
    assert.equal(code, 1, output);
    assertPlain(
      reasonOf(output, 'migrate', 1),
      new RegExp(`^TEMPORAL_ADDRESS: no Temporal server answers at ${NOWHERE}: .*$`, 'm'),
    );
  });
});
