/** The admin commands: their effect on the database, their output, and their errors. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { createAuthenticator } from '../../src/accounts/authenticate.ts';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { createWebhookKeys } from '../../src/accounts/webhook-key.ts';
import { toWhsec } from '../../src/callbacks/signing.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { recordFiles, recordJob, recordRejection } from '../../src/tasks/lifecycle/generations.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { pauseUpstream } from '../../src/upstreams/states.ts';
import { temporaryDirectory } from '../standalone/fixtures/supervised.ts';
import { pruneNow } from '../tasks/old-tasks.ts';
import { PRICE, body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { ENCRYPTION_KEY, publishInstance, runAdminInHost } from './admin-command.ts';
import type { CommandResult } from './admin-command.ts';
import { programEnvironment } from '../support/pooled-run.ts';

type Printed = Record<string, unknown>;

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
  await createPinnedDefinitions(room.database).pin(room.catalogue.models);
});
after(() => room.close());

function run(...args: string[]): Promise<CommandResult> {
  return runAdminInHost(args, { ...programEnvironment(room.url), ENCRYPTION_KEY });
}

/** Runs a command that must succeed. @returns its output, parsed as JSON. */
async function ask<Answer = Printed>(...args: string[]): Promise<Answer> {
  const { code, stdout, stderr } = await run(...args, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Answer;
}

/**
 * Runs a command that must fail: one plain message, nothing on standard output.
 *
 * @param command as it is typed. @param more what follows it and is not one word: an empty or a blank value, several
 *   words.
 */
async function assertRejected(expected: RegExp, command: string, ...more: string[]): Promise<void> {
  const args = [...command.split(' '), ...more];
  const { code, stdout, stderr } = await run(...args);
  assert.equal(code, 1, `${args.join(' ')}: ${stdout}`);
  assert.equal(stdout, '');
  assert.match(stderr, expected, args.join(' '));
  assert.doesNotMatch(stderr, /\n +at |node_modules|SELECT|INSERT/, args.join(' '));
}

async function newAccount(...options: string[]): Promise<string> {
  const { account } = await ask('accounts', 'create', '--name', 'studio', ...options);
  return String(account);
}

async function callerOf(apiKey: unknown): Promise<Caller> {
  return createAuthenticator(room.database).authenticate(`Bearer ${String(apiKey)}`);
}

describe('the help of admin', { concurrency: 2 }, () => {
  it('shows at each level the possible commands, with defaults, choices and the options of all commands', async () => {
    const group = await run('keys', '--help');
    assert.equal(group.code, 0);
    assert.match(group.stdout, /^Usage: npm run admin -- keys <command>\n\nAPI keys\n/);
    assert.match(group.stdout, /\n {2}rotate <key> +replace a key by one with the same rights/);

    for (const args of [
      ['keys', 'create', '-h'],
      ['--json', 'keys', 'create', '--name', 'x', '--help'],
      ['keys', 'help', 'create'],
    ]) {
      const { code, stdout, stderr } = await run(...args);
      assert.equal(code, 0);
      assert.equal(stderr, '');
      assert.match(stdout, /^Usage: npm run admin -- keys create \[options\]\n\ncreate a key; it is shown once\n/);
      assert.match(stdout, /--name <name> +name of the key \(default: "key"\)/);
      assert.match(stdout, /--scopes <scopes\.\.\.> +default: all \(choices: "tasks:read", "tasks:write",/);
      assert.match(stdout, /--json +print JSON/);
    }

    assert.match(
      (await run('accounts', 'top-up', '--help')).stdout,
      /--usd <amount> +decimal USD, e\.g\. 10 or 0\.5 \(required\)/,
    );
  });
});

describe('admin accounts', { concurrency: 2 }, () => {
  it('creates, shows and limits an account', async () => {
    const account = await newAccount('--usd', '2.5', '--running-cap', '3', '--creates-per-minute', '7');

    const shown = await ask('accounts', 'show', account);
    assert.equal(shown['available'], '2.5');
    assert.equal(shown['running'], 0);
    assert.equal(shown['runningCap'], 3);
    assert.equal(shown['createsPerMinute'], 7);
    assert.equal(shown['readsPerMinute'], 1200);
    const limits = ['--queue-cap', '0', '--storage-cap-gb', '2', '--name', 'x'];
    const limited = await ask('accounts', 'limits', account, ...limits);
    assert.equal(limited['queueCap'], 0);
    assert.equal(limited['storageCapBytes'], 2_000_000_000);
    assert.equal(limited['runningCap'], 3);
    const text = ['--text-requests-per-minute', '4', '--text-tokens-per-minute', '5', '--text-streams-cap', '0'];
    const ofText = await ask('accounts', 'limits', account, ...text);
    assert.deepEqual(
      [ofText['textRequestsPerMinute'], ofText['textTokensPerMinute'], ofText['textStreamsCap'], ofText['textStreams']],
      [4, 5, 0, 0],
    );
    assert.equal(limited['name'], 'x');
    const listed = await ask<Printed[]>('accounts', 'list');
    assert.ok(listed.some((each) => each['account'] === account));
  });

  it('creates a signing secret with the account, prints it once, and signs with it', async () => {
    const made = await ask('accounts', 'create', '--name', 'signed');

    const account = String(made['account']);
    const active = await createWebhookKeys(ENCRYPTION_KEY).activeSecrets(room.database, account, Date.now());
    assert.deepEqual(active, [made['webhookSecret']]);
    assert.match(String(made['webhookSecret']), /^[\w-]{43}$/);
    assert.equal(made['whsec'], toWhsec(String(made['webhookSecret'])));
    const shown = JSON.stringify(await ask('accounts', 'show', account));
    assert.ok(!shown.includes(String(made['webhookSecret'])));
  });

  it('creates no account when no key can encrypt its signing secret, and names the missing key', async () => {
    const { code, stderr } = await runAdminInHost(['accounts', 'create', '--name', 'unsigned'], {
      ...programEnvironment(room.url),
    });

    assert.notEqual(code, 0);
    assert.match(stderr, /ENCRYPTION_KEY is not set/);
    const listed = await ask<Printed[]>('accounts', 'list');
    assert.ok(!listed.some(({ name }) => name === 'unsigned'));
  });

  it('prints the command that tops up an account without a balance', async () => {
    const empty = await run('accounts', 'create', '--name', 'empty', '--json');
    const { account } = JSON.parse(empty.stdout) as Printed;
    assert.ok(empty.stderr.includes(`npm run admin -- accounts top-up ${String(account)} --usd 10`), empty.stderr);

    const paid = await run('accounts', 'create', '--name', 'paid', '--usd', '1');
    assert.doesNotMatch(paid.stderr, /top-up/);
  });

  it('includes the data directory in that command when the account is in its installation', async () => {
    const directory = await temporaryDirectory();
    await publishInstance(directory, {
      databaseUrl: room.url,
      environment: { ...programEnvironment(room.url), ENCRYPTION_KEY, DARKROOM_EMBEDDED: 'true', DATA_DIR: directory },
    });

    const { stderr } = await runAdminInHost(['accounts', 'create', '--name', 'empty', '--data-dir', directory], {});

    assert.match(stderr, /until npm run admin -- --data-dir '.*' accounts top-up acc_\w+ --usd 10\n/);
    assert.ok(stderr.includes(`--data-dir '${directory}'`), stderr);
    await rm(directory, { recursive: true, force: true });
  });

  it('creates an account in the organisation of another, whose wallet it shares', async () => {
    const first = await newAccount('--usd', '4');

    const made = await run('accounts', 'create', '--name', 'project', '--organisation-id', first, '--json');

    assert.doesNotMatch(made.stderr, /top-up/);
    const { account, organisation, wallet, available } = JSON.parse(made.stdout) as Printed;
    assert.notEqual(account, first);
    assert.deepEqual([organisation, wallet, available], [first, first, '4']);
    const added = await ask('accounts', 'top-up', String(account), '--usd', '1');
    assert.equal(added['available'], '5');
    assert.equal((await ask('accounts', 'show', first))['available'], '5');
    for (const organisationId of ['acc_none', String(account)]) {
      await assertRejected(
        new RegExp(`--organisation-id: no organisation ${organisationId};`),
        `accounts create --name x --organisation-id ${organisationId}`,
      );
    }
  });

  it('adds and corrects money, each reference once', async () => {
    const account = await newAccount();
    const reference = `invoice-${account}`;

    const added = await ask('accounts', 'top-up', account, '--usd', '10', '--reference', reference);
    assert.deepEqual(added, { account, added: '10', available: '10', reference });
    await assertRejected(
      new RegExp(`--reference: the reference ${reference} was used before; nothing was booked`),
      `accounts top-up ${account} --usd 10 --reference ${reference}`,
    );
    const adjusted = await ask('accounts', 'adjust', account, '--usd', '-0.5');
    assert.equal(adjusted['adjusted'], '-0.5');
    assert.equal(adjusted['available'], '9.5');
    await assertRejected(/--usd: an adjustment cannot take more/, `accounts adjust ${account} --usd=-9.6`);
    assert.equal((await ask('accounts', 'show', account))['available'], '9.5');
  });

  it('suspends an account and resumes it', async () => {
    const account = await newAccount();
    const { apiKey } = await ask('keys', 'create', '--account', account);

    assert.equal((await ask('accounts', 'suspend', account))['status'], 'suspended');
    await assert.rejects(callerOf(apiKey), { name: 'AccountSuspendedError' });
    assert.equal((await ask('accounts', 'show', account))['suspensionReason'], null);
    const suspended = await ask('accounts', 'suspend', account, '--reason', ' charged back ');
    assert.equal(suspended['suspensionReason'], 'charged back');
    const resumed = await ask('accounts', 'resume', account);
    assert.deepEqual([resumed['status'], resumed['suspensionReason']], ['active', null]);
    assert.equal((await callerOf(apiKey)).accountId, account);
  });

  it('prints readable lines unless JSON is requested, and the database in use beside them', async () => {
    const account = await newAccount('--usd', '1');

    const { stdout, stderr, code } = await run('accounts', 'show', account);

    assert.equal(code, 0);
    assert.match(
      stdout,
      new RegExp(
        `^account +${account}\nname +studio\norganisation +${account}\nstatus +active\nsuspensionReason +-\nwallet +${account}\navailable +1\n`,
      ),
    );
    assert.match(stderr, /^using the database postgres:\/\/127\.0\.0\.1:\d+\/test_\w+ \(DATABASE_URL\)\n$/);
    assert.doesNotMatch(stderr, /only-for-tests/);
  });

  it('rejects invalid values', async () => {
    const account = await newAccount();
    await assertRejected(/--name: want 1 to 100 characters on one line/, 'accounts create --name', '');
    await assertRejected(/--name: want 1 to 100 characters on one line/, 'accounts create --name', '  ');
    await assertRejected(
      /--name: want 1 to 100 characters on one line/,
      `accounts limits ${account} --name`,
      ' \u3000',
    );
    await assertRejected(/--usd: "1e3" is not a decimal amount/, 'accounts create --name x --usd 1e3');
    await assertRejected(/--usd: given more than once/, 'accounts create --name x --usd 1 --usd 2');
    await assertRejected(
      /'--running-cap <number>' argument '1\.5' is invalid\. Want a whole number from 0 to 1000000/,
      `accounts limits ${account} --running-cap 1.5`,
    );
    await assertRejected(
      /'--text-streams-cap <number>' argument '-1' is invalid\. Want a whole number from 0/,
      `accounts limits ${account} --text-streams-cap=-1`,
    );
    await assertRejected(
      /'--queue-cap <number>' argument 'many' is invalid\. Want a whole number from 0/,
      `accounts limits ${account} --queue-cap many`,
    );
    await assertRejected(/name at least one of --creates-per-minute, .*, --name\n/, `accounts limits ${account}`);
    await assertRejected(/--usd: nothing to add/, `accounts top-up ${account} --usd 0.0`);
    await assertRejected(/--usd: nothing to correct/, `accounts adjust ${account} --usd -0`);
    await assertRejected(/required option '--usd <amount>' not specified/, `accounts top-up ${account}`);
    await assertRejected(/no account acc_none/, 'accounts suspend acc_none');
    await assertRejected(/--reason: want 1 to 500 characters on one line/, `accounts suspend ${account} --reason`, ' ');
    await assertRejected(/--reason: want 1 to 500/, `accounts suspend ${account} --reason`, 'two\nlines');
    await assertRejected(/--reference: want 1 to 200/, `accounts top-up ${account} --usd 1 --reference`, 'a b');
    await assertRejected(
      /unknown option '--limit'\nnpm run admin -- accounts list --help shows/,
      'accounts list --limit 3',
    );
    await assertRejected(
      /unknown command 'account'\n\(Did you mean accounts\?\)\nnpm run admin -- --help lists/,
      'account list',
    );
    await assertRejected(
      /^Usage: npm run admin -- accounts <command>\n[^]* top-up <account> [^]*\n\nname a command of accounts\n$/,
      'accounts',
    );
    await assertRejected(/^Usage: npm run admin -- <group> <command>\n[^]*\n\nname a group of commands\n$/, '--json');
    await assertRejected(
      /unknown option '--refrence'\n\(Did you mean --reference\?\)/,
      `accounts top-up ${account} --usd 1 --refrence x`,
    );
    await assertRejected(/missing required argument 'account'/, 'accounts show');
    await assertRejected(/too many arguments for 'show'/, `accounts show ${account} ${account}`);
    await assertRejected(/--data-dir: given more than once/, '--data-dir a accounts list --data-dir b');
  });
});

describe('admin keys', { concurrency: 2 }, () => {
  it('creates a key with limited scopes, which is printed once and works', async () => {
    const account = await newAccount('--usd', '1');

    const limits = '--scopes tasks:read,tasks:write --models acme/images --expires 30d --cap-day 0.02 --cap-total 5';
    const made = await ask('keys', 'create', '--account', account, '--name', 'ci', ...limits.split(' '));

    const caller = await callerOf(made['apiKey']);
    assert.deepEqual([...caller.scopes], ['tasks:read', 'tasks:write']);
    assert.deepEqual([...(caller.models ?? [])], ['acme/images']);
    const days = ((caller.expiresAt?.getTime() ?? 0) - Date.now()) / 86_400_000;
    assert.ok(days > 29.9 && days <= 30);
    await room.creator.create(caller, body(), undefined);
    const [listed, ...others] = await ask<Printed[]>('keys', 'list', '--account', account);
    assert.deepEqual(others, []);
    assert.equal(listed?.['keyId'], made['keyId']);
    assert.deepEqual(listed?.['scopes'], ['tasks:read', 'tasks:write']);
    assert.deepEqual(listed['capDay'], { usd: '0.02', spent: '0.01' });
    assert.deepEqual(listed['capTotal'], { usd: '5', spent: '0.01' });
    assert.ok(!JSON.stringify(listed).includes(String(made['apiKey'])));
  });

  it('accepts a list as one value, as several, and as a repeated option', async () => {
    const account = await newAccount();
    const spellings = [
      ['--scopes', 'tasks:read,tasks:write', '--account', account],
      ['--account', account, '--scopes', 'tasks:read', 'tasks:write'],
      ['--scopes=tasks:read', '--account', account, '--scopes', 'tasks:write'],
    ];

    for (const spelling of spellings) await ask('keys', 'create', ...spelling);

    const listed = await ask<Printed[]>('keys', 'list', '--account', account);
    assert.deepEqual(
      listed.map(({ scopes }) => scopes),
      spellings.map(() => ['tasks:read', 'tasks:write']),
    );
  });

  it('rotates a key: both work, or the old one expires immediately', async () => {
    const account = await newAccount();
    const old = await ask('keys', 'create', '--account', account);

    const next = await ask('keys', 'rotate', String(old['keyId']));
    assert.equal(next['replaces'], old['keyId']);
    assert.equal((await callerOf(old['apiKey'])).accountId, account);
    assert.equal((await callerOf(next['apiKey'])).accountId, account);
    const last = await ask('keys', 'rotate', String(next['keyId']), '--overlap', '0');
    await assert.rejects(callerOf(next['apiKey']), { name: 'UnauthenticatedError' });
    assert.equal((await callerOf(last['apiKey'])).accountId, account);
    await assertRejected(/was replaced already/, `keys rotate ${String(old['keyId'])}`);
  });

  it('revokes a key permanently', async () => {
    const made = await ask('keys', 'create', '--account', await newAccount());

    assert.deepEqual(await ask('keys', 'revoke', String(made['keyId'])), { keyId: made['keyId'], revoked: true });

    await assert.rejects(callerOf(made['apiKey']), { name: 'UnauthenticatedError' });
    await assertRejected(/was revoked/, `keys rotate ${String(made['keyId'])}`);
  });

  it('rejects invalid values', async () => {
    const account = await newAccount();
    const create = `keys create --account ${account}`;
    await assertRejected(
      /'--scopes <scopes\.\.\.>' argument 'everything' is invalid\. Allowed choices are tasks:read, tasks:write/,
      `${create} --scopes everything`,
    );
    await assertRejected(/--models: "acme\/none" is not the name of a model/, `${create} --models acme/none`);
    await assertRejected(/--expires: "soon" is not a date/, `${create} --expires soon`);
    await assertRejected(/--expires: 2001-01-01 is not in the future/, `${create} --expires 2001-01-01`);
    await assertRejected(/--expires: "2027-02-31/, `${create} --expires 2027-02-31T25:00:00Z`);
    await assertRejected(/--cap-day: "-1" is not a decimal amount/, `${create} --cap-day -1`);
    await assertRejected(
      /'--overlap <seconds>' argument '604801' is invalid\. Want a whole number from 0 to 604800/,
      'keys rotate x --overlap 604801',
    );
    await assertRejected(/no key none/, 'keys revoke none');
    await assertRejected(/no key none/, 'keys rotate none');
    await assertRejected(/there is more than one account; name one/, 'keys list');
    assert.deepEqual(await ask('keys', 'list', '--account', account), []);
  });
});

describe('admin webhook-key', () => {
  it('sets, rotates, shows and deletes the secret that signs callbacks', async () => {
    const account = await newAccount();
    const ofAccount = ['--account', account];
    const keys = createWebhookKeys(ENCRYPTION_KEY);
    const active = () => keys.activeSecrets(room.database, account, Date.now());

    await ask('webhook-key', 'delete', ...ofAccount);
    await ask('webhook-key', 'set', ...ofAccount, '--secret', 'sixteen letters!');
    assert.deepEqual(await active(), ['sixteen letters!']);
    const rotated = await ask('webhook-key', 'rotate', ...ofAccount);
    assert.deepEqual(await active(), [rotated['secret'], 'sixteen letters!']);
    const shown = await ask<Printed[]>('webhook-key', 'show', ...ofAccount);
    assert.deepEqual(
      shown.map(({ secret }) => secret),
      await active(),
    );
    await ask('webhook-key', 'delete', ...ofAccount);
    assert.deepEqual(await active(), []);
    await assertRejected(
      /--secret: want 16 to 256 characters, got 5/,
      `webhook-key set --account ${account} --secret short`,
    );
  });
});

describe('admin ledger, usage and queues', () => {
  it('lists ledger entries, sums usage up, and verifies the ledger', async () => {
    const account = await newAccount('--usd', '1');
    const made = await ask('keys', 'create', '--account', account);
    const { taskId } = await room.creator.create(await callerOf(made['apiKey']), body(), undefined);
    await claimOutbox(room.database, 100);
    const success = { status: 'success', outputs: [], capturedMicroUsd: PRICE } as const;
    await settleTask(room.database, taskId, success, { retentionDays: 7 });

    const list = ['ledger', 'list', '--account', account];
    const page = await ask<{ entries: Printed[]; nextCursor: string }>(...list, '--size', '1');
    assert.equal(page.entries[0]?.['kind'], 'capture');
    const rest = await ask<{ entries: Printed[] }>(...list, '--cursor', page.nextCursor);
    assert.deepEqual(
      rest.entries.map(({ kind, available }) => [kind, available]),
      [
        ['hold', '0.99'],
        ['topup', '1'],
      ],
    );
    const ofTask = await ask<{ entries: Printed[] }>(...list, '--reference', taskId, '--kind', 'hold,release');
    assert.equal(ofTask.entries.length, 1);
    const usage = await ask<{ rows: Printed[] }>('usage', '--account', account, '--group-by', 'model,keyId');
    assert.deepEqual(usage.rows, [{ model: 'acme/images', keyId: made['keyId'], captured: '0.01', count: 1 }]);
    const table = await run('usage', '--json', '--account', account, '--group-by=model,keyId', '--no-json');
    assert.match(table.stdout, new RegExp(`^account +${account}\n[^]*\ngroupBy +model keyId\n`));
    assert.deepEqual(await ask('ledger', 'verify'), { holds: true, violations: [] });

    await assertRejected(
      /--cursor: unknown cursor: use the `nextCursor` of the previous page/,
      `ledger list --account ${account} --cursor x`,
    );
    await assertRejected(
      /'--size <number>' argument '0' is invalid\. Want a whole number from 1 to 1000/,
      `ledger list --account ${account} --size 0`,
    );
    for (const command of [`usage --account ${account}`, 'ledger costs']) {
      await assertRejected(
        /--from: maximum: got 2026-11-02, want 2026-11-01, the value of to/,
        `${command} --from 2026-11-02 --to 2026-11-01`,
      );
    }
    await assertRejected(/--from: there is no such day/, `usage --account ${account} --from 2026-02-31`);
    await assertRejected(
      /'--group-by <groups\.\.\.>' argument 'week' is invalid\. Allowed choices are day, /,
      `usage --account ${account} --group-by week`,
    );
  });

  it('exits with 1 when the ledger does not add up, and reports the difference', async () => {
    const account = await newAccount('--usd', '1');
    const change = 'UPDATE account_counters SET available_micro_usd = available_micro_usd + $2 WHERE account_id = $1';
    await room.rows(change, account, 1);

    const json = await run('ledger', 'verify', '--json');
    const text = await run('ledger', 'verify');
    await room.rows(change, account, -1);

    assert.equal(json.code, 1);
    const report = JSON.parse(json.stdout) as { holds: boolean; violations: Printed[] };
    assert.equal(report.holds, false);
    assert.ok(report.violations.every(({ subject }) => subject === account));
    assert.equal(text.code, 1);
    assert.match(text.stdout, /^holds +false\nviolations/);
    assert.match(text.stdout, new RegExp(`topups \\+ adjustments = available \\+ held \\+ captured +${account}`));
  });

  it('reports queued and running work', async () => {
    const account = await newAccount('--usd', '1', '--running-cap', '0');
    const { apiKey } = await ask('keys', 'create', '--account', account);
    await room.creator.create(await callerOf(apiKey), body(), undefined);

    const { accounts } = await ask<{ accounts: Printed[] }>('queues');

    const entry = accounts.find(({ accountId }) => accountId === account);
    assert.deepEqual([entry?.['queued'], entry?.['running'], entry?.['runningCap']], [1, 0, 0]);
    assert.match((await run('queues')).stdout, new RegExp(`accountId +name +isSuspended[^]*${account} +studio +false`));
  });
});

describe('admin tasks and outputs', () => {
  it('shows a task of any account with its timeline, without its input, and cancels it', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body({ input: { prompt: 'a secret' } }), undefined);

    const shown = await ask<Printed & { events: Printed[] }>('tasks', 'show', taskId);
    assert.equal(shown['status'], 'queued');
    assert.equal(shown['account'], caller.accountId);
    assert.deepEqual(
      shown.events.map(({ type }) => type),
      ['accepted'],
    );
    assert.ok(!JSON.stringify(shown).includes('a secret'));
    const cancelled = await ask('tasks', 'cancel', taskId);
    assert.equal(cancelled['status'], 'fail');
    assert.equal(cancelled['reason'], 'cancelled');
    assert.equal((await readTask(room.database, taskId)).status, 'fail');
    assert.equal((await ask('tasks', 'cancel', taskId))['reason'], 'cancelled');

    await assertRejected(/"nonsense" is not the id of a task/, 'tasks show nonsense');
    await assertRejected(/there is no such task/, `tasks show ${newTaskId()}`);
    await assertRejected(/there is no such task/, `tasks cancel ${newTaskId()}`);
  });

  it('shows the attempts at upstreams, and that an ended task holds nothing', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    const held = await ask('tasks', 'show', taskId);
    assert.equal(held['held'], '0.01');
    const at = { upstreamName: 'one:example.com', upstreamIndex: 0, label: 'one' };
    await recordRejection(room.database, taskId, at, 'provider_error');
    await recordJob(room.database, await readWorkingTask(room.database, taskId), at, 'job-7');

    const shown = await ask<Printed & { attempts: Printed[] }>('tasks', 'show', taskId);
    assert.deepEqual(
      shown.attempts.map(({ upstream, outcome, reason }) => [upstream, outcome, reason]),
      [
        ['one', 'rejected', 'provider_error'],
        ['one', 'accepted', ''],
      ],
    );
    assert.deepEqual([shown['upstream'], shown['work'], shown['job']], ['one:example.com', 'submitted', 'job-7']);

    await settleTask(room.database, taskId, { status: 'fail', reason: 'timed_out' }, { retentionDays: 7 });
    const settled = await ask('tasks', 'show', taskId);
    assert.equal(settled['held'], '0');
    const listed = await ask<{ work: Printed[] }>('tasks', 'list', '--status', 'fail', '--account', caller.accountId);
    assert.deepEqual(
      listed.work.map(({ id, reason, upstream }) => [id, reason, upstream]),
      [[taskId, 'timed_out', 'one:example.com']],
    );
    const ofKey = await ask<{ work: Printed[] }>('tasks', 'list', '--key', caller.keyId, '--since', '1h');
    assert.deepEqual(ofKey.work, listed.work);
    assert.deepEqual((await ask<{ work: Printed[] }>('tasks', 'list', '--user', 'nobody')).work, []);
    assert.deepEqual((await ask<{ work: Printed[] }>('tasks', 'list', '--reason', 'no_output')).work, []);
    await assertRejected(/--since: "yesterday" is not a date/, 'tasks list --since yesterday');
    await assertRejected(/status: of kind task, want/, 'tasks list --status answered');
  });

  it('shows the attempt at an upstream that answers with the result, which is no job', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    const at = { upstreamName: 'two:example.com', upstreamIndex: 0, label: 1 };
    await recordRejection(room.database, taskId, { ...at, label: 'one' }, 'provider_error');
    await recordFiles(room.database, await readWorkingTask(room.database, taskId), at, []);

    const shown = await ask<Printed & { attempts: Printed[]; events: Printed[] }>('tasks', 'show', taskId);
    const produced = shown.events.find(({ type }) => type === 'produced');
    assert.deepEqual(
      shown.attempts.map(({ upstream, outcome }) => [upstream, outcome]),
      [
        ['one', 'rejected'],
        ['two:example.com', 'accepted'],
      ],
    );
    assert.equal(shown.attempts[1]?.['at'], produced?.['at']);
  });

  it('prints margins for people as a table', async () => {
    const { stdout } = await run('margins');
    assert.doesNotMatch(stdout, /[{}"]/);
    assert.match(stdout, /^total +tasks \d+, textCalls \d+, /m);
  });

  it('shows where the archive of a pruned task is, and cancels none', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    await pruneNow(room, taskId);

    const { created, completed, pruned, archive, ...shown } = await ask('tasks', 'show', taskId);

    assert.deepEqual(shown, { task: taskId, account: caller.accountId, status: 'pruned' });
    assert.match(String(archive), new RegExp(`^archive/tasks/${caller.accountId}/.*${taskId}.*\\.ndjson\\.gz$`));
    const times = [created, completed, pruned].map((time) => Date.parse(String(time)));
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    assert.ok(times.every((time) => time > 0));
    await assertRejected(/the task was created at .* and was removed at/, `tasks cancel ${taskId}`);
  });

  it('takes an output down, once', async () => {
    const caller = await room.newCaller();
    const { taskId } = await room.creator.create(caller, body(), undefined);
    const outputId = await succeed(taskId);

    assert.deepEqual(await ask('outputs', 'delete', outputId), { output: outputId, deleted: true });

    assert.equal((await readTask(room.database, taskId)).outputs[0]?.goneReason, 'deleted');
    await assertRejected(/there is no such output, or it is gone already/, `outputs delete ${outputId}`);
  });
});

describe('admin upstreams', () => {
  it('drains and resumes an upstream, and lists those in use', async () => {
    await pauseUpstream(room.database, 'gpu-north', 600_000, 'unauthorized');

    assert.deepEqual(await ask('upstreams', 'drain', 'gpu-north'), { upstream: 'gpu-north', drained: true });
    const [drained] = await ask<Printed[]>('upstreams', 'list');
    assert.deepEqual([drained?.['state'], drained?.['reason']], ['drained', 'unauthorized']);

    assert.deepEqual(await ask('upstreams', 'resume', 'gpu-north'), { upstream: 'gpu-north', drained: false });
    const [resumed] = await ask<Printed[]>('upstreams', 'list');
    assert.deepEqual([resumed?.['state'], resumed?.['reason'], resumed?.['pausedUntil']], ['unknown', '', '']);

    await assertRejected(/no model names an upstream "gpu-south"/, 'upstreams drain gpu-south');
  });
});

async function succeed(taskId: TaskId): Promise<string> {
  await claimOutbox(room.database, 100);
  const output = {
    type: 'image',
    objectKey: `outputs/${taskId}/1`,
    mimeType: 'image/png',
    sizeBytes: 1,
    sha256: '0'.repeat(64),
  };
  const success = { status: 'success', outputs: [output], capturedMicroUsd: 0n } as const;
  await settleTask(room.database, taskId, success, { retentionDays: 7 });
  const [row] = await room.rows<{ id: string }>('SELECT id FROM outputs WHERE task_id = $1', taskId);
  assert.ok(row !== undefined);
  return row.id;
}
