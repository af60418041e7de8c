/** Where the command line gets its key from, and that it exposes the key to no other user. */
import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { reservePort } from '../support/reserve-port.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { runCliProcess } from './cli-process.ts';

describe('the configuration of the command line', () => {
  let darkroom: Darkroom;
  let account: TestAccount;
  let home: string;
  before(async () => {
    darkroom = await startDarkroom({ workers: 0 });
    account = await darkroom.createAccount();
  });
  after(() => darkroom.stop());
  beforeEach(async () => {
    home = await mkdtemp(path.join(os.tmpdir(), 'darkroom-cli-'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  const file = (): string => path.join(home, 'darkroom', 'config.json');
  const cli = (args: readonly string[], more: Record<string, string> = {}, stdin = '') =>
    runCliProcess(args, { environment: { HOME: home, XDG_CONFIG_HOME: home, ...more }, stdin });
  const configure = (stdin = `${account.client.key}\n`) =>
    cli(['configure', '--base-url', `${darkroom.url}/v1/`], {}, stdin);

  async function writeConfig(content: unknown, mode = 0o600): Promise<void> {
    await mkdir(path.dirname(file()), { recursive: true });
    await writeFile(file(), typeof content === 'string' ? content : JSON.stringify(content));
    await chmod(file(), mode);
  }

  it('is written by configure for its owner only, from stdin, and is used after that', async () => {
    const { code, stdout, stderr } = await configure();

    assert.deepEqual([code, stdout], [0, ''], stderr);
    assert.equal((await stat(file())).mode & 0o777, 0o600);
    assert.equal((await stat(path.dirname(file()))).mode & 0o777, 0o700);
    assert.deepEqual(await readdir(path.dirname(file())), ['config.json']);
    assert.deepEqual(JSON.parse(await readFile(file(), 'utf8')), {
      baseUrl: `${darkroom.url}/v1`,
      apiKey: account.client.key,
    });
    assert.equal(stderr.includes(account.client.key), false);
    const balance = await cli(['balance', '--json']);
    assert.equal(balance.code, 0, balance.stderr);
  });

  it('is not written where its directory cannot be created, and this is reported at once', async () => {
    const args = ['configure', '--base-url', `${darkroom.url}/v1/`];

    const { code, stderr } = await cli(args, { XDG_CONFIG_HOME: '/proc/none' }, `${account.client.key}\n`);

    assert.equal(code, 2);
    assert.match(stderr, /^\/proc\/none\/darkroom cannot be created: ENOENT$/m);
  });

  it('is written with safe permissions over a file that others could read', async () => {
    await writeConfig({}, 0o644);

    assert.equal((await configure()).code, 0);

    assert.equal((await stat(file())).mode & 0o777, 0o600);
  });

  it('is rejected when others can read it, naming the command that fixes it', async () => {
    for (const mode of [0o640, 0o604]) {
      await writeConfig({ baseUrl: `${darkroom.url}/v1`, apiKey: account.client.key }, mode);

      const { code, stderr } = await cli(['balance']);

      assert.equal(code, 2);
      assert.equal(stderr, `${file()} holds an API key and is open to others; run: chmod 600 '${file()}'\n`);
    }
  });

  it('is reported as invalid without revealing its content', async () => {
    for (const content of ['{"apiKey": secret-text', { apiKey: 7 }, { key: 'secret-text' }]) {
      await writeConfig(content);

      const { code, stderr } = await cli(['balance']);

      assert.equal(code, 2, stderr);
      assert.ok(stderr.startsWith(file()) && !stderr.includes('secret-text'), stderr);
    }
  });

  it('does not store a key that the service rejects', async () => {
    const { code, stderr } = await configure('not-a-key\n');

    assert.equal(code, 3, stderr);
    await assert.rejects(stat(file()), { code: 'ENOENT' });
    assert.equal((await configure('')).code, 2);
    assert.equal((await configure('two words')).code, 2);
  });

  it('is overridden by the environment, but its key goes to no other service', async () => {
    await writeConfig({ baseUrl: `${darkroom.url}/v1`, apiKey: 'not-a-key' });

    const own = await cli(['balance'], { DARKROOM_API_KEY: account.client.key });
    const elsewhere = await cli(['balance'], { DARKROOM_BASE_URL: 'http://127.0.0.1:1234/v1' });

    assert.equal(own.code, 0, own.stderr);
    assert.equal(elsewhere.code, 2);
    assert.match(elsewhere.stderr, /is for http:.* set DARKROOM_API_KEY as well/);
  });

  it('needs a valid address, and sends no key without TLS', async () => {
    const wrong = {
      'example.com/v1': /not an http or https URL/,
      'http://example.com/v1': /in the clear/,
      'https://example.com': /does not end in \/v1/,
      'https://me:secret@example.com/v1': /more than scheme/,
    };
    for (const [url, message] of Object.entries(wrong)) {
      const { code, stderr } = await cli(['balance'], { DARKROOM_BASE_URL: url, DARKROOM_API_KEY: 'x' });

      assert.equal(code, 2);
      assert.match(stderr, message);
      assert.equal(stderr.includes('secret'), false);
    }
  });

  it('takes no key from arguments, and shows none in errors or help', async () => {
    const { key } = account.client;
    const environment = { DARKROOM_BASE_URL: `${darkroom.url}/v1`, DARKROOM_API_KEY: key };
    const attempts = [
      ['balance', key],
      ['configure', `--key=${key}`],
      ['configure', '--help', key],
      ['tasks', key],
    ];

    for (const args of attempts) {
      const { code, stdout, stderr } = await cli(args, environment);
      assert.equal(code, 2);
      assert.equal(`${stdout}${stderr}`.includes(key), false, stderr);
    }
    const partly = await cli(['balance', `--key=${key.slice(0, -4)}`], environment);
    assert.equal(`${partly.stdout}${partly.stderr}`.includes(key.slice(0, 30)), false, partly.stderr);
    const help = await cli(['--help'], environment);
    assert.equal(help.code, 0);
    assert.match(help.stdout, /Exit codes:[^]*130 {2}interrupted/);
    assert.equal(help.stdout.includes(key), false);
  });

  it('reports a malformed key without showing it', async () => {
    const environment = { DARKROOM_BASE_URL: `${darkroom.url}/v1`, DARKROOM_API_KEY: 'secret\nText' };

    const { code, stderr } = await cli(['balance'], environment);

    assert.deepEqual([code, stderr], [2, 'DARKROOM_API_KEY: this is not an API key\n']);
  });

  it('exits with 3 for an invalid key, and with 5 when the service is unreachable', async () => {
    const unknown = await cli(['balance'], { DARKROOM_BASE_URL: `${darkroom.url}/v1`, DARKROOM_API_KEY: 'no' });
    const url = `http://127.0.0.1:${await reservePort()}/v1`;
    const unreachable = await cli(['balance', '--json'], { DARKROOM_BASE_URL: url, DARKROOM_API_KEY: 'no' });
    const none = await cli(['balance']);

    assert.equal(unknown.code, 3, unknown.stderr);
    assert.deepEqual([unreachable.code, unreachable.stdout], [5, '']);
    const { error } = JSON.parse(unreachable.stderr) as { error: { message: string; exitCode: number } };
    assert.equal(error.exitCode, 5);
    assert.match(error.message, /is not responding: connect ECONNREFUSED/);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /there is no API key: set DARKROOM_API_KEY, or run: .* configure/);
  });

  it('reports that the address belongs to something other than this API', async () => {
    const { code, stderr } = await cli(['balance'], {
      DARKROOM_BASE_URL: `${darkroom.url}/elsewhere/v1`,
      DARKROOM_API_KEY: account.client.key,
    });

    assert.equal(code, 2, stderr);
    assert.match(stderr, /not found|unknown/i);
  });
});
