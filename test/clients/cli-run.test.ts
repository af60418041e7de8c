/** `run` and `watch` of the command line, against a whole Darkroom: the outputs, and what goes wrong on the way. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { RunningCli, runCliProcess } from './cli-process.ts';
import type { CliResult } from './cli-process.ts';
import { startLossyProxy } from './lossy-proxy.ts';
import type { LossyProxy } from './lossy-proxy.ts';
import { waitFor } from '@darkroom/testing/wait-for';

interface WireTask {
  readonly taskId: string;
  readonly status: string;
  readonly created: number;
  readonly input: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly output: readonly { readonly sha256: string }[];
}

const TASK_ID = /tk-svc-[0-9A-Z]{26}/;

let outside: DarkroomWithUpstreams;
let proxy: LossyProxy;
let home: string;
before(async () => {
  outside = await startDarkroomWithUpstreams();
  proxy = await startLossyProxy(outside.darkroom.url);
  home = await mkdtemp(path.join(os.tmpdir(), 'darkroom-cli-'));
});
after(async () => {
  await proxy.stop();
  await outside.stop();
  await rm(home, { recursive: true, force: true });
});

function environmentOf(account: TestAccount, url = outside.darkroom.url): Record<string, string> {
  return { HOME: home, DARKROOM_BASE_URL: `${url}/v1`, DARKROOM_API_KEY: account.client.key };
}

function cli(account: TestAccount, args: readonly string[], stdin = ''): Promise<CliResult> {
  return runCliProcess(args, { environment: environmentOf(account), stdin });
}

function newDirectory(): Promise<string> {
  return mkdtemp(path.join(home, 'out-'));
}

async function tasksOf(account: TestAccount): Promise<readonly WireTask[]> {
  const { body } = await account.client.send('GET', '/v1/tasks?size=100');
  return (body.data as unknown as { readonly tasks: readonly WireTask[] }).tasks;
}

async function sha256Of(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}

describe('a run of the command line', () => {
  it('saves the output under the id of its task, and prints only the path', async () => {
    const account = await outside.darkroom.createAccount();
    const directory = path.join(await newDirectory(), 'made', 'here');

    const args = [
      'run',
      'darkroom/scene',
      'prompt=a boat',
      'aspect_ratio=16:9',
      '-o',
      directory,
      '--metadata',
      'order=7',
    ];
    const { code, stdout, stderr } = await cli(account, args);

    assert.equal(code, 0, stderr);
    const [task] = await tasksOf(account);
    assert.ok(task);
    assert.deepEqual(await readdir(directory), [`${task.taskId}-1.png`]);
    assert.equal(stdout, `${path.join(directory, `${task.taskId}-1.png`)}\n`);
    assert.equal(await sha256Of(stdout.trim()), task.output[0]?.sha256);
    assert.deepEqual(task.metadata, { order: '7' });
    assert.match(stderr, new RegExp(`^${task.taskId}  success$`, 'm'));
  });

  it('prints the task and its files as one JSON document, and keeps a file that exists and is complete', async () => {
    const account = await outside.darkroom.createAccount();
    const directory = await newDirectory();
    const made = await cli(account, ['run', 'darkroom/scene', 'prompt=a fox', '-o', directory, '--json']);
    assert.equal(made.code, 0, made.stderr);
    const { task, files, attempts } = JSON.parse(made.stdout) as {
      task: WireTask;
      files: { path: string; isKept: boolean }[];
      attempts: string[];
    };
    assert.deepEqual(attempts, [task.taskId]);
    const [file] = files;
    assert.ok(file);
    assert.equal(file.isKept, false);

    const again = await cli(account, ['watch', task.taskId, '-o', directory, '--json']);
    const last = JSON.parse(again.stdout.trim().split('\n').at(-1) ?? '') as { files: { isKept: boolean }[] };
    assert.equal(last.files[0]?.isKept, true);

    await writeFile(file.path, 'half of it');
    const repaired = await cli(account, ['storage', 'download', task.taskId, '-o', directory]);
    assert.equal(repaired.stdout, `${file.path}\n`, repaired.stderr);
    assert.equal(await sha256Of(file.path), task.output[0]?.sha256);
    assert.equal((await readdir(directory)).length, 1);
  });

  it('uploads the file of a field that accepts media, and leaves an @ elsewhere unchanged', async () => {
    const account = await outside.darkroom.createAccount();
    const directory = await newDirectory();
    const first = await cli(account, ['run', 'darkroom/scene', 'prompt=a hill', '-o', directory]);
    const image = first.stdout.trim();

    const args = ['run', 'darkroom/edit', 'prompt=@home, at night', `image_urls=@${image}`, 'seed=5', '--json'];
    const { code, stdout, stderr } = await cli(account, args);

    assert.equal(code, 0, stderr);
    const { task } = JSON.parse(stdout) as { task: WireTask };
    const shown = await cli(account, ['tasks', task.taskId, '--json']);
    const { input } = JSON.parse(shown.stdout) as WireTask;
    assert.equal(input['prompt'], '@home, at night');
    assert.equal(input['seed'], 5);
    assert.equal((input['image_urls'] as readonly string[]).length, 1);
  });

  it('reads an input from stdin, and overrides single fields of it', async () => {
    const account = await outside.darkroom.createAccount();
    const input = JSON.stringify({ prompt: 'a lake', resolution: '2k' });

    const args = ['run', 'darkroom/scene', '--input', '-', 'resolution=1k', '--no-wait', '--json'];
    const { code, stdout, stderr } = await cli(account, args, input);

    assert.equal(code, 0, stderr);
    const { taskId } = JSON.parse(stdout) as { taskId: string };
    const { body } = await account.client.send('GET', `/v1/tasks/${taskId}?include=input`);
    assert.deepEqual((body.data as unknown as WireTask).input, { prompt: 'a lake', resolution: '1k' });
  });

  it('prints the validation error of the service, with exit code 2 and no task', async () => {
    const account = await outside.darkroom.createAccount();

    const unknown = await cli(account, ['run', 'darkroom/scene', 'prompt=x', 'colour=4']);
    const wrong = await cli(account, ['run', 'darkroom/scene', 'prompt=x', 'resolution=2K']);
    const noModel = await cli(account, ['run', 'darkroom/none', 'prompt=x']);

    assert.equal(unknown.stderr, 'additional properties not allowed: colour\n');
    assert.equal(wrong.stderr, 'invalid input: resolution: enum: got "2K", want one of "1k", "2k"\n');
    assert.match(noModel.stderr, /"darkroom\/none" does not exist/);
    for (const { code, stdout } of [unknown, wrong, noModel]) assert.deepEqual([code, stdout], [2, '']);
    assert.deepEqual(await tasksOf(account), []);
  });

  it('prints the price and all errors without creating a task', async () => {
    const account = await outside.darkroom.createAccount();

    const right = await cli(account, ['run', 'darkroom/scene', 'prompt=x', 'resolution=2k', '--estimate', '--json']);
    const wrong = await cli(account, ['run', 'darkroom/motion', 'prompt=x', 'duration=99', 'seed=x', '--estimate']);

    assert.equal(right.code, 0, right.stderr);
    assert.equal((JSON.parse(right.stdout) as { maxCost: string }).maxCost, '0.02');
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /duration: maximum.*\n.*seed: type/);
    assert.deepEqual(await tasksOf(account), []);
  });

  it('exits with 4 when the balance is too low, and names both amounts', async () => {
    const account = await outside.darkroom.createAccount({ usd: 0n });

    const { code, stderr } = await cli(account, ['run', 'darkroom/scene', 'prompt=x']);

    assert.equal(code, 4);
    assert.match(stderr, /0\.01 USD and 0 USD is available/);
  });

  it('creates no second task for an Idempotency-Key, and prints the conflict of the service for another body', async () => {
    const account = await outside.darkroom.createAccount();
    const args = ['run', 'test/openai', 'prompt=once', '--no-wait', '--idempotency-key', 'order-1'];

    const [first, second] = [await cli(account, args), await cli(account, args)];
    const other = await cli(account, args.with(2, 'prompt=another'));

    assert.match(first.stdout, TASK_ID);
    assert.equal(second.stdout, first.stdout);
    assert.equal(other.code, 2);
    assert.equal((await tasksOf(account)).length, 1);
  });

  it('creates one task when the responses to its creation are lost', async () => {
    const account = await outside.darkroom.createAccount();
    proxy.answersToLose = 2;

    const { code, stderr } = await runCliProcess(['run', 'test/openai', 'prompt=lost', '--json'], {
      environment: environmentOf(account, proxy.url),
    });

    assert.equal(proxy.answersToLose, 0);
    assert.equal(code, 0, stderr);
    assert.equal(stderr.match(/retrying with the same Idempotency-Key/g)?.length, 2, stderr);
    assert.equal((await tasksOf(account)).length, 1);
  });

  it('resumes the events where the stream broke, printing each once', async () => {
    const account = await outside.darkroom.createAccount();
    const taskId = await outside.create(account, { model: 'test/replicate', input: { prompt: 'a cut [hold]' } });
    proxy.streams.length = 0;
    proxy.streamsToCut = 2;

    const watching = runCliProcess(['watch', taskId, '--json'], { environment: environmentOf(account, proxy.url) });
    await waitFor('it watches again after the second cut', () => proxy.streams.length === 3);
    await outside.provider.release('a cut');
    const { code, stdout, stderr } = await watching;

    assert.equal(code, 0, stderr);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event?: { seq: number; type: string } });
    const events = lines.flatMap(({ event }) => (event === undefined ? [] : [event]));
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, index) => index + 1),
    );
    assert.equal(events.at(-1)?.type, 'settled');
    assert.equal(proxy.streamsToCut, 0);
    assert.ok(
      proxy.streams.slice(1).every((lastEventId) => lastEventId !== undefined),
      JSON.stringify(proxy.streams),
    );
  });

  it('retries a task that failed for a temporary reason as a new one after 5 s, until Ctrl-C', async () => {
    const account = await outside.darkroom.createAccount();
    const args = ['run', 'test/replicate', 'prompt=again [fail]', '--retry'];
    const running = new RunningCli(args, { environment: environmentOf(account) });

    await running.waitForOutput(/retrying as a new task in 5 s/);
    await running.waitForOutput(/retrying as a new task in 15 s/);
    running.child.kill('SIGINT');
    const { code } = await running.ended;

    assert.equal(code, 130);
    const [second, first, ...others] = await tasksOf(account);
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual(others, []);
    assert.ok(second.created - first.created >= 5, `${second.created - first.created} s between the tasks`);
  });

  it('does not retry a permanent failure, and exits with 1 and the reason', async () => {
    const account = await outside.darkroom.createAccount();

    const rejected = await cli(account, ['run', 'test/openai', 'prompt=no [content]', '--retry', '--json']);
    const failed = await cli(account, ['run', 'test/replicate', 'prompt=no [fail]']);

    assert.equal(rejected.code, 1, rejected.stderr);
    assert.equal((JSON.parse(rejected.stdout) as { task: WireTask }).task.status, 'fail');
    assert.match(rejected.stderr, /the provider rejected this content/);
    assert.deepEqual([failed.code, failed.stdout], [1, '']);
    assert.match(failed.stderr, /TASK_FAILED: the provider failed while generating/);
    assert.equal((await tasksOf(account)).length, 2);
  });

  it('prints at Ctrl-C how to resume, leaves the task running, and can then cancel it', async () => {
    const account = await outside.darkroom.createAccount();
    const args = ['run', 'test/replicate', 'prompt=long [slow 600000]', '-o', await newDirectory()];
    const running = new RunningCli(args, { environment: environmentOf(account) });
    await running.waitForOutput(/handling/);

    running.child.kill('SIGINT');
    const { code, stderr, stdout } = await running.ended;

    assert.deepEqual([code, stdout], [130, '']);
    const taskId = TASK_ID.exec(stderr)?.[0] ?? '';
    assert.match(stderr, new RegExp(`watch ${taskId} -o \\S+\\n.* cancel ${taskId}\\ninterrupted\\n$`));
    const { body } = await account.client.get(taskId);
    assert.equal(body.data.status, 'handling');

    const cancelled = await cli(account, ['cancel', taskId]);
    assert.equal(cancelled.code, 0, cancelled.stderr);
    const watched = await cli(account, ['watch', taskId]);
    assert.equal(watched.code, 1);
    assert.match(watched.stderr, /TASK_CANCELLED/);
    const late = await cli(account, ['cancel', taskId]);
    assert.equal(late.code, 0, 'what is cancelled already is as it should be');
  });

  it('waits as long as Retry-After requires, and continues', async () => {
    const account = await outside.darkroom.createAccount({ runningCap: 1, queueCap: 0 });
    const running = await outside.create(account, { model: 'test/replicate', input: { prompt: 'full [hold]' } });

    const args = ['run', 'test/openai', 'prompt=second', '--no-wait'];
    const rejected = new RunningCli(args, { environment: environmentOf(account) });
    await rejected.waitForOutput(/\(429\)/);
    await outside.provider.release('full');
    const { code, stdout, stderr } = await rejected.ended;

    assert.equal(code, 0, stderr);
    assert.match(stderr, /as many tasks are waiting .*\(429\); retrying in 10 s/);
    assert.notEqual(stdout.trim(), running);
    assert.equal((await tasksOf(account)).length, 2);
  });

  it('rejects an output directory that is not writable before anything is charged', async () => {
    const account = await outside.darkroom.createAccount();
    const file = path.join(await newDirectory(), 'file');
    await writeFile(file, '');

    // In the last one no user can create a directory, not even root.
    for (const directory of [file, path.join(file, 'below'), '/proc/none']) {
      const { code, stderr } = await cli(account, ['run', 'darkroom/scene', 'prompt=x', '-o', directory]);

      assert.equal(code, 2);
      assert.match(stderr, /outputs cannot be saved in/);
    }
    assert.deepEqual(await tasksOf(account), []);
  });

  it('keeps waiting when the service goes away and comes back', async () => {
    const account = await outside.darkroom.createAccount();
    const [api] = outside.darkroom.apis;
    assert.ok(api);
    const directory = await newDirectory();
    const args = ['run', 'test/replicate', 'prompt=away [hold]', '-o', directory];
    const running = new RunningCli(args, { environment: environmentOf(account) });
    await running.waitForOutput(/handling/);

    await api.kill();
    await running.waitForOutput(/; retrying/);
    await api.start();
    await outside.provider.release('away');
    const { code, stderr, stdout } = await running.ended;

    assert.equal(code, 0, stderr);
    assert.match(stderr, /the service is back/);
    assert.deepEqual(await readdir(directory), [path.basename(stdout.trim())]);
  });
});
