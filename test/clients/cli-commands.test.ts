/** The commands of the command line other than `run`, against a whole Darkroom with its embedded models. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import type { ExecFileException } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { CLI_PROGRAM, RunningCli, runCliProcess } from './cli-process.ts';

let darkroom: Darkroom;
let account: TestAccount;
let home: string;
before(async () => {
  darkroom = await startDarkroom();
  account = await darkroom.createAccount();
  home = await mkdtemp(path.join(os.tmpdir(), 'darkroom-cli-'));
});
after(async () => {
  await darkroom.stop();
  await rm(home, { recursive: true, force: true });
});

function environment(key = account.client.key): Record<string, string> {
  return { HOME: home, DARKROOM_BASE_URL: `${darkroom.url}/v1`, DARKROOM_API_KEY: key };
}

function cli(args: readonly string[], stdin = '') {
  return runCliProcess(args, { environment: environment(), stdin });
}

async function json<Result>(args: readonly string[], stdin = ''): Promise<Result> {
  const { code, stdout, stderr } = await cli([...args, '--json'], stdin);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Result;
}

/** A task that has succeeded. */
async function made(model: string, input: object, metadata: Readonly<Record<string, string>> = {}) {
  const { body } = await account.client.create({ model, input, metadata });
  const task = await account.client.waitForTerminal(body.data.taskId);
  assert.equal(task.status, 'success', JSON.stringify(task));
  return task;
}

describe('models', () => {
  it('are listed with their prices, and shown with their fields and a line to paste', async () => {
    const listed = await json<{ id: string }[]>(['models']);
    const texts = await json<{ id: string }[]>(['models', '--modality', 'text']);
    const shown = await cli(['models', 'darkroom/edit']);

    assert.ok(listed.length > 20);
    assert.deepEqual(
      texts.map(({ id }) => id),
      ['darkroom/conformance-text'],
    );
    assert.match(shown.stdout, /^image_urls\* +list 1\.\.3 of image\/\* \(URL or @file\)/m);
    assert.match(shown.stdout, /run darkroom\/edit 'prompt=Golden hour/);
    assert.equal((await cli(['models', 'darkroom/none'])).code, 2);
    for (const name of ['../account', '..', '../account/webhook-key']) {
      const { code, stdout, stderr } = await cli(['models', name]);
      assert.deepEqual([code, stdout, stderr.trim()], [2, '', 'not found'], name);
    }
    const smells = await cli(['models', '--modality', 'smell']);
    assert.equal(smells.code, 2);
    assert.match(smells.stderr, /image, video, audio, transcription, text/);
  });
});

describe('tasks', () => {
  it('are listed by filter, across pages, and shown with their input', async () => {
    const { taskId } = await made('darkroom/speech', { text: 'Good day.', voice: 'slt' }, { order: 'cli-7' });
    for (let n = 0; n < 3; n++) await account.client.create({ model: 'darkroom/scene', input: { prompt: `${n}` } });

    const labelled = await json<{ total: number; tasks: { taskId: string }[] }>(['tasks', '--metadata', 'order=cli-7']);
    const two = await cli(['tasks', '--limit', '2']);
    const shown = await cli(['tasks', taskId]);

    assert.deepEqual(
      labelled.tasks.map((task) => task.taskId),
      [taskId],
    );
    assert.equal(two.stdout.trim().split('\n').length, 3);
    assert.match(two.stderr, /2 of \d+; --limit shows more/);
    assert.match(shown.stdout, /^status +success$/m);
    assert.match(shown.stdout, /^metadata +order=cli-7$/m);
    assert.match(shown.stdout, /^input +\{/m);
    const wrong = await cli(['tasks', '--status', 'done']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /status.*enum: got "done"/);
    assert.equal((await cli(['tasks', 'tk-svc-00000000000000000000000000'])).code, 2);
  });
});

describe('storage', () => {
  it('persists outputs, downloads them, deletes them, and names those for which that failed', async () => {
    const { taskId, output = [] } = await made('darkroom/scene', { prompt: 'to keep' });
    const id = output[0]?.id ?? '';
    const list = () => json<{ items: { id: string; storage_tier: string }[] }>(['storage', 'list', '--task', taskId]);

    const promoted = await cli(['storage', 'promote', id, 'out_none']);
    assert.equal(promoted.code, 1);
    assert.equal(promoted.stdout, `${id}  promotion started\n`);
    assert.equal(promoted.stderr, 'out_none: not_owned\n');
    await waitFor('the output is persistent', async () => (await list()).items[0]?.storage_tier === 'persistent');

    const directory = path.join(home, 'stored');
    const byId = await cli(['storage', 'download', id, '-o', directory]);
    assert.equal(byId.stdout, `${path.join(directory, `${taskId}-1.png`)}\n`, byId.stderr);
    const byTier = await json<{ isKept: boolean }[]>(['storage', 'download', '--tier', 'persistent', '-o', directory]);
    assert.deepEqual(
      byTier.map(({ isKept }) => isKept),
      [true],
    );
    assert.deepEqual(await readdir(directory), [`${taskId}-1.png`]);

    assert.deepEqual(await json(['storage', 'delete', id]), { accepted: [id], rejected: [] });
    assert.deepEqual((await list()).items, []);
    assert.equal((await cli(['storage', 'download', id, '-o', directory])).code, 1);
    assert.equal((await cli(['storage', 'download', '-o', directory])).code, 2);
  });
});

describe('balance', () => {
  it("shows the available balance, the holds and today's spending", async () => {
    const other = await darkroom.createAccount({ usd: 1_000_000n });
    const { body } = await other.client.create({ model: 'darkroom/scene', input: { prompt: 'x' } });
    await other.client.waitForTerminal(body.data.taskId);

    const { stdout, code } = await runCliProcess(['balance'], { environment: environment(other.client.key) });

    assert.equal(code, 0);
    assert.match(stdout, /^available +0\.99 USD$/m);
    assert.match(stdout, /^held +0 USD$/m);
    assert.match(stdout, /^spent today +0\.01 USD \(1 charged/m);
    assert.match(stdout, /^running +0 of 100 tasks$/m);
  });
});

describe('chat', () => {
  const model = 'darkroom/conformance-text';

  it('answers a message, or stdin, on stdout alone', async () => {
    const asked = await cli(['chat', model, 'What is 17 * 3?']);
    const piped = await cli(['chat', model, '--system', 'Be brief.'], 'What is 17 * 3?\n');
    const whole = await json<{ choices: { message: { content: string } }[] }>(['chat', model, 'What is 17 * 3?']);

    assert.deepEqual([asked.stdout, asked.stderr, asked.code], ['17 * 3 = 51\n', '', 0]);
    assert.match(piped.stdout, /51/);
    assert.equal(whole.choices[0]?.message.content, '17 * 3 = 51');
  });

  it('shows the reasoning when requested, apart from the answer', async () => {
    const { stdout, stderr } = await cli(['chat', model, 'What is 17 * 3?', '--reasoning']);

    assert.equal(stdout, '17 * 3 = 51\n');
    assert.ok(stderr.trim().length > 20, stderr);
  });

  it('reports an answer that was cut off, and a rejection by the model', async () => {
    const cut = await cli(['chat', model, 'Count to 100.', '--max-tokens', '5']);
    const none = await cli(['chat', model]);
    const image = await cli(['chat', 'darkroom/scene', 'hello']);

    assert.deepEqual([cut.code, cut.stderr], [0, '(the answer was cut off at the token limit)\n']);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /there is no message/);
    assert.equal(image.code, 2);
    assert.match(image.stderr, /darkroom\/scene/);
  });

  it('streams: a reader that closes the pipe early is not an error', async () => {
    const running = new RunningCli(['chat', model, 'Count to 2000.'], { environment: environment() });

    await once(running.child.stdout, 'data');
    running.child.stdout.destroy();

    const { code, stderr } = await running.ended;
    assert.deepEqual([code, stderr], [0, '']);
  });
});

describe('the command line', () => {
  it('ends quietly when its output pipe is closed', async () => {
    const { body } = await account.client.create({ model: 'darkroom/motion', input: { prompt: 'x', duration: 5 } });
    const running = new RunningCli(['watch', body.data.taskId], { environment: environment() });

    await once(running.child.stdout, 'data');
    running.child.stdout.destroy();

    const { code, stderr } = await running.ended;
    assert.deepEqual([code, stderr], [0, '']);
  });

  it('exits with 2 for an unknown command, and has help for every command', async () => {
    for (const args of [['nothing'], ['run'], ['tasks', '--nothing'], ['tasks', 'a', 'b'], ['tasks', '--limit', '0']]) {
      const { code, stdout, stderr } = await cli(args);
      assert.deepEqual([code, stdout], [2, ''], args.join(' '));
      assert.match(stderr, /--help shows the usage/);
    }
    for (const command of ['models', 'run', 'tasks', 'watch', 'cancel', 'storage', 'balance', 'chat', 'configure']) {
      const { code, stdout } = await cli([command, '--help']);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`Usage: .* ${command}`));
      assert.match(stdout, /--json/);
    }
  });

  it('cancels the other tasks when one of several cannot be cancelled', async () => {
    const over = await made('darkroom/scene', { prompt: 'over' });
    const { body } = await account.client.create({ model: 'darkroom/clip', input: { prompt: 'a long video' } });
    const { taskId } = body.data;

    const { code, stdout, stderr } = await cli(['cancel', 'tk-svc-none', over.taskId, taskId]);

    assert.equal(code, 1, stderr);
    assert.match(stdout, new RegExp(`^${taskId}  .*cancelled$`, 'm'));
    assert.match(stderr, /there is no such task: tk-svc-none/);
    assert.match(stderr, new RegExp(`too late to cancel: ${over.taskId}`));
    assert.equal((await account.client.waitForTerminal(taskId)).error?.code, 'TASK_CANCELLED');
    assert.equal((await cli(['cancel', 'tk-svc-none', '..'])).code, 2);
  });

  it('reports that there is nothing left to download', async () => {
    const { taskId } = await made('darkroom/scene', { prompt: 'erased' });
    const erased = await account.client.send('POST', `/v1/tasks/${taskId}/erase`);
    assert.equal(erased.status, 200, JSON.stringify(erased.body));

    const { code, stderr } = await cli(['watch', taskId, '-o', os.tmpdir()]);

    assert.equal(code, 1);
    assert.match(stderr, /nothing left to save/);
  });

  it('reports that its result cannot be written', async () => {
    const command = ['-c', 'exec "$0" "$1" models > /dev/full', process.execPath, CLI_PROGRAM];

    await assert.rejects(promisify(execFile)('sh', command, { env: environment() }), (error: ExecFileException) => {
      assert.equal(error.code, 1);
      assert.match(String(error.stderr), /the result could not be written: .*ENOSPC/);
      return true;
    });
  });

  it('prints help for a command that needs a subcommand', async () => {
    const { code, stdout, stderr } = await cli(['storage']);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^Usage: .* storage /);
    assert.match(stderr, /promote/);
    assert.doesNotMatch(stderr, /outputHelp/);

    const asJson = await cli(['storage', '--json']);
    assert.equal(asJson.code, 2);
    assert.equal(JSON.parse(asJson.stderr).error.exitCode, 2);
  });

  it('exits with 3 when the key does not have the scope, and names the scope', async () => {
    const { body } = await account.client.send('POST', '/v1/account/keys', { name: 'reader', scopes: ['tasks:read'] });
    const { key } = body.data as unknown as { key: string };

    const { code, stderr } = await runCliProcess(['balance'], { environment: environment(key) });

    assert.equal(code, 3, stderr);
    assert.match(stderr, /billing:read/);
  });
});
